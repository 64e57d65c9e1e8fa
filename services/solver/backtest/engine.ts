import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { candleVariance } from "../pricing/candle.ts";
import { YEAR_MS } from "../pricing/units.ts";
import { BacktestError, type Bar, type BarSource, endOf, phaseOf } from "./bars.ts";
import type { Maker, Trial, TrialBox, TrialKind } from "./maker.ts";
import { formatDuration } from "./report_text.ts";
import { Results } from "./results.ts";
import type { TapeMarket } from "./tape_market.ts";
import { decide, type QuotedMaker, type UserPlan } from "./users.ts";

/** The plan of a backtest: which boxes are tried. */
export interface BacktestPlan extends UserPlan {
  /** Time from one row of boxes to the next, in milliseconds. */
  stepMs: number;
  durationsMs: readonly number[];
  /** Half widths of the boxes, in deviations of the neutral move over the duration. */
  widths: readonly number[];
  /** How far boxes are moved off the spot, as a share of their half width. */
  offsets: readonly number[];
  /** How long before its start a box is quoted, in milliseconds. */
  startAheadMs: readonly number[];
  /** Boxes quoted from here on are reported; those before are for fits. */
  reportFromMs: number;
  /** Rivals are compared from here to the start of the report, to find the best. */
  compareFromMs: number;
  /** Annualised volatility, if known: the unit of widths. */
  volatility?: number | undefined;
  onProgress?: ((doneMs: number, totalMs: number) => void) | undefined;
}

/** The market and the makers of a backtest. */
export interface Participants {
  market: TapeMarket;
  makers: readonly Maker[];
  /** Names of the makers that users who take their time are tried against. */
  watched: ReadonlySet<string>;
}

/**
 * Slides boxes over recorded prices. Every decision uses only what was known at the time: makers and
 * users see prices bar by bar, and a box is scored when its window is over. Memory is bounded by the
 * boxes that have not ended.
 *
 * @throws {BacktestError} If no box fits.
 */
export async function runBacktest(
  source: BarSource,
  plan: BacktestPlan,
  participants: Participants,
): Promise<Results> {
  const run = new Run(source, plan, participants);
  for await (const bars of source.bars()) {
    for (const bar of bars) run.step(bar);
    const last = bars.at(-1);
    if (last !== undefined) {
      plan.onProgress?.(endOf(last) - source.fromMs, source.toMs - source.fromMs);
    }
  }
  if (run.results.boxes > 0) return run.results;
  throw new BacktestError(
    `No box fits into ${formatDuration(source.toMs - plan.reportFromMs)} of prices to report on: ` +
      "use a longer recording, a shorter --durations-ms or a lower --fit-share",
  );
}

class Run {
  readonly results = new Results();
  readonly #compared = new Results();
  readonly #names: readonly string[];
  readonly #neutral = new NeutralVolatility();
  #pending: Trial[] = [];
  #quoted: readonly QuotedMaker[] | undefined;
  #endMs: number;

  constructor(
    readonly source: BarSource,
    readonly plan: BacktestPlan,
    readonly participants: Participants,
  ) {
    this.#names = participants.makers.map(({ name }) => name);
    this.#endMs = source.fromMs;
  }

  step(bar: Bar): void {
    const { market, makers } = this.participants;
    // Prices in a gap are unknown: boxes that reach into it are dropped.
    if (bar.timeMs > this.#endMs) this.#pending = [];
    this.#endMs = endOf(bar);
    this.#settle(bar);
    market.observe(bar);
    this.#neutral.observe(bar);
    for (const maker of makers) maker.observe(bar);
    this.#askUndecided(bar.knownMs);
    if ((bar.knownMs - phaseOf(bar)) % this.plan.stepMs === 0) this.#quote(bar);
  }

  #settle(bar: Bar): void {
    const endMs = endOf(bar);
    let kept = 0;
    for (const trial of this.#pending) {
      const { box } = trial;
      const counts = bar.timeMs >= box.startMs && bar.timeMs < box.endMs;
      if (counts && (bar.low < box.lower || bar.high > box.upper)) trial.broken = true;
      if (trial.broken || endMs >= box.endMs) this.#end(trial, endMs);
      else this.#pending[kept++] = trial;
    }
    this.#pending.length = kept;
  }

  #end(trial: Trial, endMs: number): void {
    const { makers } = this.participants;
    const { reportFromMs, compareFromMs } = this.plan;
    makers.forEach((maker, index) =>
      maker.settle?.(trial.kind, trial.offers[index], !trial.broken, endMs)
    );
    if (trial.quotedMs >= reportFromMs) this.results.add(trial, this.#names);
    else if (trial.quotedMs >= compareFromMs) this.#compared.add(trial, this.#names);
  }

  #askUndecided(nowMs: number): void {
    for (const trial of this.#pending) {
      if (trial.undecided.length === 0) continue;
      const asked = trial.undecided;
      // A decision may lead to another one.
      trial.undecided = [];
      for (const ask of asked) if (!ask(nowMs)) trial.undecided.push(ask);
    }
  }

  #quote(bar: Bar): void {
    const { durationsMs, widths, offsets, startAheadMs, reportFromMs } = this.plan;
    const volatility = this.plan.volatility ?? this.#neutral.volatility;
    if (volatility === undefined) return;
    const nowMs = bar.knownMs;
    const reported = nowMs >= reportFromMs;
    if (reported) this.#quoted ??= this.#findInformants();
    for (const durationMs of durationsMs) {
      const move = bar.close * volatility * Math.sqrt(durationMs / YEAR_MS);
      for (const aheadMs of startAheadMs) {
        const startMs = nowMs + aheadMs;
        const endMs = startMs + durationMs;
        if (endMs > this.source.toMs) continue;
        for (const width of widths) {
          for (const offset of offsets) {
            const box = boxAround(bar.close, width * move, offset, startMs, endMs);
            this.#try(box, { durationMs, width }, nowMs);
          }
        }
      }
    }
  }

  #try(box: TrialBox, kind: TrialKind, nowMs: number): void {
    const trial: Trial = {
      box,
      kind,
      quotedMs: nowMs,
      offers: this.participants.makers.map((maker) => maker.offer(box, kind, nowMs)),
      bets: [],
      undecided: [],
      broken: false,
    };
    for (const quoted of this.#quoted ?? []) {
      decide(trial, quoted, this.plan, this.source.durationMs);
    }
    this.#pending.push(trial);
  }

  /** Gives each maker's users the rival model that was best so far. */
  #findInformants(): readonly QuotedMaker[] {
    const { makers, watched } = this.participants;
    const scores = makers.map(({ name }) => scoreOf(this.#compared, name, this.plan));
    return makers.map((maker, index) => {
      let best = -1;
      for (const [rival, score] of scores.entries()) {
        if (rival === index || score === undefined) continue;
        if (best < 0 || score < scores[best]!) best = rival; // best is an index of scores
      }
      // Without a comparison the last maker stands for the rivals.
      const place = best < 0 ? makers.length - 1 : best;
      const informant = { maker: makers[place]!, index: place }; // one of the makers
      return { index, maker, informant, watched: watched.has(maker.name) };
    });
  }
}

function boxAround(
  spot: number,
  reach: number,
  offset: number,
  startMs: number,
  endMs: number,
): TrialBox {
  const half = Math.max(1, Math.round(reach));
  const centre = spot + Math.round(offset * half);
  return { lower: Math.max(0, centre - half), upper: centre + half, startMs, endMs };
}

/** Mean Brier score over all kinds; undefined if nothing was scored. */
function scoreOf(
  results: Results,
  name: string,
  { durationsMs, widths }: BacktestPlan,
): number | undefined {
  let sum = 0;
  let count = 0;
  for (const durationMs of durationsMs) {
    for (const width of widths) {
      const mean = results.score(name, { durationMs, width })?.mean();
      if (mean === undefined) continue;
      sum += mean.mean * mean.count;
      count += mean.count;
    }
  }
  return count === 0 ? undefined : sum / count;
}

/** Single slots are too noisy: squared returns of 5 s are used. */
const RETURN_SLOTS = 50;

/** Minimum number of returns or candles for a mean. */
const COUNT_MIN = 10;

/**
 * The mean volatility of all prices so far. Widths of boxes are measured in it, so they do not depend on
 * any of the models under test.
 */
class NeutralVolatility {
  #sum = 0;
  #ms = 0;
  #count = 0;
  #close: number | undefined;

  /** Adds the newest bar. */
  observe(bar: Bar): void {
    if (bar.durationMs === SLOT_MS) {
      if (bar.timeMs % (RETURN_SLOTS * SLOT_MS) !== 0) return;
      if (this.#close !== undefined) {
        this.#add(Math.log(bar.close / this.#close) ** 2, RETURN_SLOTS * SLOT_MS);
      }
    } else this.#add(candleVariance(bar, this.#close), bar.durationMs);
    this.#close = bar.close;
  }

  /** Annualised; undefined before there are enough prices, or while none has moved. */
  get volatility(): number | undefined {
    if (this.#count < COUNT_MIN || this.#sum === 0) return undefined;
    return Math.sqrt(this.#sum / this.#ms * YEAR_MS);
  }

  #add(variance: number, ms: number): void {
    this.#sum += variance;
    this.#ms += ms;
    this.#count += 1;
  }
}
