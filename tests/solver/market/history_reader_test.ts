import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";
import type { HistoryPage } from "../../../lib/protocol/methods/reads.ts";
import { type HistoryQuery, NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import { createHistoryReader } from "../../../services/solver/market/history_reader.ts";
import { MarketData } from "../../../services/solver/market/market_data.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { market } from "../support.ts";

const PAGE_SLOTS = 6_000;

/** A node with a history from the test, returned in pages. */
class FakeHistory {
  readonly slots = new Map<number, bigint>();
  readonly queries: HistoryQuery[] = [];
  away = false;
  /** Answers the first page of a read alone. */
  awayAfterFirstPage = false;
  /** Gives page after page without end. */
  endless = false;
  /** Refuses another market. */
  lacksMarket = false;

  getPriceHistory(query: HistoryQuery): Promise<HistoryPage> {
    if (this.away || this.awayAfterFirstPage && query.cursor !== undefined) {
      return Promise.reject(new NodeUnreachableError("http://node", "away"));
    }
    if (query.base !== market.base) {
      if (this.lacksMarket) return Promise.reject(new RpcError(-32602, "no market has this base"));
      return Promise.resolve({ prices: [], missing: [], nextCursor: null });
    }
    this.queries.push(query);
    const from = Number(query.cursor ?? query.from);
    const to = Math.min(query.to, from + PAGE_SLOTS * 100);
    const prices = [...this.slots].filter(([time]) => time >= from && time < to)
      .sort(([a], [b]) => a - b).map(([time, price]) => ({ time, price }));
    return Promise.resolve({
      prices,
      missing: [],
      nextCursor: to < query.to || this.endless ? String(to) : null,
    });
  }
}

/** A reader of a node's history, which ends with the test. */
function createReader(clock = new FakeClock()) {
  const node = new FakeHistory();
  const marketData = new MarketData(
    { volatilityFloor: 0.1, volatilityHistoryMs: 60_000 },
    SPEC_MARKETS,
  );
  const history = createHistoryReader(node, marketData, clock);
  const prices = marketData.stateOf(market);
  const start = async () => {
    history.start();
    await clock.untilScheduled();
  };
  /** Time passes, until the read that falls due is over. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    await clock.untilScheduled();
  };
  const end = { [Symbol.asyncDispose]: () => history.stop() };
  return { node, history, start, pass, clock, marketData, prices, ...end };
}

Deno.test("History reader: the first read gets the node's whole history, page by page", async () => {
  await using reader = createReader();
  const { node, start, clock, prices } = reader;
  const nowMs = clock.now();
  for (let n = 1; n <= 20_000; n++) node.slots.set(nowMs - n * 100, BigInt(n));
  await start();
  assert.equal(node.queries.length, 11, "65,536 slots in pages of 6,000");
  assert.equal(prices.historyEndMs, nowMs);
  const outsideOf = (lower: bigint, upper: bigint) =>
    prices.history.checkRange(nowMs - 2_000_000, nowMs, { lower, upper });
  assert.deepEqual({ ...outsideOf(1n, 20_000n) }, { missing: [], outside: undefined });
  assert.equal(outsideOf(2n, 20_000n).outside?.price, 1n);
  assert.equal(outsideOf(1n, 19_999n).outside?.price, 20_000n);
  assert.ok(prices.volatility.historyMs >= 60_000);
});

Deno.test("History reader: later reads get new slots, and slots that are recorded late", async () => {
  await using reader = createReader();
  const { node, start, pass, clock, prices } = reader;
  const nowMs = clock.now();
  node.slots.set(nowMs - 100, 5n);
  await start();
  node.queries.length = 0;
  node.slots.set(nowMs + 200, 6n);
  await pass(1_000);
  assert.equal(prices.historyEndMs, nowMs + 300);
  assert.deepEqual(node.queries.map(({ from, to }) => [from, to]), [[nowMs, nowMs + 1_000]]);
  assert.deepEqual(prices.history.checkRange(nowMs, nowMs + 300).missing, [
    { from: nowMs, to: nowMs + 200 },
  ]);
  await pass(5_000);
  assert.equal(node.queries.at(-1)?.from, nowMs + 300);
  for (const ms of [60_000, 1_000, 1_000]) await pass(ms);
  assert.equal(node.queries.at(-1)?.from, nowMs + 34_000, "33 s before the last read");
});

Deno.test("History reader: after the clock was ahead, it reads on from the newest price", async () => {
  await using reader = createReader();
  const { node, start, pass, clock, prices } = reader;
  const nowMs = clock.now();
  node.slots.set(nowMs - 100, 5n);
  clock.setBy(3_600_000);
  await start();
  await pass(1_000); // the second read asks from a time that never was
  clock.setBy(-3_600_000);
  node.slots.set(nowMs + 1_500, 6n);
  await pass(1_000);
  assert.equal(prices.history.newestMs, nowMs + 1_500);
  assert.equal(prices.historyEndMs, nowMs + 1_600);
});

Deno.test("History reader: a market that cannot be read keeps no other one waiting", () =>
  withLogs("warning", async (records) => {
    await using reader = createReader();
    const { node, start, clock, prices } = reader;
    assert.notEqual(SPEC_MARKETS.list[0]?.base, market.base, "another one is read before it");
    node.lacksMarket = true;
    node.slots.set(clock.now() - 100, 5n);
    await start();
    assert.equal(prices.historyEndMs, clock.now());
    assert.match(String(records[0]?.properties.reason), /no market has this base/);
  }));

Deno.test("History reader: after a revert of the chain it starts over, but not if only its clock was set back", async () => {
  for (const isReverted of [false, true]) {
    await using reader = createReader();
    const { node, start, pass, clock, prices, marketData } = reader;
    const nowMs = clock.now();
    node.slots.set(nowMs - 100, 5n).set(nowMs - 3_600_100, 4n);
    await start();
    clock.setBy(-3_600_000);
    if (isReverted) node.slots.delete(nowMs - 100);
    await pass(1_000);
    assert.equal(marketData.stateOf(market) === prices, !isReverted);
    const endMs = isReverted ? nowMs - 3_600_000 : nowMs;
    assert.equal(marketData.stateOf(market).historyEndMs, endMs);
  }
});

Deno.test("History reader: after an outage of 5 h, it reads everything that the node still has", async () => {
  await using reader = createReader();
  const { node, start, pass, clock, prices } = reader;
  await start();
  node.away = true;
  await pass(5 * 3_600_000);
  node.away = false;
  const nowMs = clock.now();
  node.slots.set(nowMs - 6_000_000, 5n).set(nowMs - 100, 6n);
  node.queries.length = 0;
  await pass(1_000);
  assert.equal(node.queries.length, 11, "65,536 slots in pages of 6,000");
  assert.equal(prices.history.at(nowMs - 6_000_000), 5n);
  assert.equal(prices.historyEndMs, nowMs);
});

Deno.test("History reader: an unreachable node is logged once and retried, and no price is lost", () =>
  withLogs("info", async (records) => {
    await using reader = createReader();
    const { node, history, start, pass, clock, prices } = reader;
    const logged = () => records.map(({ category, level }) => `${level} ${category[1]}`);
    node.away = true;
    await start();
    await pass(1_000);
    assert.equal(prices.historyEndMs, 0);
    assert.deepEqual(logged(), ["warning solver"]);
    assert.match(String(records[0]?.properties.reason), /away/);
    node.away = false;
    node.slots.set(clock.now() - 100, 5n);
    await pass(1_000);
    assert.equal(prices.history.newestMs, clock.now() - 1_100);
    assert.deepEqual(logged(), ["warning solver", "info solver"]);
    await history.stop();
    assert.equal(clock.pending, 0);
  }));

Deno.test("History reader: after a read that failed halfway, the next one adds the rest, and nothing twice", async () => {
  await using reader = createReader();
  const { node, start, pass, clock, prices } = reader;
  const nowMs = clock.now();
  for (let n = 1; n <= 60_000; n++) node.slots.set(nowMs - n * 100, 5n);
  node.awayAfterFirstPage = true;
  await start();
  const firstPageEndMs = nowMs - 65_536 * 100 + PAGE_SLOTS * 100;
  assert.equal(prices.historyEndMs, firstPageEndMs);
  const knownMs = prices.volatility.historyMs;
  node.awayAfterFirstPage = false;
  await pass(1_000);
  assert.equal(prices.historyEndMs, nowMs);
  const { missing } = prices.history.checkRange(nowMs - 6_000_000, nowMs);
  assert.deepEqual(missing, []);
  assert.equal(prices.volatility.historyMs, knownMs + nowMs - firstPageEndMs);
});

Deno.test("History reader: a read has at most 16 pages, and none after a stop", async () => {
  await using reader = createReader();
  const { node, history, start } = reader;
  node.endless = true;
  await start();
  assert.equal(node.queries.length, 16);
  node.queries.length = 0;
  history.start();
  await history.stop();
  assert.equal(node.queries.length, 1);
});

Deno.test("History reader: with a clock near 0, it reads from 0", async () => {
  await using reader = createReader(new FakeClock(1_234));
  const { node, start, prices } = reader;
  await start();
  assert.deepEqual(node.queries.map(({ from, to }) => [from, to]), [[0, 1_200]]);
  assert.equal(prices.historyEndMs, 0, "nothing is recorded");
});
