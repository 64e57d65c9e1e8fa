/**
 * A pricing strategy of your own. Try it on recorded prices, then quote with it:
 *
 *     deno task backtest --tape trades.csv --strategy docs/examples/strategy.ts
 *     SOLVER_PRIVATE_KEY=0x… deno task solver --pricing docs/examples/strategy.ts
 *
 * It shows how a strategy is written, not how to earn: it has no model of the probability.
 */
import type { StrategyFactory } from "../../services/solver/pricing/strategy.ts";
import type { Bet } from "../../lib/protocol/bet.ts";

/** Paid on top of the bet where the nearer bound is one standard deviation away. */
const EXTRA_PER_DEVIATION = 0.5;

/** A bet pays at most ten times itself. */
const EXTRA_MAX = 9;

/**
 * A quote is executed while its payout differs from that of a new quote by less than this share: the
 * payout falls with the time that is left, even if the price stands still.
 */
const TOLERANCE = 0.025;

const YEAR_MS = 365 * 86_400_000;

const create: StrategyFactory = ({ version, clock, market, refuse }) => {
  if (version !== 1) throw new Error(`Expected strategies of version 1: received ${version}`);

  function payoutOf(bet: Bet): bigint {
    const { spot, volatility } = market(bet);
    if (!spot?.fresh) return refuse("PRICE_UNAVAILABLE", "There is no fresh price");
    const forecast = volatility.forecast(clock.now(), bet.endTime);
    if (!forecast) return refuse("VOLATILITY_UNAVAILABLE", "There is too little price history");
    const room = Math.min(Number(bet.upperPrice - spot.price), Number(spot.price - bet.lowerPrice));
    if (room <= 0) return refuse("OUTSIDE_RANGE", "The price is outside the range");
    const years = (bet.endTime - clock.now()) / YEAR_MS;
    const deviation = Number(spot.price) * forecast.volatility * Math.sqrt(Math.max(0, years));
    const extra = Math.min(EXTRA_MAX, EXTRA_PER_DEVIATION * deviation / room);
    return bet.betAmount + BigInt(Math.floor(Number(bet.betAmount) * extra));
  }

  return {
    name: "nearer-bound",
    price: (bet) => ({ payout: payoutOf(bet) }),
    recheck(bet, payout) {
      const gain = Number(payout - payoutOf(bet)) / Number(payout);
      if (gain > TOLERANCE) refuse("PRICE_MOVED", "A new quote would pay less");
      if (gain < -TOLERANCE) refuse("PRICE_IMPROVED", "A new quote would pay more");
    },
  };
};

export default create;
