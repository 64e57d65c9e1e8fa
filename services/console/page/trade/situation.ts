import { explain } from "../data/explain.ts";
import { formatQuotePrice, toNumber } from "../parts/format.ts";
import type { BetSlip, TradeModel } from "./bet_slip.ts";
import { firstError } from "./draft.ts";
import {
  fieldErrorsOf,
  type Obstacle,
  obstacleOf,
  type Situation,
  unpriceableBy,
} from "./next_step.ts";

/** The present obstacle to a quote; undefined if there is none. */
export function obstacleNow(model: TradeModel, slip: BetSlip): Obstacle | undefined {
  return obstacleOf(situationOf(model, slip));
}

/** Collects the facts that decide whether a quote can be requested. */
export function situationOf(model: TradeModel, slip: BetSlip): Situation {
  const { session, config, nodeChainId, maker } = model;
  const user = session.user.value;
  const parsed = slip.parsed.value;
  const estimate = slip.estimator.state.value;
  const limits = maker.info.value?.config;
  return {
    market: model.feed.stateOf(slip.symbol.value),
    chainId: config.chainId,
    nodeChainId: nodeChainId.value,
    hasUser: user !== undefined,
    walletChainId: user?.walletChainId.value,
    balance: user?.portfolio.account.value?.balance,
    onItsWay: user?.portfolio.bets.unresolved.value[0],
    isEmpty: slip.isEmpty,
    parsed,
    unpriceable: estimate && unpriceableBy(estimate, maker.info.value),
    limits,
  };
}

/** The estimate for the present box and amount, if the price is fresh and they can be bet. */
export function estimateNow(model: TradeModel, slip: BetSlip) {
  const { symbol, parsed, estimator } = slip;
  const state = estimator.state.value;
  if (state === undefined || "failure" in state) return undefined;
  if (firstError(fieldErrorsOf(situationOf(model, slip))) !== undefined) return undefined;
  // During a drag, the estimate is a moment behind, so only the amount must match.
  const hasSameStake = state.bet.betAmount === parsed.value.betAmount;
  return hasSameStake && model.feed.stateOf(symbol.value) === "fresh" ? state.estimate : undefined;
}

/** Whether the newest price is out of date. */
export function isOld({ feed }: TradeModel, symbol: string): boolean {
  const state = feed.stateOf(symbol);
  return state === "stale" || state === "away";
}

/** The newest price of a market as text. */
export function priceText({ feed }: TradeModel, symbol: string): string {
  const price = feed.latest.value[symbol]?.price;
  return price === undefined ? "–" : formatQuotePrice(toNumber(price));
}

/** Switches the wallet to the chain of the bets. */
export function switchChain({ session, config, announce }: TradeModel): void {
  const user = session.user.value;
  user?.client.switchChain().then(
    () => {
      user.walletChainId.value = config.chainId;
      announce("The wallet is on the right chain now.");
    },
    (thrown) => announce(explain(thrown).text),
  );
}
