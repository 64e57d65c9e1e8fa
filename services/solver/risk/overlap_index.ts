import { type Bet, type BetAtRisk, riskOf } from "../../../lib/protocol/bet.ts";
import { marketKey } from "../../../lib/protocol/markets.ts";

/** A box and its risk, as numbers: a scan of bigints would take several times as long. */
interface BoxWithRisk {
  startTime: number;
  endTime: number;
  lower: number;
  upper: number;
  risk: number;
}

/**
 * Bets by market, to find the risk in the direction of another bet. A bet is added and removed in
 * constant time; a query scans the bets of one market.
 */
export class OverlapIndex {
  readonly #markets = new Map<string, Map<string, BoxWithRisk>>();

  add(quoteHash: string, bet: BetAtRisk): void {
    const boxes = this.#markets.getOrInsertComputed(marketKey(bet), () => new Map());
    boxes.set(quoteHash, { ...boxOf(bet), risk: Number(riskOf(bet)) });
  }

  /** Removes a bet. Does nothing if it is not there. */
  delete(quoteHash: string, bet: Bet): void {
    this.#markets.get(marketKey(bet))?.delete(quoteHash);
  }

  /**
   * Risk of all bets that tend to win together with a bet, USDC with 6 decimals. Each counts in
   * proportion to the overlap of the ranges times the overlap of the remaining windows, where an
   * overlap is the common part as a share of the smaller one. So a bet counts in full if one box
   * lies inside the other, and not at all if they have no price or no time in common.
   */
  correlatedRisk(bet: Bet, nowMs: number): number {
    const { startTime, endTime, lower, upper } = boxOf(bet);
    const start = Math.max(startTime, nowMs);
    let sum = 0;
    for (const other of this.#markets.get(marketKey(bet))?.values() ?? []) {
      const otherStart = Math.max(other.startTime, nowMs);
      const sharedMs = Math.min(endTime, other.endTime) - Math.max(start, otherStart);
      if (sharedMs <= 0) continue;
      const sharedWidth = Math.min(upper, other.upper) - Math.max(lower, other.lower);
      if (sharedWidth <= 0) continue;
      const smallerMs = Math.min(endTime - start, other.endTime - otherStart);
      const smallerWidth = Math.min(upper - lower, other.upper - other.lower);
      sum += other.risk * (sharedMs / smallerMs) * (sharedWidth / smallerWidth);
    }
    return sum;
  }
}

function boxOf(
  { startTime, endTime, lowerPrice, upperPrice }: Bet,
): Omit<BoxWithRisk, "risk"> {
  // Both bounds belong to the range.
  return { startTime, endTime, lower: Number(lowerPrice), upper: Number(upperPrice) + 1 };
}
