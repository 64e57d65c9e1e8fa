/** Results of a maker's bets, computed from the theses alone. */
import type { Thesis } from "@rangemaker/client";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { gainOf, isDecided } from "./live_breaches.ts";

/** Results of a set of bets from the maker's side. */
export interface Results {
  open: number;
  /** The maker's loss if all open bets are won by their users. */
  atRisk: bigint;
  settled: number;
  /** Number of settled bets that users won, because the price stayed in the box. */
  held: number;
  /** Of settled bets. */
  stakes: bigint;
  /** Gains minus losses on settled bets. */
  profit: bigint;
}

/** The maker's gain from a settled bet. */
export const makerGainOf = (thesis: Thesis) => isDecided(thesis) ? -gainOf(thesis) : 0n;

/** Sums up bets. */
export function resultsOf(theses: readonly Thesis[]): Results {
  const open = theses.filter((thesis) => !isDecided(thesis));
  const settled = theses.filter(isDecided);
  return {
    open: open.length,
    atRisk: sumOf(open, riskOf),
    settled: settled.length,
    held: settled.filter(({ status }) => status === "won").length,
    stakes: sumOf(settled, ({ betAmount }) => betAmount),
    profit: sumOf(settled, makerGainOf),
  };
}

function sumOf(theses: readonly Thesis[], part: (thesis: Thesis) => bigint): bigint {
  return theses.reduce((sum, thesis) => sum + part(thesis), 0n);
}
