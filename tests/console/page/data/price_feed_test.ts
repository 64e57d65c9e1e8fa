/** Live prices and their history, through losses and sleep. */
import assert from "node:assert/strict";
import { MARKETS, type PriceHandlers, type PriceHistory } from "../../../../lib/client/mod.ts";
import { PriceFeed } from "../../../../services/console/page/data/price_feed.ts";
import { ServerClock } from "../../../../services/console/page/data/server_clock.ts";
import { settled } from "../../../support/eventually.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const [{ symbol: SYMBOL, base, quote } = assert.fail()] = MARKETS;
const OTHER = "SOL/USDT";
const START_MS = 1_000_000;

/** A feed whose node records a price every 100 ms, with a connection controlled by the test. */
function setUp({ isLive = true } = {}) {
  const clock = new FakeClock(START_MS);
  const handlers: { current?: PriceHandlers } = {};
  const node = {
    away: [] as string[],
    hangs: false,
    asked: [] as string[],
    connected: 0,
    reverted: 0,
    /** Before this time it has recorded no price. */
    recordedFrom: 0,
  };
  const serverClock = new ServerClock(() => clock.now());
  const feed = new PriceFeed({
    client: {
      history(symbol, from, to): Promise<PriceHistory> {
        node.asked.push(symbol);
        if (node.hangs) return new Promise(() => {});
        if (node.away.includes(symbol)) return Promise.reject(new Error("away"));
        const prices = [];
        const missing = from < node.recordedFrom ? [{ from, to: node.recordedFrom }] : [];
        for (let time = Math.ceil(from / 100) * 100; time < to; time += 100) {
          if (time >= node.recordedFrom) prices.push({ time, price: 3_000_000_000n });
        }
        return Promise.resolve({ prices, missing });
      },
      watchPrices(given) {
        handlers.current = given;
        // Nothing here looks at the watch.
        return undefined as never;
      },
    },
    symbols: [SYMBOL, OTHER],
    serverClock,
    clock,
    onConnected: () => node.connected += 1,
    onReverted: () => node.reverted += 1,
  });
  feed.start();
  const { onPrices, onState } = handlers.current ?? assert.fail();
  if (isLive) onState?.("live");
  /** @param onTheWayMs How long ago the message was sent. */
  const deliver = async (state: "fresh" | "stale" = "fresh", onTheWayMs = 0) => {
    const lastUpdate = clock.now() - 40 - onTheWayMs;
    const price = { base, quote, price: 3_001_000_000n, lastUpdate, ageMs: 40 };
    onPrices({ [SYMBOL]: { ...price, decimals: 6, state } });
    await settled();
  };
  /** As often as the node does. */
  const run = async (ms: number) => {
    await deliver();
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      clock.advance(100);
      await deliver();
    }
  };
  return { clock, serverClock, feed, node, onState, deliver, run };
}

/** The longest time between two points. */
function longestGap(times: readonly number[]): number {
  return Math.max(...times.slice(1).map((time, index) => time - times[index]!));
}

Deno.test("PriceFeed: away after five seconds without a price, even if the connection is live", async () => {
  const { clock, feed, onState, deliver } = setUp();
  clock.advance(9_000);
  assert.equal(feed.stateOf(SYMBOL), "connecting", "none has come yet");
  await deliver();
  clock.advance(4_999);
  assert.equal(feed.stateOf(SYMBOL), "fresh");
  clock.advance(1);
  assert.equal(feed.stateOf(SYMBOL), "away");
  onState?.("connecting", "silent");
  onState?.("live");
  assert.equal(feed.stateOf(SYMBOL), "away", "one announcement for the whole outage");
  await deliver();
  assert.equal(feed.stateOf(SYMBOL), "fresh");
});

Deno.test("PriceFeed: away once the browser reports a lost network, unless prices still arrive 2 s later", async () => {
  const { clock, feed, onState, deliver } = setUp();
  await deliver();
  feed.setOnline(false);
  assert.equal(feed.stateOf(SYMBOL), "away", "before the connection is found lost");
  clock.advance(1_999);
  await deliver();
  assert.equal(feed.stateOf(SYMBOL), "away", "that price was on its way");
  onState?.("connecting", "silent");
  assert.equal(feed.stateOf(SYMBOL), "away");
  onState?.("live");
  clock.advance(1);
  await deliver();
  assert.equal(feed.stateOf(SYMBOL), "fresh", "the services are on the same machine");
  onState?.("connecting", "silent");
  assert.equal(feed.stateOf(SYMBOL), "away", "and now they do not answer");
  feed.setOnline(false);
  feed.setOnline(true);
  assert.equal(feed.stateOf(SYMBOL), "away");
});

Deno.test("PriceFeed: a page that slept for minutes loads the missing prices", async () => {
  const { clock, feed, onState, deliver, run } = setUp();
  await feed.historyOf(SYMBOL).readFrom(START_MS - 5_000);
  await run(1_000);
  clock.advance(300_000);
  // The loss is noticed only now.
  onState?.("connecting", "closed");
  assert.equal(feed.isAway.value, true);
  onState?.("live");
  await deliver();
  assert.equal(feed.isAway.value, false);
  const { times } = feed.historyOf(SYMBOL).series;
  assert.equal(times[0], START_MS - 5_000);
  assert.equal(times.at(-1), clock.now());
  assert.equal(longestGap(times), 100);
});

Deno.test("PriceFeed: after a pause, only the missing prices are loaded, no older than the page keeps", async () => {
  const { clock, feed, node, run } = setUp();
  await run(100);
  await feed.historyOf(SYMBOL).readFrom(START_MS - 900_000);
  for (const [pauseMs, requests] of [[10_000, 1], [86_400_000, 11]] as const) {
    node.asked = [];
    clock.advance(pauseMs);
    await run(100);
    await feed.historyOf(SYMBOL).readFrom(START_MS - 900_000);
    assert.equal(node.asked.length, requests);
  }
});

Deno.test("PriceFeed: a price that arrives late is one of the slot in which it was sent", async () => {
  const { clock, feed, deliver } = setUp();
  await deliver();
  clock.advance(2_000);
  for (const onTheWayMs of [1_500, 800, 0]) await deliver("fresh", onTheWayMs);
  const sent = [0, 500, 1_200, 2_000].map((afterMs) => START_MS + afterMs);
  assert.deepEqual(feed.historyOf(SYMBOL).series.times, sent);
});

Deno.test("PriceFeed: if the chain goes back, its later prices are deleted, and history is loaded again", async () => {
  const { clock, serverClock, feed, node, deliver, run } = setUp();
  await run(5_000);
  await feed.historyOf(SYMBOL).readFrom(START_MS);
  const shown = () => {
    const { series: { times }, isLoaded } = feed.historyOf(SYMBOL);
    return [times[0], times.at(-1), isLoaded.value];
  };
  assert.deepEqual(shown(), [START_MS, START_MS + 5_000, true]);
  clock.jump(-900);
  await run(100);
  assert.deepEqual(shown(), [START_MS, START_MS + 5_000, true], "not yet");
  assert.equal(node.reverted, 0);
  clock.jump(-3_000);
  await run(100);
  assert.deepEqual(shown(), [START_MS + 1_200, START_MS + 1_300, false]);
  assert.equal(node.reverted, 1);
  await feed.historyOf(SYMBOL).readFrom(START_MS);
  assert.deepEqual(shown(), [START_MS, START_MS + 1_300, true]);
  await deliver("fresh", 1_100); // the node's clock alone was set back
  assert.equal(serverClock.now(), clock.now() - 1_100);
});

Deno.test("PriceFeed: history whose load a revert cut off is loaded from the chain as it is then", async () => {
  const { feed, deliver } = setUp();
  await deliver();
  const read = feed.historyOf(SYMBOL).readFrom(START_MS - 5_000);
  feed.clear();
  await read;
  assert.deepEqual([SYMBOL, OTHER].map((symbol) => feed.historyOf(symbol).isLoaded.value), [
    true,
    false,
  ]);
  assert.deepEqual(feed.historyOf(SYMBOL).series.times.slice(0, 1), [START_MS - 5_000]);
});

Deno.test("PriceFeed: the history of a new chain does not wait for a request to the old one that hangs", async () => {
  const { feed, node } = setUp();
  node.hangs = true;
  void feed.historyOf(SYMBOL).readFrom(START_MS - 5_000);
  feed.clear();
  node.hangs = false;
  await feed.historyOf(SYMBOL).readFrom(START_MS - 5_000);
  assert.equal(feed.historyOf(SYMBOL).series.times[0], START_MS - 5_000);
});

Deno.test("PriceFeed: a failed load of prices is retried, at most once a second", async () => {
  const { clock, feed, node, run } = setUp();
  await feed.historyOf(SYMBOL).readFrom(START_MS - 1_000);
  await run(500);
  node.away = [SYMBOL];
  node.asked = [];
  clock.advance(10_000);
  await run(2_500);
  assert.equal(longestGap(feed.historyOf(SYMBOL).series.times), 10_000);
  assert(node.asked.length <= 3, "at most once a second");
  node.away = [];
  await run(1_500);
  assert.equal(longestGap(feed.historyOf(SYMBOL).series.times), 100);
  assert(!node.asked.includes(OTHER), "only what was shown");
  node.asked = [];
  await run(3_000);
  assert.deepEqual(node.asked, [], "nothing is missing");
});

Deno.test("PriceFeed: history that could not be loaded is requested again, and only once when loaded", async () => {
  const { clock, feed, node, onState } = setUp({ isLive: false });
  const load = () => feed.historyOf(SYMBOL).readFrom(START_MS - 700_000);
  await load();
  assert.deepEqual(node.asked, [], "not connected");
  onState?.("live");
  node.away = [SYMBOL];
  assert.equal(feed.historyOf(SYMBOL).isLoaded.value, false);
  await load();
  assert(feed.historyOf(SYMBOL).isLoaded.value, "as far as it is to be had");
  node.away = [];
  clock.advance(1_000);
  await settled();
  assert.deepEqual(node.asked, [SYMBOL, SYMBOL, SYMBOL], "one that failed, and two pages");
  const { times } = feed.historyOf(SYMBOL).series;
  assert.deepEqual([times[0], times.at(-1)], [START_MS - 700_000, clock.now() - 100]);
  assert.equal(longestGap(times), 100);
  await load();
  assert.equal(node.asked.length, 3);
  feed.clear();
  assert.deepEqual(feed.historyOf(SYMBOL).series.times, []);
  await load();
  assert.equal(node.asked.length, 5, "of the next chain");
  feed.clear();
  const ofOldChain = load();
  feed.clear();
  node.recordedFrom = START_MS;
  await Promise.all([ofOldChain, load()]);
  assert.deepEqual([feed.historyOf(SYMBOL).series.times[0], node.asked.length], [START_MS, 8]);
});

Deno.test("PriceFeed: however often history is asked for, one attempt waits, for all of it", async () => {
  const { clock, feed, node } = setUp();
  const spans = [60_000, 60_000, 600_000, 900_000, 300_000];
  const load = () =>
    Promise.all(spans.map((span) => feed.historyOf(SYMBOL).readFrom(START_MS - span)));
  node.away = [SYMBOL];
  for (let zoom = 0; zoom < 5; zoom++) await load();
  node.asked = [];
  clock.advance(1_000);
  await settled();
  assert.equal(node.asked.length, 1);
  node.away = [];
  clock.advance(2_000);
  await settled();
  const { times } = feed.historyOf(SYMBOL).series;
  assert.deepEqual([times[0], times.at(-1)], [START_MS - 900_000, clock.now() - 100]);
  assert.equal(longestGap(times), 100);
});

Deno.test("PriceFeed: a stale price tells the node's time, if the clock of the device is wrong", async () => {
  const { clock, serverClock, deliver } = setUp();
  await deliver("stale", 60_000);
  assert.equal(serverClock.now(), clock.now() - 60_000);
});

Deno.test("PriceFeed: reports the state of each market, and when the connection opened", async () => {
  const { feed, node, onState, deliver } = setUp({ isLive: false });
  assert.equal(feed.stateOf(SYMBOL), "connecting");
  onState?.("live");
  assert.deepEqual([feed.stateOf(SYMBOL), node.connected], ["connecting", 1], "not received yet");
  await deliver("stale");
  assert.equal(feed.stateOf("X/Y"), "missing");
  assert.equal(feed.stateOf(SYMBOL), "stale");
  assert.deepEqual(feed.historyOf(SYMBOL).series.times, [], "a stale price is not drawn");
  await deliver();
  assert.equal(feed.stateOf(SYMBOL), "fresh");
  assert.deepEqual(feed.historyOf(SYMBOL).series.times, [START_MS]);
  onState?.("connecting", "closed");
  assert.deepEqual([feed.stateOf(SYMBOL), node.connected], ["away", 1]);
  assert.throws(() => feed.historyOf("X/Y"), /No market X\/Y/);
});

Deno.test("PriceFeed: a pause under a second loads nothing", async () => {
  const { clock, feed, node, run } = setUp();
  await feed.historyOf(SYMBOL).readFrom(START_MS - 1_000);
  node.asked = [];
  await run(500);
  clock.advance(800);
  await run(500);
  assert.deepEqual(node.asked, []);
});
