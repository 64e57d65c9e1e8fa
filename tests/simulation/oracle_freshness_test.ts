/** Prices of sources that stop, one by one or together, against a model that knows every event. */
import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { PriceBoard, type PriceBoardOptions } from "../../services/oracle/price_board.ts";
import { withSeed } from "../support/random.ts";

const SCHEDULES = 3_000;

/** Most schedules are short; the long ones outlast {@link QUIET_MS}. */
const LENGTHS_MS = [...Array<number>(9).fill(8_000), 50_000];

const SYMBOL = "BTC/USDT";
const T = 1_700_000_000_000;

/** Longest time that a price is used without a trade, whatever heartbeats say. */
const QUIET_MS = 30_000;

interface SourceEvent {
  kind: "trade" | "confirm" | "idle" | "lost";
  provider: ProviderName;
  atMs: number;
  price: bigint;
}

/** What a source does after it stopped: nothing, heartbeats that prove less or more, or it is lost. */
type AfterStop = "dead" | "idle" | "confirmed" | "lost";

/** How a market moves: price in millionths of a dollar after `ms`. */
type Path = (ms: number) => number;

function drawPath(lengthMs: number, random: RandomSource): Path {
  const start = 60_000e6 + random() * 100e6;
  const slope = (random() - 0.5) * 4e3;
  const jumpAtMs = random() * lengthMs;
  const jump = (random() - 0.5) * 400e6;
  const waveMs = 2_000 + random() * 20_000;
  const kind = Math.floor(random() * 3);
  return (ms) =>
    start + [slope * ms, ms < jumpAtMs ? 0 : jump, 30e6 * Math.sin(ms / waveMs)][kind]!; // one of three
}

/** All events of one source, in order of time. */
function drawSource(
  provider: ProviderName,
  path: Path,
  stopsAtMs: number,
  lengthMs: number,
  random: RandomSource,
): SourceEvent[] {
  const events: SourceEvent[] = [];
  const after: AfterStop =
    (["dead", "idle", "confirmed", "lost"] as const)[Math.floor(random() * 4)]!;
  const offset = (random() - 0.5) * 40e6;
  const gapMs = 50 + random() * 1_500;
  let price = 0n;
  for (let ms = random() * gapMs; ms < lengthMs; ms += 1 + random() * 2 * gapMs) {
    if (ms >= stopsAtMs) break;
    price = BigInt(Math.round(path(ms) + offset));
    events.push({ kind: "trade", provider, atMs: T + Math.floor(ms), price });
  }
  if (after === "dead" || price === 0n) return events;
  if (after === "lost") {
    return [...events, { kind: "lost", provider, atMs: T + Math.ceil(stopsAtMs), price }];
  }
  const kind = after === "idle" ? "idle" : "confirm";
  for (let ms = stopsAtMs; ms < lengthMs; ms += 1_000) {
    events.push({ kind, provider, atMs: T + Math.ceil(ms), price });
  }
  return events;
}

/** One source as the past events leave it. */
interface Known {
  provider: ProviderName;
  price: bigint;
  tradedAtMs: number;
  confirmedAtMs: number;
  aliveAtMs: number;
}

/** The expected answer at a time, computed from all events so far. */
function served(past: readonly SourceEvent[], rules: PriceBoardOptions, nowMs: number) {
  const known = PROVIDER_NAMES.flatMap((provider): Known[] => {
    const mine = past.filter((event) => event.provider === provider);
    const trade = mine.findLast(({ kind }) => kind === "trade");
    if (trade === undefined || mine.at(-1)?.kind === "lost") return [];
    const tradedAtMs = trade.atMs;
    const confirm = mine.findLast(({ kind, atMs }) =>
      kind === "confirm" && atMs >= tradedAtMs && atMs - tradedAtMs <= QUIET_MS
    );
    const idle = mine.findLast(({ kind }) => kind === "idle");
    const confirmedAtMs = Math.max(tradedAtMs, confirm?.atMs ?? 0);
    const aliveAtMs = Math.max(confirmedAtMs, idle?.atMs ?? 0);
    return [{ provider, price: trade.price, tradedAtMs, confirmedAtMs, aliveAtMs }];
  });
  const within = (atMs: number, ms: number) => nowMs - atMs <= ms;
  const fresh = known.filter((one) => within(one.confirmedAtMs, rules.maxSourceAgeMs));
  const contributing = [...fresh];
  const quiet = known.filter((one) => !fresh.includes(one))
    .filter((one) => within(one.aliveAtMs, rules.maxSourceAgeMs))
    .filter((one) => within(one.tradedAtMs, QUIET_MS))
    .sort((a, b) => b.tradedAtMs - a.tradedAtMs);
  for (const one of rules.aggregation === "median" ? quiet : []) {
    const quietOnes = contributing.length - fresh.length;
    if (quietOnes + 1 < fresh.length) contributing.push(one);
  }
  if (contributing.length < rules.minSources || contributing.length === 0) return undefined;
  const prices = contributing.map(({ price }) => price).sort((a, b) => Number(a - b));
  const middle = rules.aggregation === "average"
    ? prices
    : prices.slice(Math.ceil(prices.length / 2) - 1, Math.floor(prices.length / 2) + 1);
  const sum = middle.reduce((total, price) => total + price, 0n);
  const count = BigInt(middle.length);
  const times = contributing.map((one) => one.confirmedAtMs).sort((a, b) => a - b);
  return {
    price: sum / count + (2n * (sum % count) >= count ? 1n : 0n),
    lastUpdate: rules.aggregation === "average"
      ? times[0]!
      : times[Math.ceil(times.length / 2) - 1]!,
    sources: PROVIDER_NAMES.filter((name) => contributing.some((one) => one.provider === name)),
    contributing,
  };
}

/** A price with a time lies between the prices that were confirmed since then. */
function assertHonest(entry: NonNullable<ReturnType<typeof served>>): void {
  const since = entry.contributing.filter((one) => one.confirmedAtMs >= entry.lastUpdate);
  const prices = since.map(({ price }) => price).sort((a, b) => Number(a - b));
  assert(prices[0]! <= entry.price && entry.price <= prices.at(-1)!);
}

/** A price is withheld only while sources are missing, and only after a jump that one of them made. */
function assertSuspicious(
  withheld: ReturnType<typeof served>,
  mostSources: number,
  pricesServed: readonly bigint[],
): void {
  assert(withheld !== undefined && withheld.contributing.length < mostSources);
  const { price } = withheld;
  const isFar = (other: bigint) => 1_000n * (price > other ? price - other : other - price) > other;
  assert(pricesServed.some(isFar), "a jump of 10 basis points");
}

function apply(board: PriceBoard, event: SourceEvent): void {
  const { kind, provider, price, atMs } = event;
  if (kind === "trade") board.update(provider, SYMBOL, price, atMs);
  else if (kind === "confirm") board.confirm(provider, SYMBOL, atMs);
  else if (kind === "idle") board.keepAlive(provider, atMs);
  else board.removeProvider(provider, atMs);
}

/** Plays one schedule: one source continues, the others stop at random times. */
function play(random: RandomSource): void {
  const rules: PriceBoardOptions = {
    markets: MARKETS,
    aggregation: random() < 0.7 ? "median" : "average",
    minSources: 1 + Math.floor(random() * random() * 4),
    maxSourceAgeMs: 500 + Math.floor(random() * 4_000),
  };
  const lengthMs = LENGTHS_MS[Math.floor(random() * LENGTHS_MS.length)]!; // one of them
  const path = drawPath(lengthMs, random);
  const together = random() < 0.5 ? random() * lengthMs / 2 : undefined;
  const live = PROVIDER_NAMES[Math.floor(random() * PROVIDER_NAMES.length)];
  const events = PROVIDER_NAMES.flatMap((provider) => {
    const stopsAtMs = provider === live ? lengthMs : together ?? random() * lengthMs;
    return drawSource(provider, path, stopsAtMs, lengthMs, random);
  }).sort((a, b) => a.atMs - b.atMs);
  const board = new PriceBoard(rules);
  const past: SourceEvent[] = [];
  const pricesServed: bigint[] = [];
  let mostSources = 0;
  const check = (nowMs: number) => {
    const expected = served(past, rules, nowMs);
    const { entry, isWithheld } = board.markets.get(SYMBOL) ?? assert.fail("It is a market");
    if (isWithheld) {
      assert.equal(entry, undefined);
      return assertSuspicious(expected, mostSources, pricesServed);
    }
    mostSources = Math.max(mostSources, expected?.contributing.length ?? 0);
    if (expected !== undefined) pricesServed.push(expected.price);
    assert.equal(entry?.price, expected?.price, `price at ${nowMs - T}`);
    assert.equal(entry?.lastUpdate, expected?.lastUpdate, `lastUpdate at ${nowMs - T}`);
    assert.deepEqual(entry?.sources, expected?.sources, `sources at ${nowMs - T}`);
    if (expected === undefined) return;
    assert(nowMs - expected.lastUpdate <= rules.maxSourceAgeMs, "no price is older than a source");
    assertHonest(expected);
  };
  let dueMs: number | undefined;
  for (const event of events) {
    // A timer may be late: a trade then does its work.
    const late = event.kind === "trade" && random() < 0.2;
    while (!late && dueMs !== undefined && dueMs <= event.atMs) {
      const nowMs = dueMs;
      dueMs = board.expire(nowMs);
      check(nowMs);
    }
    apply(board, event);
    past.push(event);
    check(event.atMs);
    dueMs = board.expire(event.atMs);
  }
}

Deno.test("PriceBoard: while random sources stop, price and age equal those of a naive model", () =>
  withSeed((random) => {
    for (let schedule = 0; schedule < SCHEDULES; schedule++) play(random);
  }));
