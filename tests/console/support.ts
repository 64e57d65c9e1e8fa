/** Offers and theses that a test makes up, without a signature that anybody checks, and a store. */
import type { Bet, Estimate, Offer, Thesis } from "../../lib/client/mod.ts";
import type { TextStore } from "../../services/console/page/data/wallets.ts";

export const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
export const OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
export const SIGNATURE = `0x${"1a".repeat(64)}1b` as const;

/** A hash that differs by its number. */
export const hashOf = (n: number | bigint): `0x${string}` =>
  `0x${n.toString(16).padStart(64, "0")}`;

/** An offer whose hash has a number. */
export function offerOf(n: number, terms: Partial<Offer["quote"]> = {}): Offer {
  return {
    quote: {
      user: USER,
      solver: OTHER,
      base: OTHER,
      quote: OTHER,
      thesisType: "box",
      lowerPrice: 1n,
      upperPrice: 2n,
      betAmount: 10n,
      payout: 25n,
      startTime: 0,
      endTime: 1_000,
      deadline: 5_000,
      signature: SIGNATURE,
      ...terms,
    },
    quoteHash: hashOf(n),
  };
}

/** The thesis of the offer with a number. */
export function thesisOf(n: number, terms: Partial<Thesis> = {}): Thesis {
  const { quote: { deadline: _, signature: __, ...quote }, quoteHash } = offerOf(n);
  const state = { id: n, status: "open", createdAt: 0, txHash: quoteHash } as const;
  return { ...quote, ...state, quoteHash, ...terms };
}

/** An open bet with a window of one second, on prices from 10 to 20. */
export const openBet = thesisOf(1, {
  lowerPrice: 10_000_000n,
  upperPrice: 20_000_000n,
  startTime: 1_000,
  endTime: 2_000,
  betAmount: 10n,
  payout: 25n,
});

const breach = { time: 500, price: 3_000_000n };

/** Bets newest first: one that left its box and is not settled, a lost, a won and an open one. */
export const betsOfEveryOutcome = [
  thesisOf(4, { breach }),
  thesisOf(3, { status: "lost", breach }),
  thesisOf(2, { status: "won" }),
  thesisOf(1),
];

/** A bet of 10 USDC. */
export const BET: Bet = {
  symbol: "ETH/USDT",
  lowerPrice: 2_990_000_000n,
  upperPrice: 3_010_000_000n,
  betAmount: 10_000_000n,
  startTime: 1_008_000,
  endTime: 1_023_000,
  deadline: 1_030_000,
};

export const estimateOf = (betAmount: bigint, payout: bigint): Estimate => ({
  betAmount,
  payout,
  multiplier: (Number(payout) / Number(betAmount)).toFixed(4),
  solverCollateral: payout - betAmount,
});

/** What a browser keeps, in memory. */
export function memoryStore(): TextStore & { texts: Map<string, string> } {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
  };
}
