/** A batch of costly reads takes turns with all other callers, and its answer is bounded. */
import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { appendSpan, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { seededRandom } from "../../../lib/random.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { toWire } from "../../../lib/json.ts";
import { PriceHistory } from "../../../services/node/chain/price_history.ts";
import { Dispatcher } from "../../../services/node/rpc/dispatcher.ts";
import type { Method } from "../../../services/node/rpc/method.ts";
import { pageOfPrices, pageOfTheses } from "../../../services/node/rpc/query_pages.ts";
import { SerialQueue } from "../../../services/node/rpc/serial_queue.ts";
import { actors } from "../support/actors.ts";
import { DiskChain } from "../support/disk_chain.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withFolder } from "../../support/files.ts";

/** Bounds that `docs/protocol.md` states, under "Limits". */
const CALLS_PER_BATCH_MAX = 100;
const BATCH_ANSWER_CHARS_MAX = 768 * 1024;
const TASKS_WAITING_MAX = 4_096;

const PAGE_SLOTS = 6_000;

const groups = () => ["192.0.2.1"];

/** A full page of price history, as `core_getPriceHistory` answers. */
function fullPage() {
  const history = new PriceHistory(new PriceRing(8_192));
  const from = 1_700_000_000_000;
  for (let slot = 0; slot < PAGE_SLOTS; slot++) {
    history.ring.append(from + slot * 100, 3_000_000_000n + BigInt(slot));
  }
  const to = from + PAGE_SLOTS * 100;
  return toWire(pageOfPrices(history, { from, to, limit: PAGE_SLOTS }));
}

/** A dispatcher whose queue runs a turn only when the test asks for it. */
function setUp(methods: Record<string, Method>) {
  const scheduled: (() => void)[] = [];
  const queue = new SerialQueue((task) => scheduled.push(task));
  const dispatcher = new Dispatcher({
    methods: new Map(Object.entries(methods)),
    observe: () => {},
    queue,
    beforeAnswer: () => Promise.resolve(),
  });
  const batchOf = (method: string, calls: number) =>
    JSON.stringify(
      Array.from({ length: calls }, (_, id) => ({ jsonrpc: "2.0", id, method })),
    );
  return { dispatcher, queue, scheduled, batchOf };
}

/** Lets everything that waits for a resolved promise continue. */
async function settle(): Promise<void> {
  for (let step = 0; step < 20; step++) await Promise.resolve();
}

Deno.test("Dispatcher: if the node is busy, a whole batch is refused after one turn", async () => {
  let calls = 0;
  const { dispatcher, queue, scheduled, batchOf } = setUp({ cheap: { call: () => calls++ } });
  for (let task = 0; task < TASKS_WAITING_MAX / 2; task++) {
    void queue.run("read", groups(), () => {});
  }
  let isDone = false;
  const answer = dispatcher.handle(batchOf("cheap", CALLS_PER_BATCH_MAX), {
    isReadOnly: false,
    groups,
  })
    .finally(() => isDone = true);
  await settle();
  assert.equal(isDone, false);
  for (const turn of scheduled.splice(0)) turn();
  const answers: { error: { data: { code: string } } }[] = JSON.parse((await answer).text ?? "");
  assert.deepEqual(
    answers.map(({ error }) => error.data.code),
    Array(CALLS_PER_BATCH_MAX).fill("NODE_BUSY"),
  );
  assert.equal(calls, 0);
});

/** Items of a batch, which has as many as a batch may have. */
const ITEMS: Record<string, unknown> = {
  "cheap call": { jsonrpc: "2.0", id: 1, method: "cheap" },
  "call of an unknown method": { jsonrpc: "2.0", id: 1, method: "foo" },
  "item that is no call": 5,
};

for (const [name, item] of Object.entries(ITEMS)) {
  Deno.test(`Dispatcher: in a batch, each ${name} waits for a turn of its own`, async () => {
    let calls = 0;
    const { dispatcher, scheduled } = setUp({ cheap: { call: () => calls += 1 } });
    const batch = JSON.stringify(Array(CALLS_PER_BATCH_MAX).fill(item));
    let isDone = false;
    const answer = dispatcher.handle(batch, { isReadOnly: true, groups })
      .finally(() => isDone = true);
    for (let turn = 0; turn < CALLS_PER_BATCH_MAX; turn++) {
      await settle();
      assert.deepEqual([scheduled.length, isDone], [1, false], `turn ${turn}`);
      assert.ok(calls <= turn);
      scheduled.shift()!();
    }
    assert.equal(JSON.parse((await answer).text!).length, CALLS_PER_BATCH_MAX);
  });
}

Deno.test("Dispatcher: waiting reads do not delay a write", async () => {
  const done: string[] = [];
  const { dispatcher, scheduled, batchOf } = setUp({
    read: { isCostly: true, call: () => done.push("read") },
    write: { isCostly: true, access: "write", call: () => done.push("write") },
  });
  const one = (method: string) =>
    dispatcher.handle(batchOf(method, 1), { isReadOnly: false, groups });
  const answers = ["read", "read", "read", "write"].map(one);
  await settle();
  for (let task = scheduled.shift(); task !== undefined; task = scheduled.shift()) {
    task();
    await settle();
  }
  await Promise.all(answers);
  assert.deepEqual(done, ["write", "read", "read", "read"]);
});

Deno.test("Dispatcher: a batch stops once its answers are too long", async () => {
  let calls = 0;
  const page = fullPage();
  const pageChars = JSON.stringify(page).length;
  const { dispatcher, scheduled, batchOf } = setUp({
    history: {
      isCostly: true,
      call() {
        calls += 1;
        return page;
      },
    },
  });
  const answer = dispatcher.handle(batchOf("history", CALLS_PER_BATCH_MAX), {
    isReadOnly: true,
    groups,
  });
  await settle();
  for (let task = scheduled.shift(); task !== undefined; task = scheduled.shift()) {
    task();
    await settle();
  }
  const { text = "" } = await answer;
  const expected = Math.ceil(BATCH_ANSWER_CHARS_MAX / pageChars);
  assert.equal(calls, expected);
  assert(text.length < BATCH_ANSWER_CHARS_MAX + pageChars + 20_000, `${text.length} characters`);
  const answers: { id: number; error?: { code: number } }[] = JSON.parse(text);
  assert.equal(answers.length, CALLS_PER_BATCH_MAX);
  assert.deepEqual(answers.map(({ id, error }) => [id, error?.code]), [
    ...Array.from(
      { length: CALLS_PER_BATCH_MAX },
      (_, id) => [id, id < expected ? undefined : -32005],
    ),
  ]);
});

/** A ledger with these theses: all that a page reads of them. */
function ledgerOf(theses: readonly Partial<Thesis>[]) {
  return {
    firstThesisId: theses[0]!.id!,
    lastThesisId: theses.at(-1)!.id!,
    thesesBetween: (fromId: number, toId: number, { user }: Partial<Thesis>, max: number) =>
      theses.filter((thesis) => user === undefined || thesis.user === user)
        .filter(({ id = 0 }) => id >= fromId && id < toId)
        .slice(0, max) as Thesis[], // what a page needs
  };
}

/** Theses with the ids in `[from, to]`. */
function thesesOf(from: number, to: number): Thesis[] {
  const user = actors.user.address;
  return Array.from({ length: to - from + 1 }, (_, at) => ({ id: from + at, user }) as Thesis);
}

Deno.test("pageOfPrices: a time without prices fits on one page, and the pages together have each slot exactly one time", () => {
  const random = seededRandom(7);
  const upTo = (max: number) => Math.floor(random() * max);
  for (let round = 0; round < 300; round++) {
    const history = new PriceHistory(new PriceRing(16));
    const slots = upTo(60);
    for (let slot = 1_000; slot < 1_000 + slots; slot++) {
      if (random() < 0.7) history.ring.append(slot * 100, BigInt(slot));
    }
    for (let count = upTo(3); count > 0; count--) {
      const slot = 700 + upTo(350);
      if (history.ring.at(slot * 100) === undefined) history.backfilled.put(slot * 100, 1n);
    }
    const [from, to] = [60_000 + upTo(50_000), 60_000 + upTo(50_000)];
    const [prices, missing]: [number[], TimeSpan[]] = [[], []];
    let cursor: string | undefined;
    do {
      const page = pageOfPrices(history, { from, to, limit: 1 + upTo(9), cursor });
      prices.push(...page.prices.map(({ time }) => time));
      for (const gap of page.missing) appendSpan(missing, gap);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    const expected: [number[], TimeSpan[]] = [[], []];
    for (let time = Math.ceil(from / 100) * 100; time < to; time += 100) {
      if (history.at(time) !== undefined) expected[0].push(time);
      else appendSpan(expected[1], { from: time, to: time + 100 });
    }
    assert.deepEqual([prices, missing], expected);
  }
  const history = new PriceHistory(new PriceRing(16));
  const pagesOf = () => {
    const query = { from: 0, to: 1_800_000_000_000, limit: 6_000 };
    let [pages, cursor]: [number, string | null | undefined] = [0, undefined];
    for (; cursor !== null && pages < 10; pages++) {
      cursor = pageOfPrices(history, { ...query, cursor: cursor ?? undefined }).nextCursor;
    }
    return pages;
  };
  assert.equal(pagesOf(), 1);
  history.ring.append(1_700_000_000_000, 5n);
  assert.equal(pagesOf(), 1);
  history.backfilled.put(1_699_999_000_000, 5n);
  assert(pagesOf() < 5);
});

Deno.test("pageOfTheses: a filter that matches little is answered page by page", () => {
  const { stranger } = actors;
  for (const [total, empty] of [[2_005, 2], [1_001, 1]]) {
    const last = { id: total, user: stranger.address };
    const ledger = ledgerOf([...thesesOf(1, total! - 1), last]);
    const pages = [];
    let cursor: string | undefined;
    do {
      const page = pageOfTheses(ledger, {
        user: stranger.address,
        limit: 10,
        cursor,
      });
      pages.push(page.theses.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(pages, [...Array(empty).fill([]), [total]]);
  }
});

Deno.test("pageOfTheses: only the theses of the page are parsed, and all filters count", () =>
  withFolder(async (folder) => {
    const disk = new DiskChain(`${folder}/node`, new FakeClock());
    disk.run(1);
    for (let number = 0; number < 1_000; number++) {
      for (let more = 0; number % 200 === 0 && more < 60; more++) disk.deposit(number + more);
      disk.bet(500, number);
      if (number % 50 === 49) {
        disk.run(3, number < 900 ? 9_000_000_000n : undefined);
        disk.run(4);
      }
    }
    const { ledger } = disk.chain.state;
    const [user, solver] = [actors.user.address, actors.solver.address];
    const idsOf = (query: Partial<Parameters<typeof pageOfTheses>[1]>) =>
      pageOfTheses(ledger, { limit: 1_000, ...query }).theses.map(({ id }) => id);
    const [won, lost] = [idsOf({ status: "won" }), idsOf({ status: "lost", user, solver })];
    assert.deepEqual([won[0], lost[0], won.length + lost.length], [901, 1, 1_000]);
    assert.deepEqual(idsOf({ user: solver }), []);
    assert.deepEqual(idsOf({ user, cursor: "5", limit: 2 }), [6, 7]);
    const timeOf = (query: Parameters<typeof idsOf>[0]) =>
      Math.min(...Array.from({ length: 9 }, () => {
        const startMs = performance.now();
        idsOf(query);
        return performance.now() - startMs;
      }));
    const full = timeOf({});
    assert(timeOf({ user: solver }) < full / 3, "parsing a row takes longer than filtering it");
    assert(timeOf({ limit: 10 }) < full / 3);
    await disk.close();
  }));

Deno.test("pageOfTheses: the first page starts at the oldest thesis that was not deleted", () => {
  const { theses, nextCursor, lastId } = pageOfTheses(ledgerOf(thesesOf(201, 1_100)), {
    limit: 1_000,
  });
  assert.equal(lastId, 1_100);
  const expected = Array.from({ length: 900 }, (_, at) => 201 + at);
  assert.deepEqual([theses.map(({ id }) => id), nextCursor], [expected, null]);
});
