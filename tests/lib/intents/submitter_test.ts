import assert from "node:assert/strict";
import { NodeTimeoutError } from "../../../lib/net/core_reader.ts";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";
import {
  IntentRefusedError,
  OutcomeUnknownError,
  rowDamaged,
  StoreConnectionLostError,
  StoreError,
} from "../../../lib/intents/errors.ts";
import { toWire } from "../../../lib/json.ts";
import { rejectsAsAway, rejectsWith } from "../../support/scripted_node.ts";
import { withWorld } from "./world.ts";
import { newIntent } from "../../support/intents.ts";

const TIMEOUT = new NodeTimeoutError("http://node", "core_sendTransaction", 4_000);

Deno.test("Submitter: a committed transaction is final and keeps its receipt", () =>
  withWorld(async (world) => {
    const intent = await world.record();
    const finished = await world.submitter.submit(intent);
    assert.equal(finished.state, "committed");
    assert.equal(JSON.parse(finished.receipt ?? "").txHash, intent.transaction?.txHash);
    assert.deepEqual(await world.store.find("k"), finished);
    assert.deepEqual(await world.submitter.submit(finished), finished);
    assert.equal(world.node.sent.length, 1);
    assert.deepEqual(world.events, ["final committed"]);
  }));

Deno.test("Submitter: concurrent attempts at one intent share one send", () =>
  withWorld(async (world) => {
    const intent = await world.record();
    const both = await Promise.all([1, 2].map(() => world.submitter.submit(intent)));
    assert.deepEqual(both[0], both[1]);
    assert.equal(world.node.sent.length, 1);
  }));

Deno.test("Submitter: an intent without a transaction is signed, recorded, then sent", () =>
  withWorld(async (world) => {
    const intent = await world.record("k", { signed: false });
    world.node.onSend = async (tx) => {
      const stored = await world.store.find("k");
      assert.equal(stored?.state, "submitted");
      assert.deepEqual(JSON.parse(stored?.transaction?.text ?? ""), toWire(tx));
      return world.node.commit(tx);
    };
    assert.equal((await world.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: an intent whose signing is refused fails and is never sent", () =>
  withWorld(async (world) => {
    world.sign = rejectsWith(
      new IntentRefusedError("TOO_LATE", "Too late by 3 ms", { details: { lateMs: 3 } }),
    );
    const finished = await world.submitter.submit(await world.record("k", { signed: false }));
    assert.equal(finished.state, "failed");
    const message = "Too late by 3 ms";
    assert.deepEqual(finished.failure, { code: "TOO_LATE", message, details: { lateMs: 3 } });
    assert.deepEqual(await world.store.find("k"), finished);
    assert.equal(world.node.sent.length, 0);
  }));

Deno.test("Submitter: without an answer the same transaction is sent until one arrives", () =>
  withWorld(async (world) => {
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
  }));

Deno.test("Submitter: a start finishes the intents of an earlier run, signed or not", () =>
  withWorld(async (world) => {
    await world.record("k", { signed: false });
    const times = { expiresAtMs: world.clock.now() + 1_001, createdAtMs: world.clock.now() };
    await world.store.insert(newIntent("k2", { transaction: world.signed(), ...times }));
    world.clock.advance(1_000);
    world.retries.start();
    await world.settled();
    assert.equal(await world.store.countUnfinished(), 0);
    assert.deepEqual(world.events, ["final committed", "final committed"]);
  }));

Deno.test("Submitter: a lost answer is looked up at once", () =>
  withWorld(async (world) => {
    world.node.onSend = world.node.commitUnanswered;
    assert.equal((await world.submitter.submit(await world.record())).state, "committed");
    assert.deepEqual([world.node.sent.length, world.node.asked.receipt], [1, 1]);
  }));

Deno.test("Submitter: after a timeout the node is not called again in the same attempt", () =>
  withWorld(async (world) => {
    world.node.onSend = rejectsWith(TIMEOUT);
    const intent = await world.record();
    await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
    assert.deepEqual([world.node.sent.length, world.node.asked.receipt], [1, 0]);
  }));

Deno.test("Submitter: if a resend is refused, the receipt of the committed transaction is used", () =>
  withWorld(async (world) => {
    world.node.onSend = (tx) => world.node.commitUnanswered(tx, TIMEOUT);
    const intent = await world.record();
    await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
    world.node.onSend = rejectsWith(new RpcError(-32003, "Timestamp is too old"));
    assert.equal((await world.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: temporary errors of the node are retried", () =>
  withWorld(async (world) => {
    for (const code of [-32603, -32002, -32005, -32601]) {
      world.node.onSend = rejectsWith(new RpcError(code, "Later"));
      const intent = await world.record();
      await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
      // -32002 means a paused node, or a proxy without one: it is not called again at once.
      assert.equal(world.submitter.isNodeLost, code === -32002);
    }
    assert.equal(await world.store.countUnfinished(), 1);
    assert.deepEqual(world.ended, []);
  }));

Deno.test("Submitter: after the deadline, the receipt is still looked up", () =>
  withWorld(async (world) => {
    world.node.onSend = (tx) => world.node.commitUnanswered(tx, TIMEOUT);
    const intent = await world.record("k", { lifeMs: 1_000 });
    await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
    world.clock.advance(1_001);
    assert.equal((await world.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: a store that fails after the send leaves the outcome unknown, and a retry finishes it", () =>
  withWorld(async (world) => {
    const intent = await world.record();
    const finish = world.store.finish.bind(world.store);
    world.store.finish = () => Promise.reject(new StoreError("Database failed: disk is full"));
    await assert.rejects(() => world.submitter.submit(intent), OutcomeUnknownError);
    world.store.finish = finish;
    assert.equal((await world.submitter.submit(intent)).state, "committed");
    assert.equal(world.node.receipts.size, 1);
  }));

Deno.test("Submitter: an end that the store or another process recorded unnoticed is learnt of by the next pass", () =>
  withWorld(async (world) => {
    const { store, submitter } = world;
    const finish = store.finish.bind(store);
    store.finish = async (...args) => {
      await finish(...args);
      throw new StoreConnectionLostError(new Error("test"));
    };
    await assert.rejects(submitter.submit(await world.record("lost")), OutcomeUnknownError);
    store.finish = finish;
    world.clock.jump(1); // for another transaction
    world.node.onSend = rejectsAsAway;
    await assert.rejects(submitter.submit(await world.record("other")), OutcomeUnknownError);
    await world.finish("other");
    await world.record("open");
    await assert.rejects(submitter.submit(await store.get("open")), OutcomeUnknownError);
    assert.deepEqual([await submitter.findEnded(), world.ended], [["lost", "other"], []]);
    const { promise: gate, reject: end } = Promise.withResolvers<never>();
    const running = submitter.submitOnce("lost", () => gate);
    assert.deepEqual(await submitter.findEnded(), ["other"], "one that runs will learn of its end");
    end(new StoreError("test"));
    await assert.rejects(running);
    world.retries.start();
    await world.settled();
    assert.deepEqual([await submitter.findEnded(), world.ended], [[], ["committed", "committed"]]);
  }));

Deno.test("Submitter: two processes on one store finish an intent once, with the same outcome", () =>
  withWorld(async (world) => {
    const other = world.newSubmitter();
    const intent = await world.record("k", { signed: false });
    const both = await Promise.all([world.submitter.submit(intent), other.submit(intent)]);
    assert.deepEqual(both[0], both[1]);
    assert.equal(world.node.receipts.size, 1);
    assert.deepEqual(world.events, ["final committed"]); // one of them has counted it
    await other.stop();
  }));

const outOfRange = () => {
  const data = { code: "TIMESTAMP_OUT_OF_RANGE" };
  throw new RpcError(-32003, "Timestamp is too far from the node's clock", { data });
};

Deno.test("Submitter: a refusal for its timestamp leaves the intent open until the clocks agree", () =>
  withWorld(async (world) => {
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
  }));

Deno.test("Submitter: after the clock was set back, a transaction from the future is signed again", () =>
  withWorld(async (world) => {
    const intent = await world.record("k", { lifeMs: 600_000 });
    world.clock.advance(-120_000);
    world.node.onSend = (tx) =>
      tx.timestamp > world.clock.now() ? outOfRange() : world.node.commit(tx);
    assert.equal((await world.submitter.submit(intent)).state, "committed");
    assert.equal(world.node.sent.length, 2);
  }));

Deno.test("Submitter: verifies intents from the store before sending, but not new ones", () =>
  withWorld(async (world) => {
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
    assert.equal((await world.submitter.submit(fresh, { isNew: true })).state, "committed");
  }));

Deno.test("Submitter: an intent that was done before is committed, with the receipt's reason", () =>
  withWorld(async (world) => {
    const error = { code: "DEPOSIT_ALREADY_PROCESSED" as const, message: "Used before" };
    world.wasDoneBefore = (receipt) => receipt.error?.code === error.code;
    world.node.onSend = (tx) => ({ ...world.node.commit(tx), status: "failed", error });
    const { state, failure } = await world.submitter.submit(await world.record());
    assert.deepEqual([state, failure], ["committed", error]);
  }));
