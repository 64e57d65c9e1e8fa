import assert from "node:assert/strict";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { StoreError } from "../../../lib/intents/intent.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { quoteToWire } from "../../../lib/protocol/quote.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import {
  SettledReservations,
  type SettledReservationsOptions,
} from "../../../services/solver/execution/settled_reservations.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { quoteHashOf, thesisOf } from "../theses.ts";

const TEN_MINUTES_MS = 600_000;

/** A store with a committed execution for each of these theses, and a node that knows some. */
async function withReservations(
  count: number,
  test: (parts: {
    store: IntentStore;
    book: ExposureBook;
    clock: FakeClock;
    settled: SettledReservations;
    /** Those of `settled`. */
    options: SettledReservationsOptions;
    onNode: Map<number, Thesis>;
    /** Throws what the test says, unless the node has the chain of the store. */
    chain: { require: () => Promise<void> };
    asked: number[];
    /** What was reported. */
    outcomes: string[];
    held(): Promise<number[]>;
  }) => Promise<void>,
): Promise<void> {
  const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const clock = new FakeClock();
  const book = new ExposureBook(undefined);
  const onNode = new Map<number, Thesis>();
  const chain = { require: () => Promise.resolve() };
  const asked: number[] = [];
  const outcomes: string[] = [];
  const getThesis = (id: number) => {
    asked.push(id);
    return Promise.resolve(onNode.get(id) ?? null);
  };
  for (let id = 1; id <= count; id++) {
    const signature = `0x${"1a".repeat(64)}1b` as const;
    const quote = { ...thesisOf(id), deadline: 9, signature };
    // The last one is of a quote whose probability is not known.
    const probability = id < count ? id / 10 : undefined;
    const payload = JSON.stringify({
      quote: quoteToWire(quote),
      userSignature: signature,
      probability,
    });
    const { intent } = await store.insert({
      ...{ key: quoteHashOf(id), subject: quote.user, payload, transaction: null },
      ...{ expiresAtMs: 9, createdAtMs: 1 },
    }, { reserves: true });
    const receipt = { txHash: quoteHashOf(id), status: "committed", blockNumber: 1, thesisId: id };
    const outcome = {
      state: "committed" as const,
      receipt: JSON.stringify(receipt),
      failure: null,
    };
    await store.finish(intent, outcome, 2);
  }
  const options: SettledReservationsOptions = {
    store,
    book,
    node: { getThesis },
    requireChain: () => chain.require(),
    clock,
    onOutcome: (probability, status) => outcomes.push(`${probability} ${status}`),
  };
  const settled = new SettledReservations(options);
  const held = async () =>
    (await store.listReserved({ limit: 9, after: 0 })).map(({ key }) => Number(BigInt(key)));
  try {
    await test({ store, book, clock, settled, options, onNode, chain, asked, held, outcomes });
  } finally {
    await store.close();
  }
}

function read(book: ExposureBook, theses: readonly Thesis[]): void {
  book.beginReading();
  book.endReading(theses);
}

Deno.test("SettledReservations: a reported settlement releases its reservation, other news does not", () =>
  withReservations(2, async ({ settled, held }) => {
    await settled.apply(thesisOf(1, { status: "needs_backfill" }));
    assert.deepEqual(await held(), [1, 2]);
    await settled.apply(thesisOf(1, { status: "won" }));
    await settled.apply(thesisOf(77, { status: "won" }));
    assert.deepEqual(await held(), [2]);
  }));

Deno.test("SettledReservations: what settled unseen is released, as the node says thesis by thesis", () =>
  withReservations(4, async ({ settled, book, onNode, asked, held, clock }) => {
    assert.equal(await settled.reconcile(), 0);
    assert.deepEqual(asked, [], "nothing is asked while the open theses are unknown");
    read(book, [thesisOf(1)]);
    onNode.set(2, thesisOf(2, { status: "lost" }));
    // Missing from the list of a node that lags, and open all the same.
    onNode.set(3, thesisOf(3));
    clock.jump(5 - clock.now());
    assert.equal(await settled.reconcile(), 1);
    assert.deepEqual([asked, await held()], [[2, 3, 4], [1, 3, 4]]);
  }));

Deno.test("SettledReservations: a thesis of a chain that is gone is released ten minutes after its end", () =>
  withReservations(2, async ({ settled, book, onNode, held, clock }) => {
    read(book, []);
    // The new chain has given the number to another bet.
    onNode.set(1, thesisOf(1, { quoteHash: quoteHashOf(50) }));
    const { endTime } = thesisOf(1);
    clock.jump(endTime + TEN_MINUTES_MS - clock.now());
    assert.equal(await settled.reconcile(), 0);
    clock.jump(1);
    assert.equal(await settled.reconcile(), 2);
    assert.deepEqual(await held(), []);
  }));

Deno.test("SettledReservations: a store that is away keeps the reservation for the next pass", () =>
  withReservations(
    1,
    ({ settled, store, book, onNode, held }) =>
      withLogs("info", async (records) => {
        const { release } = store;
        store.release = () => Promise.reject(new StoreError("The store is away"));
        const thesis = thesisOf(1, { status: "won" });
        await settled.apply(thesis);
        assert.deepEqual(await held(), [1]);
        store.release = () => Promise.reject(new TypeError("A bug"));
        await assert.rejects(settled.apply(thesis), TypeError);
        const logged = () => records.map(({ category, level }) => `${level} ${category[1]}`);
        assert.deepEqual(logged(), ["warning solver"]);
        const { quoteHash, reason } = records[0]?.properties ?? {};
        assert.deepEqual([quoteHash, reason], [quoteHashOf(1), "The store is away"]);
        store.release = release;
        onNode.set(1, thesis);
        read(book, []);
        assert.equal(await settled.reconcile(), 1);
        assert.deepEqual(logged(), ["warning solver", "info solver"]);
        assert.equal(await settled.reconcile(), 0, "none is left");
      }),
  ));

Deno.test("SettledReservations: an execution that is forgotten, or a missing listener, keeps nothing reserved", () =>
  withReservations(3, async ({ settled, options, store, held, outcomes }) => {
    const { onOutcome: _, ...silent } = options;
    await new SettledReservations(silent).apply(thesisOf(1, { status: "won" }));
    store.find = () => Promise.resolve(undefined);
    await settled.apply(thesisOf(2, { status: "won" }));
    assert.deepEqual([await held(), outcomes], [[3], []]);
  }));

Deno.test("SettledReservations: another chain says nothing about the theses of this one", () =>
  withReservations(1, async ({ settled, book, chain, asked, held }) => {
    read(book, []);
    chain.require = () => Promise.reject(new StoreError("Another chain"));
    await assert.rejects(settled.reconcile(), StoreError);
    assert.deepEqual([asked, await held()], [[], [1]]);
  }));

Deno.test("SettledReservations: of many reservations, executions under way and theses of other processes stay", () =>
  withReservations(3, async ({ settled, store, book, onNode, asked, held, outcomes }) => {
    const [open, lost] = await store.listReserved({ limit: 2, after: 0 });
    assert.ok(open !== undefined && lost !== undefined);
    await store.insert({ ...open, key: quoteHashOf(9) }, { reserves: true });
    read(book, [thesisOf(1)]);
    const listReserved = store.listReserved.bind(store);
    // A full page comes first.
    store.listReserved = ({ limit, after }) =>
      after === 0 ? Promise.resolve(new Array(limit).fill(open)) : listReserved({ limit, after });
    for (const id of [2, 3]) onNode.set(id, thesisOf(id, { status: "lost" }));
    const release = store.release.bind(store);
    // Another process is faster.
    store.release = async (key) => await release(key) && key !== quoteHashOf(2);
    assert.equal(await settled.reconcile(), 1);
    store.listReserved = listReserved;
    assert.deepEqual([await held(), outcomes, asked], [[1, 9], [], [2, 3]]);
  }));

Deno.test("SettledReservations: outcomes are logged and reported with the probability that was quoted, once each", () =>
  withReservations(
    4,
    ({ settled, book, onNode, outcomes, clock }) =>
      withLogs("info", async (records) => {
        for (const status of ["needs_backfill", "won", "won"] as const) {
          await settled.apply(thesisOf(1, { status }));
        }
        await settled.apply(thesisOf(4, { status: "lost" }));
        read(book, [thesisOf(3)]);
        onNode.set(2, thesisOf(2, { status: "lost" }));
        clock.jump(5 - clock.now());
        await settled.reconcile();
        assert.deepEqual(outcomes, ["0.1 won", "0.2 lost"]);
        assert.deepEqual(
          records.map(({ properties: { thesisId, result, profit } }) => [thesisId, result, profit]),
          [[1, "won", "-10"], [4, "lost", "100"], [2, "lost", "100"]],
        );
      }),
  ));
