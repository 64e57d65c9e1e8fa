/** The submitter at its bounds: deadlines and ages to the millisecond, races, and the end of its work. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { NodeTimeoutError, NodeUnreachableError } from "../../../lib/net/core_client.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { OutcomeUnknownError, StoreError } from "../../../lib/intents/intent.ts";
import { away, RECEIPTS_KEPT_MS, withBench } from "./submitter_bench.ts";
import { COMMITTED } from "../../support/intents.ts";

Deno.test("Submitter: a stop waits for the attempt under way", () =>
  withBench(async (bench) => {
    const { promise: answer, resolve: giveAnswer } = Promise.withResolvers<void>();
    bench.node.onSend = async (tx) => {
      await answer;
      return bench.node.commit(tx);
    };
    const attempt = bench.submitter.submit(await bench.record());
    let stopped = false;
    const stop = bench.submitter.stop().then(() => stopped = true);
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    assert.equal(stopped, false);
    giveAnswer();
    await stop;
    assert.equal((await bench.store.find("k"))?.state, "committed");
    assert.equal((await attempt).state, "committed");
  }));

for (const [ageMs, code] of [[50_000, "NODE_REFUSED"], [50_001, undefined]] as const) {
  const outcome = code === undefined ? "signed again" : "refused for good";
  Deno.test(`Submitter: a transaction refused ${ageMs} ms after it was signed is ${outcome}`, () =>
    withBench(async (bench) => {
      const intent = await bench.record({ lifeMs: 600_000 });
      const first = intent.transaction?.txHash;
      bench.clock.advance(ageMs);
      bench.node.onSend = (tx) => {
        const receipt = bench.node.commit(tx);
        if (receipt.txHash !== first) return receipt;
        bench.node.receipts.clear();
        throw new RpcError(-32003, "Timestamp is too far from now");
      };
      const finished = await bench.submitter.submit(intent);
      assert.equal(finished.failure?.code, code);
      assert.equal(finished.transaction?.txHash === first, code !== undefined);
    }));
}

Deno.test("Submitter: DEADLINE_PASSED comes no sooner than 70 s after the transaction was signed", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ lifeMs: 1_000 });
    bench.clock.advance(70_000);
    await assert.rejects(() => bench.submitter.submit(intent), /deadline passed before the node/);
    bench.clock.advance(1);
    const { failure } = await bench.submitter.submit(intent);
    assert.deepEqual(failure, {
      code: "DEADLINE_PASSED",
      message: `Deadline ${intent.expiresAtMs} passed before the core node took it`,
      details: { deadline: intent.expiresAtMs },
    });
    assert.deepEqual((await bench.store.find("k"))?.failure, failure);
    assert.equal(bench.node.sent.length, 0);
  }));

Deno.test("Submitter: where the node may have dropped the receipt, nobody says that nothing was taken", () =>
  withBench(async (bench) => {
    bench.node.onSend = (tx) => {
      bench.node.commit(tx);
      return away();
    };
    bench.node.onLookup = away;
    const intent = await bench.record({ lifeMs: 1_000 });
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    const sent = bench.node.sent.length;
    // The node is back, and has neither the receipt nor a use for a timestamp this old.
    bench.node.onLookup = () => null;
    bench.clock.advance(RECEIPTS_KEPT_MS + 1);
    const { state, failure } = await bench.submitter.submit(intent);
    assert.deepEqual([state, failure?.code], ["failed", "RECEIPT_DROPPED"]);
    assert.match(failure?.message ?? "", /^Transaction 0x\w+ was signed 24 h ago, .* balances/);
    assert(Number(failure?.details?.ageMs) >= 86_400_000);
    assert.equal(bench.node.sent.length, sent, "nothing is sent after the deadline");
    assert.equal(await bench.store.countUnfinished(), 0);
  }));

Deno.test("Submitter: a deposit whose receipt the node dropped is signed again once, and ends with the node's word", () =>
  withBench(async (bench) => {
    const committed = new Set<string>();
    bench.node.onSend = (tx) => {
      assert.ok(tx.type === "Deposit");
      if (bench.clock.now() - tx.timestamp > 60_000) throw new RpcError(-32003, "Too old");
      const receipt = bench.node.commit(tx);
      if (!committed.has(tx.externalTxHash)) {
        committed.add(tx.externalTxHash);
        return away();
      }
      const error = { code: "DEPOSIT_ALREADY_PROCESSED", message: "Used before" } as const;
      return { ...receipt, status: "failed", error };
    };
    bench.node.onLookup = away;
    const intent = await bench.record({ lifeMs: 30 * RECEIPTS_KEPT_MS });
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    bench.node.sent.length = 0;
    bench.node.onLookup = () => null;
    bench.clock.advance(8 * RECEIPTS_KEPT_MS);
    const { failure } = await bench.submitter.submit(intent);
    assert.equal(failure?.code, "DEPOSIT_ALREADY_PROCESSED");
    assert.equal(bench.node.sent.length, 2, "the old bytes, and the new ones");
    bench.submitter.start();
    await bench.untilIdle();
    assert.equal(bench.node.sent.length, 2);
  }));

Deno.test("Submitter: a stop makes no further call when the one under way is lost", () =>
  withBench(async (bench) => {
    const { promise: broken, resolve: breakOff } = Promise.withResolvers<void>();
    bench.node.onSend = async () => {
      await broken;
      return away();
    };
    const attempt = bench.submitter.submit(await bench.record());
    const stop = bench.submitter.stop();
    breakOff();
    await assert.rejects(attempt, OutcomeUnknownError);
    await stop;
    assert.deepEqual([bench.node.sent.length, bench.node.lookups], [1, 0]);
    assert.equal((await bench.store.find("k"))?.state, "submitted", "the next start goes on");
  }));

Deno.test("Submitter: a transaction is sent up to its deadline", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ lifeMs: 1_000 });
    bench.clock.advance(1_000);
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
    assert.equal(bench.node.sent.length, 1);
  }));

for (
  const code of ["transactionRejected", "parseError", "invalidRequest", "invalidParams"] as const
) {
  Deno.test(`Submitter: ${code} of the node is final, as no repetition changes it`, () =>
    withBench(async (bench) => {
      const rpcCode = RpcCode[code];
      bench.node.onSend = () => {
        throw new RpcError(rpcCode, "Not a transaction");
      };
      const finished = await bench.submitter.submit(await bench.record());
      assert.equal(finished.state, "failed");
      assert.deepEqual(finished.failure, {
        code: "NODE_REFUSED",
        message: "Core node refused the transaction: Not a transaction",
        details: { reason: "Not a transaction", rpcCode },
      });
      assert.equal(bench.node.lookups, 1, "it might have been taken before");
      assert.equal(bench.submitter.nodeLost, false);
    }));
}

Deno.test("Submitter: a failed receipt is final, with code, message and details of the node", () =>
  withBench(async (bench) => {
    const details = { address: "0x1" };
    const error = { code: "PERMISSION_DENIED", message: "Sender is no relayer", details } as const;
    bench.node.onSend = (tx) => ({ ...bench.node.commit(tx), status: "failed", error });
    const finished = await bench.submitter.submit(await bench.record());
    assert.equal(finished.state, "failed");
    assert.deepEqual(finished.failure, error);
    assert.deepEqual(await bench.store.find("k"), finished);
  }));

Deno.test("Submitter: a node that answers a lookup is back, though it knows nothing yet", () =>
  withBench(async (bench) => {
    bench.node.onSend = away;
    const intent = await bench.record({ lifeMs: 1_000 });
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    assert.equal(bench.submitter.nodeLost, true);
    bench.clock.advance(1_001);
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    assert.equal(bench.submitter.nodeLost, false);
  }));

for (
  const error of [
    new NodeUnreachableError("http://node", "test"),
    new NodeTimeoutError("http://node", "core_getPrices", 4_000),
  ]
) {
  Deno.test(`Submitter: signing that meets a ${error.name} is tried again`, () =>
    withBench(async (bench) => {
      const { sign } = bench;
      bench.sign = () => {
        throw error;
      };
      const intent = await bench.record({ signed: false });
      await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
      assert.deepEqual(bench.events, ["retry accepted"]);
      bench.sign = sign;
      assert.equal((await bench.submitter.submit(intent)).state, "committed");
    }));
}

Deno.test("Submitter: an intent that another process ended while it was signed again is not sent", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ lifeMs: 600_000 });
    bench.clock.advance(120_000);
    bench.node.onSend = (tx) => {
      if (bench.node.sent.length > 1) return bench.node.commit(tx);
      throw new RpcError(RpcCode.transactionRejected, "Too old");
    };
    bench.sign = async () => {
      await bench.store.finish(intent, COMMITTED, bench.clock.now());
      return bench.signed();
    };
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
    assert.equal(bench.node.sent.length, 1);
  }));

Deno.test("Submitter: a receipt of a transaction that another process replaced leaves the end open", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ lifeMs: 600_000 });
    bench.node.onSend = async (tx) => {
      bench.clock.advance(1);
      await bench.store.setTransaction(intent, bench.signed(), bench.clock.now());
      return bench.node.commit(tx);
    };
    await assert.rejects(bench.submitter.submit(intent), /another process has replaced/);
    assert.deepEqual(bench.ended, []);
    assert.equal((await bench.store.find("k"))?.state, "submitted");
  }));

for (
  const [name, error, isLost] of [
    ["is away", new NodeUnreachableError("http://node", "test"), true],
    ["takes too long", new NodeTimeoutError("http://node", "eth_getBlockByNumber", 4_000), true],
    ["has paused", new RpcError(RpcCode.resourceUnavailable, "Paused"), true],
    ["does not report its chain", new RpcError(RpcCode.methodNotFound, "No method"), false],
    ["has another chain", new RangemakerError("CHAIN_MISMATCH", "Another chain"), false],
  ] as const
) {
  Deno.test(`Submitter: a node that ${name} hears of nothing until it has the store's chain`, () =>
    withBench(async (bench) => {
      bench.node.onSend = away;
      const intent = await bench.record();
      if (!isLost) await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
      const before = [bench.node.sent.length, bench.node.lookups];
      bench.events.length = 0;
      bench.requireChain = () => Promise.reject(error);
      await assert.rejects(bench.submitter.submit(intent), (thrown) => {
        assert.ok(thrown instanceof OutcomeUnknownError);
        assert.equal(thrown.cause, error);
        assert.ok(thrown.message.includes(`${intent.transaction?.txHash}`));
        return true;
      });
      assert.deepEqual([bench.node.sent.length, bench.node.lookups], before);
      assert.equal(bench.submitter.nodeLost, isLost);
      assert.deepEqual(bench.events, ["retry accepted"]);
      bench.node.onSend = (tx) => bench.node.commit(tx);
      bench.requireChain = () => Promise.resolve();
      const finished = await bench.submitter.submit(intent);
      assert.equal(finished.state, "committed");
      assert.equal(bench.submitter.nodeLost, false);
      bench.requireChain = () => Promise.reject(error);
      assert.equal(
        await bench.submitter.submit(finished),
        finished,
        "what has ended needs no node",
      );
    }));
}

Deno.test("Submitter: a store that does not report its chain leaves the outcome unknown", () =>
  withBench(async (bench) => {
    const intent = await bench.record();
    bench.requireChain = () => Promise.reject(new StoreError("Database failed: test"));
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    assert.deepEqual(bench.events, [], "nothing can be recorded either");
    assert.equal(bench.submitter.nodeLost, false);
  }));

Deno.test("Submitter: a mistake of the program is thrown as it is", () =>
  withBench(async (bench) => {
    const mistake = new TypeError("test");
    const intent = await bench.record();
    bench.requireChain = () => Promise.reject(mistake);
    await assert.rejects(bench.submitter.submit(intent), mistake);
    bench.requireChain = () => Promise.resolve();
    bench.node.onSend = () => Promise.reject(mistake);
    await assert.rejects(bench.submitter.submit(intent), mistake);
    assert.equal(bench.node.sent.length, 1);
    assert.equal(bench.node.lookups, 0);
    assert.deepEqual(bench.events, []);
  }));

Deno.test("Submitter: a node that is lost between a refusal and the lookup leaves the outcome unknown", () =>
  withBench(async (bench) => {
    bench.node.onSend = () => {
      throw new RpcError(RpcCode.transactionRejected, "Too old");
    };
    bench.node.onLookup = away;
    const intent = await bench.record();
    await assert.rejects(bench.submitter.submit(intent), OutcomeUnknownError);
    assert.equal(bench.submitter.nodeLost, true);
    const mistake = new TypeError("test");
    bench.node.onLookup = () => {
      throw mistake;
    };
    await assert.rejects(bench.submitter.submit(intent), mistake);
  }));

Deno.test("Submitter: a retry writes to the store before it acts on what it has read", () =>
  withBench(async (bench) => {
    const order: string[] = [];
    const recordAttempt = bench.store.recordAttempt.bind(bench.store);
    bench.store.recordAttempt = async (key, nowMs) => {
      const recorded = await recordAttempt(key, nowMs);
      order.push("written");
      return recorded;
    };
    bench.node.onSend = (tx) => {
      order.push("sent");
      return bench.node.commit(tx);
    };
    await bench.record();
    bench.submitter.start();
    await bench.untilIdle();
    assert.deepEqual(order, ["written", "sent"]);
  }));
