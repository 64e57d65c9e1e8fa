import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { OutcomeUnknownError, rowDamaged, StoreError } from "../../../lib/intents/errors.ts";
import { toWire } from "../../../lib/json.ts";
import { NodeTimeoutError, NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import { RemoteSignerError } from "../../../lib/net/remote_signer.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { isSettled } from "../../support/eventually.ts";
import { COMMITTED } from "../../support/intents.ts";
import { rejectsAsAway, rejectsWith } from "../../support/scripted_node.ts";
import { withWorld, type World } from "./world.ts";

/** Declares a test in a world of its own. */
const test = (name: string, run: (world: World) => Promise<void>) =>
  Deno.test(`Submitter: ${name}`, () => withWorld(run));

const TIMEOUT = new NodeTimeoutError("http://node", "core_sendTransaction", 4_000);

test("a committed transaction is final and keeps its receipt", async (world) => {
  const intent = await world.record();
  const finished = await world.submitter.submit(intent);
  assert.equal(finished.state, "committed");
  assert.equal(JSON.parse(finished.receipt ?? "").txHash, intent.transaction?.txHash);
  assert.deepEqual(await world.store.find("k"), finished);
  assert.deepEqual(await world.submitter.submit(finished), finished);
  assert.equal(world.node.sent.length, 1);
  assert.deepEqual(world.events, ["final committed"]);
});

test("concurrent attempts at one intent share one send", async (world) => {
  const intent = await world.record();
  const both = await Promise.all([1, 2].map(() => world.submitter.submit(intent)));
  assert.deepEqual(both[0], both[1]);
  assert.equal(world.node.sent.length, 1);
});

test("an intent without a transaction is signed, recorded, then sent", async (world) => {
  const intent = await world.record("k", { signed: false });
  world.node.onSend = async (tx) => {
    const stored = await world.store.find("k");
    assert.equal(stored?.state, "submitted");
    assert.deepEqual(JSON.parse(stored?.transaction?.text ?? ""), toWire(tx));
    return world.node.commit(tx);
  };
  assert.equal((await world.submitter.submit(intent)).state, "committed");
});

test("without an answer the same transaction is sent until one arrives", async (world) => {
  world.node.onSend = rejectsAsAway;
  const intent = await world.record();
  await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
  assert.equal((await world.store.find("k"))?.state, "submitted");
  assert.equal(world.submitter.isNodeLost, true);
  world.clock.advance(1_000);
  world.retries.start();
  await world.settled();
  world.node.onSend = (tx) => world.node.commit(tx);
  const committed = world.nextEvent();
  world.clock.advance(5_000);
  await committed;
  assert.equal((await world.store.find("k"))?.state, "committed");
  assert.equal(world.submitter.isNodeLost, false);
  const bytes = new Set(world.node.sent.map((tx) => JSON.stringify(toWire(tx))));
  assert.equal(bytes.size, 1);
  assert.equal(world.node.sent.length, 5, "twice in each attempt without an answer");
});

test("a lost answer is looked up at once", async (world) => {
  world.node.onSend = world.node.commitUnanswered;
  assert.equal((await world.submitter.submit(await world.record())).state, "committed");
  assert.deepEqual([world.node.sent.length, world.node.asked.receipt], [1, 1]);
});

test("if a resend is refused, the receipt of the committed transaction is used", async (world) => {
  world.node.onSend = (tx) => world.node.commitUnanswered(tx, TIMEOUT);
  const intent = await world.record();
  await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
  world.node.onSend = rejectsWith(new RpcError(-32003, "Timestamp is too old"));
  assert.equal((await world.submitter.submit(intent)).state, "committed");
});

test("temporary errors of the node are retried", async (world) => {
  for (const code of [-32603, -32002, -32005, -32601]) {
    world.node.onSend = rejectsWith(new RpcError(code, "Later"));
    const intent = await world.record();
    await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
    // -32002 means a paused node, or a proxy without one: it is not called again at once.
    assert.equal(world.submitter.isNodeLost, code === -32002);
  }
  assert.equal(await world.store.countUnfinished(), 1);
  assert.deepEqual(world.ended, []);
});

test("after the deadline, the receipt is still looked up", async (world) => {
  world.node.onSend = (tx) => world.node.commitUnanswered(tx, TIMEOUT);
  const intent = await world.record("k", { lifeMs: 1_000 });
  await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
  world.clock.advance(1_001);
  assert.equal((await world.submitter.submit(intent)).state, "committed");
});

test("after a store that fails after the send the outcome is unknown, and a retry finishes it", async (world) => {
  const intent = await world.record();
  const finish = world.store.finish.bind(world.store);
  world.store.finish = () => Promise.reject(new StoreError("Database failed: disk is full"));
  await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
  world.store.finish = finish;
  assert.equal((await world.submitter.submit(intent)).state, "committed");
  assert.equal(world.node.receipts.size, 1);
});

test("two processes on one store finish an intent once, with the same outcome", async (world) => {
  const other = world.newSubmitter();
  const intent = await world.record("k", { signed: false });
  const both = await Promise.all([world.submitter.submit(intent), other.submit(intent)]);
  assert.deepEqual(both[0], both[1]);
  assert.equal(world.node.receipts.size, 1);
  assert.deepEqual(world.events, ["final committed"]); // one of them has counted it
  assert.deepEqual(world.ended, ["committed", "committed"]); // and both know of it
  await other.stop();
});

const outOfRange = () => {
  const data = { code: "TIMESTAMP_OUT_OF_RANGE" };
  throw new RpcError(-32003, "Timestamp is too far from the node's clock", { data });
};

test("a refusal for its timestamp leaves the intent open until the clocks agree", async (world) => {
  world.node.onSend = outOfRange;
  const intent = await world.record();
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await assert.rejects(
      () => world.submitter.submit(intent),
      /wrong, or that of the core node: Timestamp is too far from the node's clock\. /,
    );
  }
  assert.equal(world.guard.clocks.problem?.code, "CLOCKS_DIFFER");
  world.node.onSend = (tx) => world.node.commit(tx);
  assert.equal((await world.submitter.submit(intent)).state, "committed");
  assert.equal(world.guard.clocks.problem, undefined);
});

test("after the clock was set back, a transaction from the future is signed again", async (world) => {
  const intent = await world.record("k", { lifeMs: 600_000 });
  world.clock.advance(-120_000);
  world.node.onSend = (tx) =>
    tx.timestamp > world.clock.now() ? outOfRange() : world.node.commit(tx);
  assert.equal((await world.submitter.submit(intent)).state, "committed");
  assert.equal(world.node.sent.length, 2);
});

test("verifies intents from the store before sending, but not new ones", async (world) => {
  world.verify = () => {
    throw rowDamaged("k", "it was changed");
  };
  const intent = await world.record();
  const { failure } = await world.submitter.submit(intent);
  assert.deepEqual([failure?.code, world.node.sent.length], ["STORE_DAMAGED", 0]);
  const message = "Row k of the database is damaged: it was changed. Nothing was sent";
  assert.deepEqual([failure?.message, world.store.damaged.first?.key], [message, "k"]);
  world.verify = () => assert.fail("It is new");
  const { intent: fresh } = await world.store.insert({ ...intent, key: "new" });
  assert.equal((await world.submitter.submitNew(fresh)).state, "committed");
});

test("a transaction that another process recorded meanwhile is verified, and not sent if that has ended", async (world) => {
  const intent = await world.record("k", { signed: false });
  world.sign = async () => {
    await world.store.setTransaction(intent, world.signed(), world.clock.now());
    return world.signed();
  };
  const verified: string[] = [];
  world.verify = () => void verified.push("k");
  assert.equal((await world.submitter.submitNew(intent)).state, "committed");
  assert.deepEqual([verified, world.node.sent.length], [["k"], 1]);
  const other = await world.record("other", { signed: false });
  world.sign = async () => {
    await world.store.finish(other, COMMITTED, world.clock.now());
    return world.signed();
  };
  assert.equal((await world.submitter.submitNew(other)).state, "committed");
  assert.equal(world.node.sent.length, 1);
});

test("notifies the chain guard of each commit, and of no failure", async (world) => {
  const told: string[] = [];
  world.guard.onCommitted = ({ key }) => void told.push(key);
  await world.submitter.submit(await world.record());
  const error = { code: "PERMISSION_DENIED", message: "Sender is no relayer" } as const;
  world.node.onSend = (tx) => ({ ...world.node.commit(tx), status: "failed", error });
  await world.submitter.submit(await world.record("failing"));
  assert.deepEqual(told, ["k"]);
});

test("an intent that was done before is committed, with the receipt's reason", async (world) => {
  const error = { code: "DEPOSIT_ALREADY_PROCESSED" as const, message: "Used before" };
  world.wasDoneBefore = (receipt) => receipt.error?.code === error.code;
  world.node.onSend = (tx) => ({ ...world.node.commit(tx), status: "failed", error });
  const { state, failure } = await world.submitter.submit(await world.record());
  assert.deepEqual([state, failure], ["committed", error]);
});

test("stop waits for the current attempt", async (world) => {
  const { promise: answer, resolve: giveAnswer } = Promise.withResolvers<void>();
  world.node.onSend = async (tx) => {
    await answer;
    return world.node.commit(tx);
  };
  const attempt = world.submitter.submit(await world.record());
  const stop = world.submitter.stop();
  assert.equal(await isSettled(stop), false);
  giveAnswer();
  await stop;
  assert.equal((await world.store.find("k"))?.state, "committed");
  assert.equal((await attempt).state, "committed");
});

for (const [ageMs, code] of [[50_000, "NODE_REFUSED"], [50_001, undefined]] as const) {
  const outcome = code === undefined ? "signed again" : "refused for good";
  test(`a transaction refused ${ageMs} ms after it was signed is ${outcome}`, async (world) => {
    const intent = await world.record("k", { lifeMs: 600_000 });
    const first = intent.transaction?.txHash;
    world.clock.advance(ageMs);
    world.node.onSend = (tx) => {
      const receipt = world.node.commit(tx);
      if (receipt.txHash !== first) return receipt;
      world.node.receipts.clear();
      throw new RpcError(-32003, "Timestamp is too far from now");
    };
    const finished = await world.submitter.submit(intent);
    assert.equal(finished.failure?.code, code);
    assert.equal(finished.transaction?.txHash === first, code !== undefined);
  });
}

test("DEADLINE_PASSED is reported once no node accepts the transaction whose clock is 30 s behind", async (world) => {
  const intent = await world.record("k", { lifeMs: 1_000 });
  world.clock.advance(90_000);
  await assert.rejects(() => world.submitter.submit(intent), /deadline passed before the node/);
  world.clock.advance(1);
  const { failure } = await world.submitter.submit(intent);
  assert.deepEqual(failure, {
    code: "DEADLINE_PASSED",
    message: `Deadline ${intent.expiresAtMs} passed before the core node accepted the transaction`,
    details: { deadline: intent.expiresAtMs },
  });
  assert.deepEqual((await world.store.find("k"))?.failure, failure);
  assert.equal(world.node.sent.length, 0);
});

test("a clock that is set forward fails no transaction that the node may still commit", async (world) => {
  const late: (() => unknown)[] = [];
  world.node.onSend = (tx) => {
    late.push(() => world.node.commit(tx));
    return rejectsAsAway();
  };
  const intent = await world.record("k", { lifeMs: 20_000 });
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  world.clock.setBy(3_600_000);
  world.blockAheadMs = -3_600_000;
  await assert.rejects(world.submitter.retry(intent), /deadline passed before the node/);
  late[0]?.();
  assert.equal((await world.submitter.retry(intent)).state, "committed");
});

test("a transaction older than the receipts that the node keeps fails with RECEIPT_DROPPED", async (world) => {
  world.node.onSend = world.node.commitUnanswered;
  world.node.onLookup = rejectsAsAway;
  const intent = await world.record("k", { lifeMs: 1_000 });
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  const sent = world.node.sent.length;
  // The node is back, lacks the receipt, and refuses a timestamp this old.
  world.node.onLookup = () => null;
  world.clock.advance(600_001);
  const { state, failure } = await world.submitter.submit(intent);
  assert.deepEqual([state, failure?.code], ["failed", "RECEIPT_DROPPED"]);
  assert.match(failure?.message ?? "", /^Transaction 0x\w+ was signed 10 min ago, .* balances/);
  assert.equal(failure?.details?.ageMs, 600_001);
  assert.equal(world.node.sent.length, sent, "nothing is sent after the deadline");
  assert.equal(await world.store.countUnfinished(), 0);
});

for (
  const [what, ourMs, blockMs] of [
    ["a clock that was set back does", 120_000, 600_001],
    ["a newest block from long ago, or of a node whose clock is behind, does", 600_001, 120_000],
  ] as const
) {
  test(`${what} not hide that the node may have dropped the receipt`, async (world) => {
    world.node.onSend = world.node.commitUnanswered;
    world.node.onLookup = rejectsAsAway;
    const intent = await world.record("k", { lifeMs: 1_000 });
    await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
    world.node.onLookup = () => null;
    world.clock.advance(ourMs);
    world.blockAheadMs = blockMs - ourMs;
    assert.equal((await world.submitter.retry(intent)).failure?.code, "RECEIPT_DROPPED");
  });
}

test("a deposit whose receipt was dropped is signed again once, and gets the node's answer", async (world) => {
  const committed = new Set<string>();
  world.node.onSend = (tx) => {
    assert.ok(tx.type === "Deposit");
    if (world.clock.now() - tx.timestamp > 60_000) throw new RpcError(-32003, "Too old");
    const receipt = world.node.commit(tx);
    if (!committed.has(tx.externalTxHash)) {
      committed.add(tx.externalTxHash);
      return rejectsAsAway();
    }
    const error = { code: "DEPOSIT_ALREADY_PROCESSED", message: "Used before" } as const;
    return { ...receipt, status: "failed", error };
  };
  world.node.onLookup = rejectsAsAway;
  const intent = await world.record("k", { lifeMs: 18_000_000 });
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  world.node.sent.length = 0;
  world.node.onLookup = () => null;
  world.clock.advance(4_800_000);
  const { failure } = await world.submitter.submit(intent);
  assert.equal(failure?.code, "DEPOSIT_ALREADY_PROCESSED");
  assert.equal(world.node.sent.length, 2, "the old bytes, and the new ones");
  world.clock.advance(1_000);
  world.retries.start();
  await world.settled();
  assert.equal(world.node.sent.length, 2);
});

test("if the node is lost during a stop, no further call is made", async (world) => {
  const { promise: broken, resolve: breakOff } = Promise.withResolvers<void>();
  world.node.onSend = async () => {
    await broken;
    return rejectsAsAway();
  };
  const attempt = world.submitter.submit(await world.record());
  const stop = world.submitter.stop();
  breakOff();
  await assert.rejects(attempt, OutcomeUnknownError);
  await stop;
  assert.deepEqual([world.node.sent.length, world.node.asked.receipt], [1, 0]);
  assert.equal((await world.store.find("k"))?.state, "submitted", "the next start goes on");
});

test("a transaction is sent until its deadline, inclusive", async (world) => {
  const intent = await world.record("k", { lifeMs: 1_000 });
  world.clock.advance(1_000);
  assert.equal((await world.submitter.submit(intent)).state, "committed");
  assert.equal(world.node.sent.length, 1);
});

const finalCodes = [
  "transactionRejected",
  "parseError",
  "invalidRequest",
  "invalidParams",
] as const;

for (const code of finalCodes) {
  test(`the node's ${code} is final`, async (world) => {
    const rpcCode = RpcCode[code];
    const data = { code: "INVALID_SIGNATURE" };
    world.node.onSend = rejectsWith(new RpcError(rpcCode, "Not a transaction", { data }));
    const finished = await world.submitter.submit(await world.record());
    assert.equal(finished.state, "failed");
    assert.deepEqual(finished.failure, {
      code: "NODE_REFUSED",
      message: "Core node refused the transaction: Not a transaction",
      details: { reason: "Not a transaction", rpcCode },
    });
    assert.equal(world.node.asked.receipt, 1, "an earlier attempt may have been committed");
    assert.equal(world.submitter.isNodeLost, false);
  });
}

test("a failed receipt is final, with code, message and details of the node", async (world) => {
  const details = { address: "0x1" };
  const error = { code: "PERMISSION_DENIED", message: "Sender is no relayer", details } as const;
  world.node.onSend = (tx) => ({ ...world.node.commit(tx), status: "failed", error });
  const finished = await world.submitter.submit(await world.record());
  assert.equal(finished.state, "failed");
  assert.deepEqual(finished.failure, error);
  assert.deepEqual(await world.store.find("k"), finished);
});

test("the node counts as back once it answers the chain check, even if the signer is away", async (world) => {
  world.node.onSend = rejectsAsAway;
  await assert.rejects(world.submitter.submit(await world.record()), OutcomeUnknownError);
  assert.equal(world.submitter.isNodeLost, true);
  const { sign } = world;
  world.sign = rejectsWith(new RemoteSignerError("The signer does not answer"));
  const waiting = await world.record("waiting", { signed: false });
  await assert.rejects(world.submitter.submit(waiting), OutcomeUnknownError);
  assert.equal(world.submitter.isNodeLost, false);
  world.sign = sign;
  world.node.onSend = (tx) => world.node.commit(tx);
  assert.equal((await world.submitter.submit(waiting)).state, "committed");
});

test("an intent that another process finished during a new signature is not sent", async (world) => {
  const intent = await world.record("k", { lifeMs: 600_000 });
  world.clock.advance(120_000);
  world.node.onSend = (tx) => {
    if (world.node.sent.length > 1) return world.node.commit(tx);
    throw new RpcError(RpcCode.transactionRejected, "Too old");
  };
  world.sign = async () => {
    await world.store.finish(intent, COMMITTED, world.clock.now());
    return world.signed();
  };
  assert.equal((await world.submitter.submit(intent)).state, "committed");
  assert.equal(world.node.sent.length, 1);
});

test("if another process replaced the transaction, its receipt leaves the outcome unknown", async (world) => {
  const intent = await world.record("k", { lifeMs: 600_000 });
  world.node.onSend = async (tx) => {
    world.clock.advance(1);
    await world.store.setTransaction(intent, world.signed(), world.clock.now());
    return world.node.commit(tx);
  };
  await assert.rejects(world.submitter.submit(intent), /another process has replaced/);
  assert.deepEqual(world.ended, []);
  assert.equal((await world.store.find("k"))?.state, "submitted");
});

for (
  const [name, error, isLost] of [
    ["is away", new NodeUnreachableError("http://node", "test"), true],
    ["takes too long", new NodeTimeoutError("http://node", "eth_getBlockByNumber", 4_000), true],
    ["has paused", new RpcError(RpcCode.resourceUnavailable, "Paused"), true],
    ["refuses to report its chain", new RpcError(RpcCode.internalError, "No block"), false],
    ["has another chain", new RangemakerError("CHAIN_MISMATCH", "Another chain"), false],
  ] as const
) {
  test(`a node that ${name} gets no transaction until it has the store's chain`, async (world) => {
    world.node.onSend = rejectsAsAway;
    const intent = await world.record();
    if (!isLost) await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
    const before = [world.node.sent.length, world.node.asked.receipt];
    world.events.length = 0;
    world.guard.requireChain = rejectsWith(error);
    await assert.rejects(world.submitter.submit(intent), (thrown) => {
      assert.ok(thrown instanceof OutcomeUnknownError);
      assert.equal(thrown.cause, error);
      assert.ok(thrown.message.includes(`${intent.transaction?.txHash}`));
      return true;
    });
    assert.deepEqual([world.node.sent.length, world.node.asked.receipt], before);
    assert.equal(world.submitter.isNodeLost, isLost);
    assert.deepEqual(world.events, ["retry accepted"]);
    world.node.onSend = (tx) => world.node.commit(tx);
    world.guard.requireChain = () => Promise.resolve();
    const finished = await world.submitter.submit(intent);
    assert.equal(finished.state, "committed");
    assert.equal(world.submitter.isNodeLost, false);
    world.guard.requireChain = rejectsWith(error);
    assert.equal(
      await world.submitter.submit(finished),
      finished,
      "a final intent is returned without a call",
    );
  });
}

test("if the store cannot be read, the outcome is unknown", async (world) => {
  const intent = await world.record();
  world.guard.requireChain = () => Promise.reject(new StoreError("Database failed: test"));
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  assert.deepEqual(world.events, [], "nothing can be recorded either");
  assert.equal(world.submitter.isNodeLost, false);
});

test("a node that is lost between a refusal and the lookup leaves the outcome unknown", async (world) => {
  world.node.onSend = rejectsWith(new RpcError(RpcCode.transactionRejected, "Too old"));
  world.node.onLookup = rejectsAsAway;
  const intent = await world.record();
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  assert.equal(world.submitter.isNodeLost, true);
  const mistake = new TypeError("test");
  world.node.onLookup = rejectsWith(mistake);
  await assert.rejects(world.submitter.submit(intent), mistake);
});

test("a node that refuses the lookup leaves the outcome unknown, before and after the deadline", async (world) => {
  const refuse = rejectsWith(new RpcError(RpcCode.invalidParams, "Not that hash"));
  [world.node.onSend, world.node.onLookup] = [refuse, refuse];
  const intent = await world.record();
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  world.clock.advance(600_001);
  await assert.rejects(world.submitter.submit(intent), OutcomeUnknownError);
  assert.equal(world.submitter.isNodeLost, false);
  assert.equal(await world.store.countUnfinished(), 1);
});

test("a retry records the attempt in the store before it sends", async (world) => {
  const order: string[] = [];
  const recordAttempt = world.store.recordAttempt.bind(world.store);
  world.store.recordAttempt = async (key, nowMs) => {
    const recorded = await recordAttempt(key, nowMs);
    order.push("written");
    return recorded;
  };
  world.node.onSend = (tx) => {
    order.push("sent");
    return world.node.commit(tx);
  };
  await world.record();
  world.clock.advance(1_000);
  world.retries.start();
  await world.settled();
  assert.deepEqual(order, ["written", "sent"]);
});
