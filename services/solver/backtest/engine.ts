import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import type { SlotPrice, SlotSource } from "./slots.ts";
import type { Maker, Trial, TrialBox, TrialKind } from "./maker.ts";
import { Results } from "./results.ts";
import type { TapeMarket } from "./strategy_maker.ts";
import { planBets, type QuotedMaker, type UserPlan } from "./users.ts";

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
  /** Boxes quoted from here on are reported; models learn from the time before. */
  reportFromMs: number;
  /** Standard errors are calculated across blocks of this time. */
  blockMs: number;
  onProgress?: ((doneMs: number, totalMs: number) => void) | undefined;
}

/** Recorded time between two calls of `onProgress`. */
const PROGRESS_MS = 1_000_000;

interface Participants {
  market: TapeMarket;
  makers: readonly Maker[];
  /** For each maker, the index of the one whose model its users know. */
  rivals: readonly number[];
}

/**
 * Slides boxes over recorded prices. Every decision uses only prices known at the time: makers and
 * users see them slot by slot, and a box is scored when its window is over. Memory is bounded by
 * the boxes that have not ended.
 */
export function runBacktest(
  source: SlotSource,
  plan: BacktestPlan,
  participants: Participants,
): Results {
  const run = new Run(source, plan, participants);
  for (const slot of source.slots()) {
    run.step(slot);
    if (slot.timeMs % PROGRESS_MS > 0) continue;
    plan.onProgress?.(slot.timeMs - source.fromMs, source.toMs - source.fromMs);
  }
  return run.results;
}

class Run {
  readonly results: Results;
  readonly #names: readonly string[];
  /** Widths of boxes are measured in it, so they do not depend on any of the models under test. */
  readonly #neutral = new ReturnVolatility();
  #pending: Trial[] = [];
  readonly #quoted: readonly QuotedMaker[];
  #endMs: number;

  constructor(
    readonly source: SlotSource,
    readonly plan: BacktestPlan,
    readonly participants: Participants,
  ) {
    const { makers, rivals } = participants;
    this.results = new Results(plan.blockMs);
    this.#names = makers.map(({ name }) => name);
    this.#quoted = makers.map((maker, index) => {
      const rival = rivals[index] ?? index;
      return { index, maker, rival: { index: rival, maker: makers[rival] ?? maker } };
    });
    this.#endMs = source.fromMs;
  }

  step(slot: SlotPrice): void {
    const { market, makers } = this.participants;
    // Prices in a gap are unknown: boxes that reach into it are dropped.
    if (slot.timeMs > this.#endMs) this.#pending = [];
    this.#endMs = slot.timeMs + SLOT_MS;
    this.#pending = this.#pending.filter((trial) => !this.#settle(trial, slot));
    market.observe(slot);
    this.#neutral.observe(slot);
    for (const maker of makers) maker.observe(slot);
    this.#askUndecided(slot.timeMs);
    if (slot.timeMs % this.plan.stepMs === 0) this.#quote(slot);
  }

  /** @returns Whether the trial has ended. */
  #settle(trial: Trial, { timeMs, price }: SlotPrice): boolean {
    const { startMs, endMs, lower, upper } = trial.box;
    const counts = timeMs >= startMs && timeMs < endMs;
    if (counts && (price < lower || price > upper)) trial.isBroken = true;
    if (!trial.isBroken && this.#endMs < endMs) return false;
    this.participants.makers.forEach((maker, index) =>
      maker.settle?.(trial.kind, trial.quotes[index], !trial.isBroken, this.#endMs)
    );
    if (trial.quotedAtMs >= this.plan.reportFromMs) this.results.add(trial, this.#names);
    return true;
  }

  #askUndecided(nowMs: number): void {
    for (const trial of this.#pending) {
      const asked = trial.pendingDecisions;
      if (asked.length === 0) continue;
      // A decision may add a further one.
      trial.pendingDecisions = [];
      for (const { dueMs, decide } of asked) {
        const nextMs = nowMs >= dueMs ? decide(nowMs) : dueMs;
        if (nextMs !== undefined) trial.pendingDecisions.push({ dueMs: nextMs, decide });
      }
    }
  }

  #quote({ timeMs: nowMs, price }: SlotPrice): void {
    const { durationsMs, widths, offsets, startAheadMs } = this.plan;
    const { volatility } = this.#neutral;
    if (volatility === undefined) return;
    for (const durationMs of durationsMs) {
      const move = price * volatility * Math.sqrt(durationMs / YEAR_MS);
      for (const aheadMs of startAheadMs) {
        const startMs = nowMs + aheadMs;
        const endMs = startMs + durationMs;
        if (endMs > this.source.toMs) continue;
        for (const width of widths) {
          for (const offset of offsets) {
            const bounds = boundsAround(price, width * move, offset);
            this.#startTrial({ ...bounds, startMs, endMs }, { durationMs, width }, nowMs);
          }
        }
      }
    }
  }

  #startTrial(box: TrialBox, kind: TrialKind, nowMs: number): void {
    const trial: Trial = {
      box,
      kind,
      quotedAtMs: nowMs,
      quotes: this.participants.makers.map((maker) => maker.quote(box, kind, nowMs)),
      bets: [],
      pendingDecisions: [],
      isBroken: false,
    };
    if (nowMs >= this.plan.reportFromMs) {
      for (const quoted of this.#quoted) planBets(trial, quoted, this.plan);
    }
    this.#pending.push(trial);
  }
}

/** @param offset How far off the spot their centre is, as a share of the half width. */
function boundsAround(spot: number, halfWidth: number, offset: number) {
  const half = Math.max(1, Math.round(halfWidth));
  const centre = spot + Math.round(offset * half);
  return { lower: Math.max(0, centre - half), upper: centre + half };
}

/** Single slots are mostly noise. */
const RETURN_MS = 5_000;

/** Fewest returns for a mean. */
const RETURNS_MIN = 10;

/** A simple volatility: the mean squared return of 5 s. */
export class ReturnVolatility {
  #squares = 0;
  #returns = 0;
  #price: number | undefined;

  observe({ timeMs, price }: SlotPrice): void {
    if (timeMs % RETURN_MS !== 0) return;
    if (this.#price !== undefined) {
      this.#squares += Math.log(price / this.#price) ** 2;
      this.#returns += 1;
    }
    this.#price = price;
  }

  /** Annualised; undefined before there are enough prices, or while none has moved. */
  get volatility(): number | undefined {
    if (this.#squares === 0 || this.#returns < RETURNS_MIN) return undefined;
    return Math.sqrt(this.#squares / this.#returns / RETURN_MS * YEAR_MS);
  }
}
