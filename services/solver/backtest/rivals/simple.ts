/** Baselines that a serious model has to beat. */
import { normalBetween } from "../../pricing/normal.ts";
import type { SlotPrice } from "../slots.ts";
import { ModelMaker, type Offer, type TrialBox, type TrialKind } from "../maker.ts";
import { ReturnVolatility } from "../return_volatility.ts";
import { YEAR_MS } from "../../../../lib/time.ts";

const RETURNS_HALF_LIFE_MS = 600_000;

/** Considers the end of the window only, as if the price could leave the box and return. */
export class TerminalOnly extends ModelMaker {
  readonly name = "terminal only";
  readonly #returns = new ReturnVolatility(RETURNS_HALF_LIFE_MS);
  #spot = 0;

  observe(slot: SlotPrice): void {
    this.#spot = slot.price;
    this.#returns.observe(slot);
  }

  probability({ lower, upper, endMs }: TrialBox, _kind: TrialKind, nowMs: number) {
    const { volatility } = this.#returns;
    if (volatility === undefined) return undefined;
    const variance = volatility * volatility * (endMs - nowMs) / YEAR_MS;
    const scaled = (price: number) =>
      (Math.log(price / this.#spot) + variance / 2) / Math.sqrt(variance);
    return normalBetween(scaled(lower), scaled(upper));
  }
}

/** The share of boxes with the same duration and width that held so far. */
export class BaseRate extends ModelMaker {
  readonly name = "base rate";
  readonly #counts = new Map<string, { held: number; boxes: number }>();

  observe(): void {}

  probability(_box: TrialBox, kind: TrialKind): number {
    const { held, boxes } = this.#countOf(kind);
    return (held + 1) / (boxes + 2);
  }

  settle(kind: TrialKind, _offer: Offer | undefined, held: boolean): void {
    const count = this.#countOf(kind);
    count.boxes += 1;
    if (held) count.held += 1;
  }

  #countOf({ durationMs, width }: TrialKind) {
    const key = `${durationMs} ${width}`;
    return this.#counts.getOrInsertComputed(key, () => ({ held: 0, boxes: 0 }));
  }
}
