import { DAY_MS, HOUR_MS, MINUTE_MS, YEAR_MS } from "../../../lib/time.ts";
import {
  type BoxToPrice,
  noTouchAtChecks,
  priceChecksOf,
} from "../../../services/solver/pricing/box_probability.ts";
import { type Candle, CandleBuilder } from "../../../services/solver/pricing/candle.ts";
import { DecayedMean } from "../../../services/solver/pricing/decayed_mean.ts";
import { Season } from "../../../services/solver/pricing/season.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import type { SlotPrice } from "../../../services/solver/backtest/slots.ts";
import type { TrialBox, TrialKind, TrialQuote } from "../../../services/solver/backtest/maker.ts";
import { ModelMaker } from "../../solver/backtest/support.ts";
import { LogitCalibration } from "./logit_calibration.ts";
import { SimplexRegression } from "./simplex_regression.ts";

/** Half-lives of the variances in the forecast: ten minutes, an hour, six hours, a day. */
const HALF_LIVES_MS = [10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS];

/** Time between two rows of the fit: closer rows add no information. */
const FIT_STEP_MS = 300_000;

/** 2 ln 2 - 1: the weight of the close in the estimator of Garman and Klass. */
const CLOSE_WEIGHT = 2 * Math.LN2 - 1;

/**
 * Variance of the move over a candle by its range, plus the gap from the close before (Garman and
 * Klass, "On the estimation of security price volatilities", 1980): seven times the information of
 * the squared return.
 *
 * @param closeBefore Close of the candle directly before; undefined if there is none.
 */
function candleVariance(candle: Candle, closeBefore: number | undefined): number {
  const { open, high, low, close } = candle;
  const range = Math.log(high / low);
  const body = Math.log(close / open);
  const gap = closeBefore === undefined ? 0 : Math.log(open / closeBefore);
  return Math.max(0, 0.5 * range * range - CLOSE_WEIGHT * body * body) + gap * gap;
}

/** Minimum variance for forecast errors: the logarithm of 0 does not exist. */
const VARIANCE_MIN = 1e-16;

/**
 * Forecast errors of the volatility, as measured on BTC: 0.35 at 5 minutes, 0.05 more per factor e.
 */
function spreadOver(durationMs: number): number {
  return Math.min(0.75, Math.max(0.25, 0.35 + 0.05 * Math.log(durationMs / 300_000)));
}

interface HarSchedule {
  /** Weights are fitted on boxes that end before this time. */
  fitUntilMs: number;
  /** Probabilities are recalibrated on boxes quoted after the fit that end before this time. */
  recalibrateUntilMs: number;
}

interface PendingRow {
  endMs: number;
  features: number[];
  sumAtStart: number;
}

interface Horizon {
  regression: SimplexRegression;
  calibration: LogitCalibration;
  pending: PendingRow[];
  weights: readonly number[] | undefined;
}

/**
 * Heterogeneous autoregression of log variance (Corsi, 2009) with a season and, per duration,
 * weights and a recalibration that are fitted to the first part of the data: the rival with the
 * most freedom.
 */
export class HarModel extends ModelMaker {
  readonly name = "HAR, fitted";
  readonly #schedule: HarSchedule;
  readonly #means = HALF_LIVES_MS.map((ms) => new DecayedMean(ms));
  readonly #season = new Season();
  readonly #candles = new CandleBuilder();
  readonly #horizons = new Map<number, Horizon>();
  #sum = 0;
  #close: number | undefined;
  #spot = 0;

  constructor(margin: number, durationsMs: readonly number[], schedule: HarSchedule) {
    super(margin);
    this.#schedule = schedule;
    for (const durationMs of durationsMs) {
      this.#horizons.set(durationMs, {
        regression: new SimplexRegression(HALF_LIVES_MS.length),
        calibration: new LogitCalibration(),
        pending: [],
        weights: undefined,
      });
    }
  }

  observe({ timeMs: nowMs, price }: SlotPrice): void {
    this.#spot = price;
    const candle = this.#candles.add(nowMs, price);
    if (candle === undefined) return;
    const { timeMs, durationMs } = candle;
    const variance = candleVariance(candle, this.#close);
    this.#close = candle.close;
    const plain = variance / this.#season.factorAt(timeMs) ** 2;
    this.#season.add(timeMs, durationMs, Math.sqrt(variance));
    for (const mean of this.#means) {
      mean.decay(durationMs);
      mean.add(plain / durationMs, durationMs);
    }
    this.#sum += plain;
    this.#learn(timeMs + durationMs);
  }

  probability(box: TrialBox, { durationMs }: TrialKind, nowMs: number): number | undefined {
    const horizon = this.#horizons.get(durationMs);
    const raw = this.#rawProbability(box, durationMs, nowMs);
    if (raw === undefined || horizon === undefined) return undefined;
    return nowMs < this.#schedule.recalibrateUntilMs ? raw : horizon.calibration.apply(raw);
  }

  settle(
    { durationMs }: TrialKind,
    quote: TrialQuote | undefined,
    held: boolean,
    endMs: number,
  ): void {
    const { fitUntilMs, recalibrateUntilMs } = this.#schedule;
    if (endMs > recalibrateUntilMs || endMs - durationMs < fitUntilMs) return;
    if (quote?.probability === undefined) return;
    this.#horizons.get(durationMs)?.calibration.add(quote.probability, held);
  }

  #rawProbability(box: TrialBox, durationMs: number, nowMs: number): number | undefined {
    const features = this.#features();
    if (features === undefined) return undefined;
    const weights = this.#horizons.get(durationMs)?.weights;
    const log = features.reduce(
      (sum, feature, index) => sum + feature * (weights?.[index] ?? 1 / features.length),
      0,
    );
    const factor = this.#season.meanSquareFactor(nowMs, Math.max(nowMs + 1, box.endMs));
    const volatility = Math.sqrt(Math.exp(log) * factor * YEAR_MS);
    const checks = priceChecksOf(boxOf(box, this.#spot, nowMs));
    if (checks === undefined) return 1;
    let sum = 0;
    for (const node of forecastOf(volatility, spreadOver(durationMs)).nodes) {
      sum += node.weight * noTouchAtChecks(checks, node);
    }
    return sum;
  }

  #features(): number[] | undefined {
    const means = this.#means.flatMap(({ mean }) => mean === undefined ? [] : [mean]);
    if (means.length < this.#means.length) return undefined;
    return means.map((mean) => Math.log(Math.max(VARIANCE_MIN, mean)));
  }

  /** Until the fit: completes the rows whose window has ended, and begins new rows. */
  #learn(nowMs: number): void {
    for (const [durationMs, horizon] of this.#horizons) {
      if (nowMs > this.#schedule.fitUntilMs) {
        horizon.weights ??= horizon.regression.solve();
        continue;
      }
      const due = horizon.pending.findIndex(({ endMs }) => endMs > nowMs);
      for (const row of horizon.pending.splice(0, due < 0 ? horizon.pending.length : due)) {
        const variance = Math.max(VARIANCE_MIN, (this.#sum - row.sumAtStart) / durationMs);
        horizon.regression.add(row.features, Math.log(variance));
      }
      const features = nowMs % FIT_STEP_MS === 0 ? this.#features() : undefined;
      if (features === undefined) continue;
      horizon.pending.push({ endMs: nowMs + durationMs, features, sumAtStart: this.#sum });
    }
  }
}

function boxOf(
  { lower, upper, startMs, endMs }: TrialBox,
  spot: number,
  nowMs: number,
): BoxToPrice {
  return { spot: BigInt(spot), lower: BigInt(lower), upper: BigInt(upper), nowMs, startMs, endMs };
}
