/** The button that requests a quote, and the reason why it is disabled or has failed. */
import type { RenderableProps } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { formatCents } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { firstError, isSameBet } from "./draft.ts";
import {
  fieldErrorsOf,
  isFix,
  type Obstacle,
  obstacleOf,
  type Situation,
  unpriceableBy,
} from "./next_step.ts";
import { refusalWarning, warningOf, withChance } from "./odds.ts";
import { leastOf, Terms } from "./terms.tsx";

/** The present obstacle to a quote; undefined if there is none. */
export function obstacleNow(model: PageModel, slip: BetSlip): Obstacle | undefined {
  return obstacleOf(situationOf(model, slip));
}

/** Collects the facts that decide whether a quote can be requested. */
export function situationOf(model: PageModel, slip: BetSlip): Situation {
  const { session, config, nodeChainId, maker } = model;
  const user = session.user.value;
  const parsed = slip.parsed.value;
  const estimate = slip.estimator.state.value;
  const limits = maker.info.value?.config;
  return {
    market: model.stateOf(slip.symbol.value),
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
export function estimateNow(model: PageModel, slip: BetSlip) {
  const { symbol, parsed, estimator } = slip;
  const state = estimator.state.value;
  if (state === undefined || "failure" in state) return undefined;
  if (firstError(fieldErrorsOf(situationOf(model, slip))) !== undefined) return undefined;
  // During a drag, the estimate is a moment behind, so only the amount must match.
  const hasSameStake = state.bet.betAmount === parsed.value.betAmount;
  return hasSameStake && model.stateOf(symbol.value) === "fresh" ? state.estimate : undefined;
}

/** The button for a quote, after the present obstacle, the terms, and the field of the amount. */
export function QuoteButton(
  { model, slip, children }: RenderableProps<{ model: PageModel; slip: BetSlip }>,
) {
  const stage = slip.stage.value;
  const isQuoting = stage.name === "quoting";
  const obstacle = obstacleNow(model, slip);
  const isFixing = obstacle !== undefined && isFix(obstacle);
  const bet = slip.estimator.state.value?.bet;
  const before = useRef({ isFixing, bet });
  useLayoutEffect(() => {
    const { isFixing: wasFixing, bet: last } = before.current;
    before.current = { isFixing, bet };
    // The price has changed what the button does, and a finger may be on its way.
    if (isFixing !== wasFixing && bet && last && isSameBet(bet, last)) slip.lock.begin();
  });
  const estimate = estimateNow(model, slip);
  const warning = estimate && warningOf(estimate, model.maker.info.value?.config.maxPayoutRatio);
  const { value: tolerancePercent } = slip.tolerancePercent;
  const refusal = estimate && refusalWarning(estimate, tolerancePercent);
  // The obstacle is also why there is no quote.
  const failed = stage.name === "draft" && (stage.isSigned || !obstacle?.text) && stage.failure;
  return (
    <>
      <div class="bar-note note" id="bar-note">
        {failed && <p class="warned">{failed}</p>}
        {warning && <p class="warned">{warning}</p>}
        {refusal && <p class="warned">{refusal}</p>}
        {/* A wrong field has its error below it. */}
        {obstacle?.text && !obstacle.field && <p>{obstacle.text}</p>}
      </div>
      {!slip.isEmpty && (
        <Terms offered={estimate} least={estimate && leastOf(estimate, tolerancePercent)} />
      )}
      <div class="next">
        {estimate && (
          <p class="sum" aria-hidden="true">
            Get {formatCents(estimate.payout)} USDC{withChance(estimate)}
          </p>
        )}
        {children}
        <button
          type="submit"
          class="primary wide"
          data-next
          // Not `disabled`, so that the keyboard reaches it and screen readers read the reason.
          aria-disabled={isQuoting || obstacle !== undefined && !obstacle.action}
          aria-describedby="bar-note"
          data-unread={slip.lock.isLocked.value}
        >
          {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a quote"}
        </button>
      </div>
    </>
  );
}

/** Switches the wallet to the chain of the bets. */
export function switchChain({ session, config, announce }: PageModel): void {
  const user = session.user.value;
  user?.client.switchChain().then(
    () => {
      user.walletChainId.value = config.chainId;
      announce("The wallet is on the right chain now.");
    },
    (thrown) => announce(explain(thrown).text),
  );
}
