/**
 * A strategy of the tests: its probability rises with the width of the box, whatever the market
 * does.
 */
import type { Bet } from "../../lib/protocol/bet.ts";
import {
  PricingRefusedError,
  type StrategyFactory,
} from "../../services/solver/pricing/strategy.ts";

/** A box is refused if its upper bound is this many times its lower one: no price leaves it. */
const WIDTH_MAX = 8;

/** Of the payout at a fair price. */
const SHARE = 0.97;

function probabilityOf({ lowerPrice, upperPrice }: Bet): number {
  const width = Number(upperPrice - lowerPrice) / Number(lowerPrice);
  return Math.min(0.95, 0.35 + 150 * width);
}

const create: StrategyFactory = ({ market }) => ({
  name: "by-width",
  price(bet) {
    const spot = market(bet).spot?.price ?? 0n;
    if (spot < bet.lowerPrice || spot > bet.upperPrice) {
      throw new PricingRefusedError("OUTSIDE_RANGE", "The price is outside the range");
    }
    if (Number(bet.upperPrice) > WIDTH_MAX * Number(bet.lowerPrice)) {
      throw new PricingRefusedError("PAYOUT_TOO_LOW", "The price cannot leave the range");
    }
    const probability = probabilityOf(bet);
    const multiplier = Math.max(1.01, SHARE / probability);
    return {
      payout: BigInt(Math.round(Number(bet.betAmount) * multiplier)),
      details: {
        probability,
        chargedProbability: probability,
        volatility: 0,
        volatilitySpread: 0,
        stillShare: 0,
        spotAgeMs: 0,
        margin: 0,
        skew: 0,
        spot: spot.toString(),
      },
    };
  },
  recheck() {},
});

export default create;
