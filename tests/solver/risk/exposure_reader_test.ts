import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { StoreError } from "../../../lib/intents/intent.ts";
import { NodeUnreachableError, type ThesisFilter } from "../../../lib/net/core_client.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { ExposureReader } from "../../../services/solver/risk/exposure_reader.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { solver } from "../support.ts";
import { thesisOf } from "../theses.ts";

/** A node whose answers the test lets go one by one, or at once. */
class FakeTheses {
  theses: Thesis[] = [];
  readonly filters: ThesisFilter[] = [];
  away = false;
  pageSize = 1_000;
  gate: Promise<void> = Promise.resolve();

  async getTheses(filter: ThesisFilter) {
    this.filters.push(filter);
    await this.gate;
    if (this.away) throw new NodeUnreachableError("http://node", "away");
    const from = Number(filter.cursor ?? 0);
    const all = this.theses.filter(({ id, status }) => status === filter.status && id > from);
    const theses = all.slice(0, this.pageSize);
    return { theses, nextCursor: all.length > this.pageSize ? String(theses.at(-1)?.id) : null };
  }
}

function reader() {
  const node = new FakeTheses();
  const clock = new FakeClock();
  const book = new ExposureBook(undefined);
  return {
    node,
    clock,
    book,
    reader: new ExposureReader({ node, clock, book, solver: solver.address, random: () => 1 }),
  };
}

function settled(): Promise<void> {
  return setImmediate();
}

Deno.test("Exposure reader: reads open theses and those that wait for a backfill, page by page", async () => {
  const { node, book, reader: exposure } = reader();
  node.pageSize = 2;
  node.theses = [1, 2, 3, 4, 5].map((id) => thesisOf(id));
  node.theses.push(thesisOf(6, { status: "needs_backfill" }), thesisOf(7, { status: "won" }));
  exposure.connected();
  await settled();
  assert.deepEqual(book.theses.map(({ id }) => id), [1, 2, 3, 4, 5, 6]);
  assert.equal(book.complete, true);
  for (const filter of node.filters) {
    assert.deepEqual([filter.solver, filter.limit], [solver.address, 1_000]);
  }
  assert.equal(node.filters.length, 4);
  await exposure.stop();
});

Deno.test("Exposure reader: a node that is away is logged once, and read again after 1 s and then every 2 s", () =>
  withLogs("warning", async (records) => {
    const { node, clock, book, reader: exposure } = reader();
    node.away = true;
    exposure.connected();
    await settled();
    for (const [index, waitMs] of [1_000, 2_000, 2_000].entries()) {
      clock.advance(waitMs - 1);
      await settled();
      assert.equal(node.filters.length, index + 1);
      node.away = index < 2;
      clock.advance(1);
      await settled();
      assert.equal(book.complete, !node.away);
    }
    assert.deepEqual(records.map(({ category }) => category[1]), ["solver"]);
    assert.match(String(records[0]?.properties.reason), /away/);
    await exposure.stop();
    assert.equal(clock.pending, 0);
    assert.equal(book.complete, false);
  }));

Deno.test("Exposure reader: what was asked over a lost connection does not count", async () => {
  const { node, book, reader: exposure } = reader();
  const gate = Promise.withResolvers<void>();
  node.gate = gate.promise;
  node.theses = [thesisOf(1)];
  exposure.connected();
  exposure.lost();
  gate.resolve();
  await settled();
  assert.equal(book.complete, false);
  exposure.connected();
  await settled();
  assert.equal(book.complete, true);
  await exposure.stop();
});

Deno.test("Exposure reader: all is read again every 30 s, and what settled unseen goes", async () => {
  const { node, clock, book, reader: exposure } = reader();
  node.theses = [thesisOf(1), thesisOf(2)];
  exposure.connected();
  await settled();
  node.theses = [thesisOf(2)];
  clock.advance(30_000);
  await settled();
  assert.deepEqual(book.theses.map(({ id }) => id), [2]);
  await exposure.stop();
});

Deno.test("Exposure reader: reservations are reconciled after each reading, and again after a failure", () =>
  withLogs("warning", async (records) => {
    const { node, clock, book } = reader();
    let passes = 0;
    const exposure = new ExposureReader({
      ...{ node, clock, book, solver: solver.address, random: () => 1 },
      reconcile() {
        assert.ok(book.complete);
        passes += 1;
        return passes === 1 ? Promise.reject(new StoreError("The store is away")) : settled();
      },
    });
    exposure.connected();
    await settled();
    assert.deepEqual([passes, book.complete], [1, true]);
    assert.deepEqual(records.map(({ properties }) => properties.reason), ["The store is away"]);
    for (const waitMs of [1_000, 30_000]) {
      clock.advance(waitMs);
      await settled();
      await settled();
    }
    assert.deepEqual([passes, records.length], [3, 1]);
    await exposure.stop();
  }));
