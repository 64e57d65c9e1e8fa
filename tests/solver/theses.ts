import type { Hex } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { market, solver, user } from "./support.ts";

/** A thesis of the solver, its quote hash made of its id. */
export function thesisOf(id: number, given: Partial<Thesis> = {}): Thesis {
  return {
    id,
    user: user.address,
    solver: solver.address,
    thesisType: "box",
    base: market.base,
    quote: market.quote,
    lowerPrice: 1n,
    upperPrice: 2n,
    betAmount: 100n,
    payout: 110n,
    startTime: 5,
    endTime: 6,
    createdAt: 7,
    quoteHash: quoteHashOf(id),
    txHash: `0x${"cd".repeat(32)}`,
    status: "open",
    ...given,
  };
}

/** What a bet of the test user with this much at risk takes from the balances. */
export function stakeOf(risk: bigint) {
  return { user: user.address, betAmount: 100n, payout: 100n + risk };
}

/** The quote hash of {@link thesisOf}. */
export function quoteHashOf(id: number): Hex {
  return `0x${id.toString(16).padStart(64, "0")}`;
}
