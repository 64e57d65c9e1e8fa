import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { type Clock, ShiftedClock, systemClock } from "../../lib/clock.ts";
import type { Intent } from "../../lib/intents/intent.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import { toWire } from "../../lib/json.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { runHere } from "../support/command_context.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/http_answers.ts";
import { COMMITTED, insertReserved, newIntent, reservedIntents } from "../support/intents.ts";
import { withFolder } from "../support/files.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { execution, quoteHashOf, startTestSolver, thesisOf, user, withSolver } from "./support.ts";

/** Longer than a bet of these tests, and than the ten minutes that a node keeps a settled one. */
const LONG_STOP_MS = 3_600_000;

/** Calls `test` with a solver that was stopped for an hour, and knows a bet whose receipt is gone. */
const withLongStop = (
  thesis: Thesis | null,
  /** Id of the newest thesis of the chain. */
  lastId: number,
  test: (health: { status: string; code?: string }, store: IntentStore) => Promise<void>,
) =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    await withSolver(async (before, node) => {
      assert.equal((await post(`${before.url}/execute`, await execution(before.url))).status, 200);
      await before.stop();
      node.rewind();
      node.methods.set("core_getThesis", () => toWire(thesis));
      node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null, lastId }));
      const clock = new ShiftedClock(systemClock);
      clock.shift(node.aheadMs = LONG_STOP_MS);
      await using solver = await startTestSolver(node, { database }, clock);
      const health = await (await fetch(`${solver.url}/health`)).json();
      await using store = await openIntentStore(database, "solver");
      await test(health, store);
    }, { database });
  });

Deno.test("solver: works again after a stop in which the node settled its bet and dropped it", () =>
  withLongStop(null, 1, async ({ status }, store) => {
    assert.equal(status, "ok");
    const held = async () => (await reservedIntents(store)).length;
    await eventually("the release", async () => await held() === 0);
    assert.equal((await store.readPage(0, 1)).intents[0]?.state, "committed");
  }));

const cases = [
  ["another bet has the id", thesisOf(1), 1],
  ["it has no bet with so high an id", null, 0],
] as const;
for (const [why, thesis, lastId] of cases) {
  Deno.test(`solver: notices after a long stop that the chain went back, since ${why}`, () =>
    withLongStop(thesis, lastId, async ({ status, code }, store) => {
      assert.deepEqual([status, code], ["failed", "CHAIN_REWOUND"]);
      assert.equal((await reservedIntents(store)).length, 1);
    }));
}

interface Executed {
  node: FakeNode;
  store: IntentStore;
  /** The bet that was executed. */
  bet: Intent;
  reconcile(clock?: Clock, ...options: string[]): ReturnType<typeof runHere>;
}

/** Runs a test with a solver that has executed a bet. */
const withBet = (test: (parts: Executed) => Promise<void>) =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    await withSolver(async ({ url }, node) => {
      assert.equal((await post(`${url}/execute`, await execution(url))).status, 200);
      await using store = await openIntentStore(database, "solver");
      const [bet] = (await store.readPage(0, 1)).intents;
      assert.ok(bet !== undefined);
      const { privateKey } = DEV_ACCOUNTS.solver;
      const given = ["--rpc-url", node.url, "--database", database, "--private-key", privateKey];
      const reconcile: Executed["reconcile"] = (clock, ...options) =>
        runHere(["solver", "reconcile", ...given, ...options], {}, clock);
      await test({ node, store, bet, reconcile });
    }, { database });
  });

Deno.test("solver reconcile: ends a bet that a restored node lacks, once", () =>
  withBet(async ({ node, reconcile }) => {
    const linesOf = async () => {
      const { code, stdout } = await reconcile();
      assert.equal(code, 0, stdout);
      return stdout.split("\n");
    };
    assert.deepEqual(await linesOf(), ["0 gone, 1 already present, 0 failed"]);
    node.rewind();
    node.methods.set("core_getThesis", () => null);
    const [line = "", ...rest] = await linesOf();
    assert.match(line, new RegExp(`^Gone: thesis \\d+ of ${user.address}, 10 USDC`));
    assert.deepEqual(rest, ["1 gone, 0 already present, 0 failed"]);
    assert.deepEqual(await linesOf(), ["0 gone, 0 already present, 0 failed"]);
  }));

Deno.test("solver reconcile: binds no database, so that a wrong key leaves it to the right one", () =>
  withFolder(async (folder) => {
    const database = `${folder}/shared.sqlite`;
    await (await openIntentStore(database, "bridge")).close();
    await using node = FakeNode.start();
    const { privateKey } = DEV_ACCOUNTS.relayer;
    const given = ["--rpc-url", node.url, "--database", database, "--private-key", privateKey];
    for (const options of [["--dry-run"], []]) {
      const { code, stdout } = await runHere(["solver", "reconcile", ...given, ...options]);
      assert.deepEqual([code, stdout], [
        0,
        `0 ${options.length === 0 ? "gone" : "missing"}, 0 already present, 0 failed`,
      ]);
    }
    await using store = await openIntentStore(database, "solver");
    assert.equal((await store.records.read()).signer, null);
  }));

Deno.test("solver reconcile: names a bet that is unfinished, and leaves it as it is", () =>
  withBet(async ({ node, store, bet, reconcile }) => {
    const key = quoteHashOf(1);
    await insertReserved(store, { ...bet, key, transaction: null });
    // Another was repeated after this database was replaced, and executed: it needs its hedge.
    const repeated = thesisOf(2);
    await insertReserved(store, { ...bet, key: repeated.quoteHash, transaction: null });
    node.methods.set("core_getTheses", () => toWire({ theses: [repeated], nextCursor: null }));
    const { code, stdout } = await reconcile(systemClock, "--dry-run");
    assert.equal(
      stdout,
      `Unfinished: 10 USDC of ${user.address}, quote ${key}: undo its hedge, if this database ` +
        "was replaced\n0 missing, 2 already present, 0 failed, 1 unfinished",
    );
    assert.equal(code, 0);
  }));

/** What `solver reconcile` says of an hour after three bets, of which one was settled. */
const outcomes: [lastId: number | undefined, what: string, words: RegExp][] = [
  [
    1,
    "unless its settlement is known; it may be unknown to a database that was replaced",
    /^(Gone, or settled and dropped since: .*\n){2}2 gone, 1 already present, 0 failed$/,
  ],
  [
    undefined,
    "on a node that does not tell its newest id",
    /\n2 gone, 1 already present, 0 failed$/,
  ],
  [
    0,
    "even a settled one if the restored chain is too short",
    /^(Gone: .*\n){3}3 gone, 0 already present, 0 failed$/,
  ],
];
for (const [lastId, what, words] of outcomes) {
  Deno.test(`solver reconcile: ends a bet that ended long ago, ${what}`, () =>
    withBet(async ({ node, store, bet, reconcile }) => {
      for (const key of [1, 2].map(quoteHashOf)) {
        const intent = await insertReserved(store, { ...bet, key });
        await store.finish(intent, { ...COMMITTED, receipt: bet.receipt }, 2);
      }
      assert(await store.release(quoteHashOf(1)));
      node.rewind();
      node.methods.set("core_getThesis", () => null);
      node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null, lastId }));
      const clock = new ShiftedClock(systemClock);
      clock.shift(LONG_STOP_MS);
      assert.match((await reconcile(clock)).stdout, words);
    }));
}

Deno.test("solver: a recorded execution that cannot be read fails once, with the damage as its reason", () =>
  withFolder((folder) =>
    withLogs("info", async (records) => {
      const database = `${folder}/solver.sqlite`;
      await using store = await openIntentStore(database, "solver");
      await store.insert(newIntent("k", { user: user.address, payload: "{}" }));
      await using node = FakeNode.start();
      await using _service = await startTestSolver(node, { database });
      const ends = ["execution_failed", "intent_retried", "intent_unfinished"];
      const logged = () =>
        records.map(({ properties }) => properties).filter(({ event }) =>
          ends.includes(`${event}`)
        );
      await eventually("the end of the intent", () => logged().length === 2);
      const [failed, retried] = logged();
      assert.deepEqual([failed?.user, failed?.code], [user.address, "STORE_DAMAGED"]);
      assert.deepEqual([retried?.event, retried?.state], ["intent_retried", "failed"]);
    })
  ));
