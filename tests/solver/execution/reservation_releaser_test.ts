import assert from "node:assert/strict";
import { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { StoreError } from "../../../lib/intents/errors.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import {
  ReservationReleaser,
  type ReservationReleaserOptions,
} from "../../../services/solver/execution/reservation_releaser.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { decodeBet, encodeExecution } from "../../../services/solver/execution/execution.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { eventually } from "../../support/eventually.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { rejectsWith } from "../../support/scripted_node.ts";
import { quoteHashOf, thesisOf } from "../support.ts";
import {
  COMMITTED,
  insertReserved,
  newIntent,
  onlyChain,
  reservedIntents,
} from "../../support/intents.ts";

const away = new StoreError("The store is away");

const TEN_MINUTES_MS = 600_000;

/** Stores a committed execution for each of these theses. */
async function fill(store: IntentStore, count: number): Promise<void> {
  for (let id = 1; id <= count; id++) {
    const signature = `0x${"1a".repeat(64)}1b` as const;
    const quote = { ...thesisOf(id), deadline: 9, signature };
    const payload = encodeExecution({ quote, userSignature: signature });
    const request = newIntent(quoteHashOf(id), { user: quote.user, payload });
    const intent = await insertReserved(store, request);
    const receipt = { txHash: quoteHashOf(id), status: "committed", blockNumber: 1, thesisId: id };
    await store.finish(intent, { ...COMMITTED, receipt: JSON.stringify(receipt) }, 2);
  }
}

/** A node that knows the theses of the test. */
function createReservations(store: IntentStore) {
  const clock = new FakeClock();
  const book = new ExposureBook(undefined, decodeBet);
  const onNode = new Map<number, Thesis>();
  const guard = onlyChain(clock);
  const asked: number[] = [];
  const settled: string[] = [];
  const getThesis = (id: number) => {
    asked.push(id);
    return Promise.resolve(onNode.get(id) ?? null);
  };
  const table = new ReservationTable(store, book);
  const options: ReservationReleaserOptions = {
    store,
    reservations: table,
    book,
    // It does not say how far its chain is.
    node: { getThesis, getTheses: () => Promise.resolve({ theses: [], nextCursor: null }) },
    guard,
    clock,
    onSettled: ({ id, status }) => settled.push(`${id} ${status}`),
  };
  const reservations = new ReservationReleaser(options);
  const held = async () => (await reservedIntents(store)).map(({ key }) => Number(BigInt(key)));
  return { store, table, book, clock, reservations, options, onNode, guard, asked, held, settled };
}

async function withReservations(
  count: number,
  test: (parts: ReturnType<typeof createReservations>) => Promise<void>,
): Promise<void> {
  await using store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  await fill(store, count);
  await test(createReservations(store));
}

function read(book: ExposureBook, theses: readonly Thesis[]): void {
  book.beginReading();
  book.endReading(theses);
}

Deno.test("ReservationReleaser: settlements missed while disconnected are read from the node, and released", () =>
  withReservations(4, async ({ reservations, book, onNode, asked, held, clock }) => {
    assert.equal(await reservations.reconcile(), 0);
    assert.deepEqual(asked, [], "nothing is asked while the open theses are unknown");
    read(book, [thesisOf(1)]);
    onNode.set(2, thesisOf(2, { status: "lost" }));
    // Missing from the list of a node that lags, and open all the same.
    onNode.set(3, thesisOf(3));
    clock.jump(6 - clock.now());
    assert.equal(await reservations.reconcile(), 1);
    assert.deepEqual([asked, await held()], [[2, 3, 4], [1, 3, 4]]);
  }));

Deno.test("ReservationReleaser: a damaged row stays reserved, and keeps no other from its release", () =>
  withReservations(2, async ({ reservations, store, book, onNode }) => {
    await reservations.reconcile(); // counts both
    await store.db.write("UPDATE intents SET payload = '[]' WHERE key = ?", [quoteHashOf(1)]);
    read(book, []);
    for (const id of [1, 2]) onNode.set(id, thesisOf(id, { status: "lost" }));
    assert.equal(await reservations.reconcile(), 1);
    assert.deepEqual(book.reservedKeys, [quoteHashOf(1)]);
  }));

Deno.test("ReservationReleaser: a bet of an earlier chain goes 10 min after its end, or if another has its id", () =>
  withReservations(2, async ({ reservations, book, onNode, held, clock }) => {
    read(book, []);
    // On the new chain, another bet has this id.
    onNode.set(1, thesisOf(1, { quoteHash: quoteHashOf(50) }));
    const { endTime } = thesisOf(1);
    clock.jump(endTime + TEN_MINUTES_MS - clock.now());
    assert.equal(await reservations.reconcile(), 1);
    assert.deepEqual(await held(), [2]);
    clock.jump(1);
    assert.equal(await reservations.reconcile(), 1);
    assert.deepEqual(await held(), []);
  }));

Deno.test("ReservationReleaser: if the store is away, the reservation is kept until the next pass", () =>
  withReservations(
    1,
    ({ reservations, store, book, onNode, held }) =>
      withLogs("info", async (records) => {
        const { release } = store;
        store.release = rejectsWith(away);
        const thesis = thesisOf(1, { status: "won" });
        await reservations.onThesisChanged(thesis);
        assert.deepEqual(await held(), [1]);
        store.release = rejectsWith(new TypeError("A bug"));
        await assert.rejects(reservations.onThesisChanged(thesis), TypeError);
        const logged = () => records.map(({ category, level }) => `${level} ${category[1]}`);
        assert.deepEqual(logged(), ["warning solver"]);
        const { quoteHash, reason } = records[0]?.properties ?? {};
        assert.deepEqual([quoteHash, reason], [quoteHashOf(1), "The store is away"]);
        store.release = release;
        onNode.set(1, thesis);
        read(book, []);
        assert.equal(await reservations.reconcile(), 1);
        assert.deepEqual(logged(), ["warning solver", "info solver"]);
        assert.equal(await reservations.reconcile(), 0, "none is left");
      }),
  ));

Deno.test("ReservationReleaser: a settlement is released even without onSettled or without its stored execution", () =>
  withReservations(3, async ({ reservations, options, store, held, settled }) => {
    const { onSettled: _, ...silent } = options;
    await new ReservationReleaser(silent).onThesisChanged(thesisOf(1, { status: "won" }));
    store.find = () => Promise.resolve(undefined);
    await reservations.onThesisChanged(thesisOf(2, { status: "won" }));
    assert.deepEqual([await held(), settled], [[3], ["2 won"]]);
  }));

Deno.test("ReservationReleaser: nothing is read or released while the node has another chain", () =>
  withReservations(1, async ({ reservations, book, guard, asked, held }) => {
    read(book, []);
    guard.requireChain = () => Promise.reject(new StoreError("Another chain"));
    await assert.rejects(reservations.reconcile(), StoreError);
    assert.deepEqual([asked, await held()], [[], [1]]);
  }));

Deno.test("ReservationReleaser: unfinished and open bets stay reserved, and an end is reported once", () =>
  withReservations(3, async ({ reservations, store, book, onNode, asked, held, settled }) => {
    const [open] = await reservedIntents(store);
    assert.ok(open !== undefined);
    await insertReserved(store, { ...open, key: quoteHashOf(9) });
    read(book, [thesisOf(1)]);
    for (const id of [2, 3]) onNode.set(id, thesisOf(id, { status: "lost" }));
    const release = store.release.bind(store);
    // Another process is faster.
    store.release = async (key) => await release(key) && key !== quoteHashOf(2);
    assert.equal(await reservations.reconcile(), 1);
    assert.deepEqual([await held(), settled, asked], [[1, 9], ["3 lost"], [2, 3]]);
    assert.deepEqual(book.reservedKeys, [1, 9].map(quoteHashOf));
  }));

Deno.test("ReservationReleaser: a failed execution is released, one with an unknown outcome stays reserved", () =>
  withReservations(1, async ({ reservations, store, book }) => {
    const intent = await store.get(quoteHashOf(1));
    await reservations.reconcile();
    assert.equal(book.total, 10n);
    for (const state of ["accepted", "submitted", "committed"] as const) {
      reservations.onExecutionFinished({ ...intent, state });
    }
    assert.equal(book.total, 10n);
    reservations.onExecutionFinished({ ...intent, state: "failed" });
    assert.equal(book.total, 0n);
  }));

Deno.test("ReservationReleaser: a bet lost before its end is released and reported at once", () =>
  withReservations(2, async ({ reservations, book, held, clock, settled }) => {
    const endTime = clock.now() + 3_600_000;
    await reservations.reconcile();
    book.apply(thesisOf(1, { endTime }));
    assert.equal(book.total, 20n);
    const lost = thesisOf(1, { endTime, status: "lost" });
    book.apply(lost);
    assert.deepEqual([book.total, book.size], [10n, 1]);
    await reservations.onThesisChanged(lost);
    assert.deepEqual([await held(), settled, clock.pending], [[2], ["1 lost"], 0]);
    read(book, [thesisOf(2)]);
    assert.equal(await reservations.reconcile(), 0);
  }));

Deno.test("ReservationReleaser: a bet of another process counts nothing if its loss is known before it", () =>
  withReservations(1, async ({ reservations, table, book, clock }) => {
    const lost = thesisOf(1, { endTime: clock.now() + 1, status: "lost" });
    book.apply(lost);
    await reservations.onThesisChanged(lost);
    await table.refresh();
    assert.deepEqual([book.total, book.reservedKeys], [0n, []]);
  }));

Deno.test("ReservationReleaser: a bet lost before its receipt was read is released with the receipt", () =>
  withReservations(1, async ({ reservations, store, book, onNode, held, settled }) => {
    const committed = await store.get(quoteHashOf(1));
    const intent = await insertReserved(store, { ...committed, key: quoteHashOf(2) });
    await reservations.reconcile();
    const lost = thesisOf(2, { status: "lost" });
    onNode.set(2, lost);
    book.apply(lost);
    await reservations.onThesisChanged(lost);
    assert.deepEqual([await held(), book.total], [[1, 2], 10n], "its execution is not finished");
    const outcome = { ...COMMITTED, receipt: committed.receipt };
    reservations.onExecutionFinished((await store.finish(intent, outcome, 3)).intent);
    await eventually("the release", async () => (await held()).length === 1);
    assert.deepEqual(settled, ["2 lost"]);
  }));

Deno.test("ReservationReleaser: reconcile drops executions that another process ended, and stops when aborted", () =>
  withReservations(2, async ({ reservations, store, book, onNode, asked, held }) => {
    const committed = await store.get(quoteHashOf(1));
    const intent = await insertReserved(store, { ...committed, key: quoteHashOf(9) });
    await reservations.reconcile();
    assert.equal(book.total, 30n);
    await store.finish(intent, { state: "failed", receipt: null, failure: null }, 3);
    await reservations.reconcile();
    assert.equal(book.total, 20n);
    read(book, []);
    for (const id of [1, 2]) onNode.set(id, thesisOf(id, { status: "lost" }));
    assert.equal(await reservations.reconcile(AbortSignal.abort()), 0);
    assert.deepEqual([asked, await held()], [[], [1, 2]]);
  }));

Deno.test("ReservationReleaser: a store that is away is logged once until a pass succeeds", () =>
  withReservations(1, ({ reservations, table }) =>
    withLogs("warning", async (records) => {
      const { signal } = new AbortController();
      const refresh = table.refresh.bind(table);
      const reasons = () => records.map(({ properties }) => properties.reason);
      table.refresh = rejectsWith(away);
      await reservations.reconcileOrLog(AbortSignal.abort());
      for (let pass = 0; pass < 3; pass += 1) await reservations.reconcileOrLog(signal);
      assert.deepEqual(reasons(), ["The store is away"]);
      table.refresh = refresh;
      await reservations.reconcileOrLog(signal);
      table.refresh = rejectsWith(away);
      await reservations.reconcileOrLog(signal);
      assert.deepEqual(reasons(), ["The store is away", "The store is away"]);
      table.refresh = rejectsWith(new TypeError("A bug"));
      await assert.rejects(reservations.reconcileOrLog(signal), TypeError);
    })));

Deno.test("ReservationReleaser: each settlement releases its reservation, and is logged and reported once", () =>
  withReservations(
    4,
    ({ reservations, book, onNode, settled, clock, held }) =>
      withLogs("info", async (records) => {
        await reservations.onThesisChanged(thesisOf(1, { status: "needs_backfill" }));
        assert.deepEqual(await held(), [1, 2, 3, 4]);
        for (const id of [1, 1, 77]) {
          await reservations.onThesisChanged(thesisOf(id, { status: "won" }));
        }
        assert.deepEqual(await held(), [2, 3, 4]);
        await reservations.onThesisChanged(thesisOf(4, { status: "lost" }));
        read(book, [thesisOf(3)]);
        onNode.set(2, thesisOf(2, { status: "lost" }));
        clock.jump(6 - clock.now());
        await reservations.reconcile();
        assert.deepEqual(settled, ["1 won", "4 lost", "2 lost"]);
        assert.deepEqual(
          records.map(({ properties: { thesisId, result, profit } }) => [thesisId, result, profit]),
          [[1, "won", "-10"], [4, "lost", "100"], [2, "lost", "100"]],
        );
      }),
  ));
