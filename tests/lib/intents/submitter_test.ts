import assert from "node:assert/strict";
import { NodeTimeoutError } from "../../../lib/net/core_client.ts";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { OutcomeUnknownError, StoreError } from "../../../lib/intents/intent.ts";
import { IntentRefusedError } from "../../../lib/intents/failures.ts";
import { away, withBench } from "./submitter_bench.ts";
import { newIntent } from "../../support/intents.ts";
import { toWire } from "../../../lib/protocol/scalars.ts";

Deno.test("Submitter: a committed transaction is final and keeps its receipt", () =>
  withBench(async (bench) => {
    const intent = await bench.record();
    const finished = await bench.submitter.submit(intent);
    assert.equal(finished.state, "committed");
    assert.equal(JSON.parse(finished.receipt ?? "").txHash, intent.transaction?.txHash);
    assert.deepEqual(await bench.store.find("k"), finished);
    assert.deepEqual(await bench.submitter.submit(finished), finished);
    assert.equal(bench.node.sent.length, 1);
    assert.deepEqual(bench.events, ["final committed"]);
  }));

Deno.test("Submitter: concurrent attempts at one intent are one attempt", () =>
  withBench(async (bench) => {
    const intent = await bench.record();
    const both = await Promise.all([1, 2].map(() => bench.submitter.submit(intent)));
    assert.deepEqual(both[0], both[1]);
    assert.equal(bench.node.sent.length, 1);
  }));

Deno.test("Submitter: an intent without a transaction is signed, recorded, then sent", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ signed: false });
    bench.node.onSend = async (tx) => {
      const stored = await bench.store.find("k");
      assert.equal(stored?.state, "submitted");
      assert.deepEqual(JSON.parse(stored?.transaction?.text ?? ""), toWire(tx));
      return bench.node.commit(tx);
    };
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: an intent that is refused while it is signed fails and is never sent", () =>
  withBench(async (bench) => {
    bench.sign = () => {
      throw new IntentRefusedError("TOO_LATE", "Too late by 3 ms", { details: { lateMs: 3 } });
    };
    const finished = await bench.submitter.submit(await bench.record({ signed: false }));
    assert.equal(finished.state, "failed");
    const message = "Too late by 3 ms";
    assert.deepEqual(finished.failure, { code: "TOO_LATE", message, details: { lateMs: 3 } });
    assert.deepEqual(await bench.store.find("k"), finished);
    assert.equal(bench.node.sent.length, 0);
  }));

Deno.test("Submitter: without an answer the same bytes are sent until one arrives", () =>
  withBench(async (bench) => {
    bench.node.onSend = away;
    const intent = await bench.record();
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    assert.equal((await bench.store.find("k"))?.state, "submitted");
    assert.equal(bench.submitter.nodeLost, true);
    bench.submitter.start();
    await bench.untilIdle();
    bench.node.onSend = (tx) => bench.node.commit(tx);
    const committed = bench.nextEvent();
    bench.clock.advance(5_000);
    await committed;
    assert.equal((await bench.store.find("k"))?.state, "committed");
    assert.equal(bench.submitter.nodeLost, false);
    const bytes = new Set(bench.node.sent.map((tx) => JSON.stringify(toWire(tx))));
    assert.equal(bytes.size, 1);
    assert.equal(bench.node.sent.length, 5, "twice in each attempt without an answer");
  }));

Deno.test("Submitter: a start finishes the intents of an earlier run, signed or not", () =>
  withBench(async (bench) => {
    await bench.record({ signed: false });
    const times = { expiresAtMs: bench.clock.now() + 1, createdAtMs: bench.clock.now() };
    await bench.store.insert(newIntent("k2", { transaction: bench.signed(), ...times }));
    bench.submitter.start();
    await bench.untilIdle();
    assert.equal(await bench.store.countUnfinished(), 0);
    assert.deepEqual(bench.events, ["final committed", "final committed"]);
  }));

Deno.test("Submitter: a lost answer is looked up at once", () =>
  withBench(async (bench) => {
    bench.node.onSend = (tx) => {
      bench.node.commit(tx);
      return away();
    };
    assert.equal((await bench.submitter.submit(await bench.record())).state, "committed");
    assert.deepEqual([bench.node.sent.length, bench.node.lookups], [1, 1]);
  }));

Deno.test("Submitter: a node that timed out is not called again in the same attempt", () =>
  withBench(async (bench) => {
    bench.node.onSend = () => {
      throw new NodeTimeoutError("http://node", "core_sendTransaction", 4_000);
    };
    const intent = await bench.record();
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    assert.deepEqual([bench.node.sent.length, bench.node.lookups], [1, 0]);
  }));

Deno.test("Submitter: a refused resend of a committed transaction ends with its receipt", () =>
  withBench(async (bench) => {
    bench.node.onSend = (tx) => {
      bench.node.commit(tx);
      throw new NodeTimeoutError("http://node", "core_sendTransaction", 4_000);
    };
    const intent = await bench.record();
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    bench.node.onSend = () => {
      throw new RpcError(-32003, "Timestamp is too old");
    };
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: temporary errors of the node are retried", () =>
  withBench(async (bench) => {
    for (const code of [-32603, -32002, -32005, -32601]) {
      bench.node.onSend = () => {
        throw new RpcError(code, "Later");
      };
      const intent = await bench.record();
      await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
      // That code is of a node that has paused, or of a proxy that has none: it is not pressed.
      assert.equal(bench.submitter.nodeLost, code === -32002);
    }
    assert.equal(await bench.store.countUnfinished(), 1);
    assert.deepEqual(bench.ended, []);
  }));

Deno.test("Submitter: after the deadline nothing is sent, and the intent fails once the node cannot commit it", () =>
  withBench(async (bench) => {
    bench.node.onSend = away;
    const intent = await bench.record({ lifeMs: 1_000 });
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    const sent = bench.node.sent.length;
    bench.clock.advance(1_001);
    // What was sent may still be on its way until it is too old for the node.
    await assert.rejects(() => bench.submitter.submit(intent), /deadline passed/);
    bench.clock.advance(70_000);
    bench.node.onLookup = away;
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    assert.equal((await bench.store.find("k"))?.state, "submitted");
    bench.node.onLookup = () => null;
    const finished = await bench.submitter.submit(intent);
    assert.equal(finished.state, "failed");
    assert.equal(finished.failure?.code, "DEADLINE_PASSED");
    assert.equal(bench.node.sent.length, sent);
  }));

Deno.test("Submitter: after the deadline a receipt of the node is still found", () =>
  withBench(async (bench) => {
    bench.node.onSend = (tx) => {
      bench.node.commit(tx);
      throw new NodeTimeoutError("http://node", "core_sendTransaction", 4_000);
    };
    const intent = await bench.record({ lifeMs: 1_000 });
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    bench.clock.advance(1_001);
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
  }));

Deno.test("Submitter: a store that fails after the send leaves the outcome unknown, and a retry finishes it", () =>
  withBench(async (bench) => {
    const intent = await bench.record();
    const finish = bench.store.finish.bind(bench.store);
    bench.store.finish = () => Promise.reject(new StoreError("Database failed: disk is full"));
    await assert.rejects(() => bench.submitter.submit(intent), OutcomeUnknownError);
    bench.store.finish = finish;
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
    assert.equal(bench.node.receipts.size, 1);
  }));

Deno.test("Submitter: two processes on one store finish an intent once, with the same outcome", () =>
  withBench(async (bench) => {
    const other = bench.newSubmitter();
    const intent = await bench.record({ signed: false });
    const both = await Promise.all([bench.submitter.submit(intent), other.submit(intent)]);
    assert.deepEqual(both[0], both[1]);
    assert.equal(bench.node.receipts.size, 1);
    await other.stop();
  }));

Deno.test("Submitter: a final state set by another process is reported as ended and not counted", () =>
  withBench(async (bench) => {
    const stale = await bench.record({ signed: false });
    const other = bench.newSubmitter();
    await other.submit(stale);
    assert.equal((await bench.submitter.submit(stale)).state, "committed");
    assert.deepEqual(bench.ended, ["committed", "committed"]);
    assert.deepEqual(bench.events, ["final committed"]);
    await other.stop();
  }));

Deno.test("Submitter: a start retries an intent whose time is ahead of the clock", () =>
  withBench(async (bench) => {
    await bench.record();
    bench.clock.advance(-30_000);
    const ended = bench.nextEvent();
    bench.submitter.start();
    await ended;
    await bench.untilIdle();
    assert.deepEqual(bench.ended, ["committed"]);
  }));

const outOfRange = () => {
  const data = { code: "TIMESTAMP_OUT_OF_RANGE" };
  throw new RpcError(-32003, "Timestamp is too far from the node's clock", { data });
};

Deno.test("Submitter: a refusal for the timestamp alone waits until the clocks agree again", () =>
  withBench(async (bench) => {
    bench.node.onSend = outOfRange;
    bench.node.headMs = bench.clock.now() + 90_000;
    const intent = await bench.record();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await assert.rejects(() => bench.submitter.submit(intent), /it is 90000 ms behind that of/);
    }
    assert.equal(bench.clockProblem?.code, "CLOCKS_DIFFER");
    bench.node.onSend = (tx) => bench.node.commit(tx);
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
    assert.equal(bench.clockProblem, undefined);
  }));

Deno.test("Submitter: after the clock was set back, a transaction from the future is signed again", () =>
  withBench(async (bench) => {
    const intent = await bench.record({ lifeMs: 600_000 });
    bench.clock.advance(-120_000);
    bench.node.onSend = (tx) =>
      tx.timestamp > bench.clock.now() ? outOfRange() : bench.node.commit(tx);
    assert.equal((await bench.submitter.submit(intent)).state, "committed");
    assert.equal(bench.node.sent.length, 2);
  }));

Deno.test("Submitter: verifies intents read from the store before sending, not those it has just recorded", () =>
  withBench(async (bench) => {
    bench.verify = () => {
      throw new IntentRefusedError("STORE_DAMAGED", "Row k is damaged");
    };
    const intent = await bench.record();
    const finished = await bench.submitter.submit(intent);
    assert.deepEqual([finished.failure?.code, bench.node.sent.length], ["STORE_DAMAGED", 0]);
    bench.verify = () => assert.fail("It is new");
    const { intent: fresh } = await bench.store.insert({ ...intent, key: "new" });
    assert.equal((await bench.submitter.submit(fresh, true)).state, "committed");
  }));

Deno.test("Submitter: a deposit that the node has already is committed, with the reason", () =>
  withBench(async (bench) => {
    const error = { code: "DEPOSIT_ALREADY_PROCESSED" as const, message: "Used before" };
    bench.node.onSend = (tx) => ({ ...bench.node.commit(tx), status: "failed", error });
    const { state, failure } = await bench.submitter.submit(await bench.record());
    assert.deepEqual([state, failure], ["committed", error]);
  }));
