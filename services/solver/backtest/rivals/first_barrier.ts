import { SLOT_MS } from "../../../../lib/prices/price_slots.ts";
import { barrierShift } from "../../pricing/barrier_shift.ts";
import { noTouchProbability } from "../../pricing/double_no_touch.ts";
import { forwardNoTouchProbability } from "../../pricing/forward_start.ts";
import { YEAR_MS } from "../../pricing/units.ts";
import type { Bar } from "../bars.ts";
import { type Maker, type Offer, RATIO_MAX, type TrialBox, type TrialKind } from "../maker.ts";
import { CloseVolatility } from "./close_volatility.ts";

/** Volatility is lowered by this share for the payout. */
const VEGA_CHARGE = 0.1;

/**
 * The solver's first version of `--pricing barrier`, kept to compare with: one volatility for every
 * horizon, a constant barrier shift, a vega charge, no charge for latency, and payouts of the bet itself.
 */
export class FirstBarrier implements Maker {
  readonly name = "first version";
  readonly #volatility = new CloseVolatility();
  readonly #margin: number;
  readonly #known: number | undefined;

  /** @param volatility Annualised, if known. */
  constructor(margin: number, volatility?: number) {
    this.#margin = margin;
    this.#known = volatility;
  }

  observe(bar: Bar): void {
    this.#volatility.observe(bar);
  }

  offer(box: TrialBox, _kind: TrialKind, nowMs: number): Offer | undefined {
    const volatility = this.#known ?? this.#volatility.volatility;
    if (volatility === undefined) return undefined;
    const probability = this.#probability(box, nowMs, volatility);
    const charged = this.#probability(box, nowMs, volatility * (1 - VEGA_CHARGE));
    const ratio = (1 - this.#margin) / Math.max(probability, charged);
    return { probability, ratio: Math.max(1, Math.min(RATIO_MAX, ratio)) };
  }

  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean {
    const probability = this.offer(box, kind, nowMs)?.probability;
    return probability !== undefined && probability * ratio <= 1;
  }

  #probability(
    { lower, upper, startMs, endMs }: TrialBox,
    nowMs: number,
    volatility: number,
  ): number {
    const spot = this.#volatility.spot ?? 0;
    const varianceOf = (ms: number) => volatility * volatility * Math.max(0, ms) / YEAR_MS;
    const startVariance = varianceOf(startMs - nowMs);
    const variance = varianceOf(endMs - SLOT_MS - Math.max(startMs, nowMs));
    const shift = barrierShift(varianceOf(SLOT_MS));
    const toLower = Math.log(spot / lower);
    const toUpper = Math.log(upper / spot);
    if (startVariance <= 0 && (toLower < 0 || toUpper < 0)) return 0;
    const corridor = {
      toLower: toLower + shift,
      toUpper: toUpper + shift,
      variance,
      drift: -variance / 2,
    };
    if (startVariance <= 0) return noTouchProbability(corridor);
    return forwardNoTouchProbability({
      ...corridor,
      startVariance,
      startDrift: -startVariance / 2,
      stepDeviation: 0,
    });
  }
}
