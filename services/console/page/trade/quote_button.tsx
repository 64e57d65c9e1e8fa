/** The button that requests a quote, and the reason why it is disabled or has failed. */
import type { RenderableProps } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { PageModel } from "../data/page_model.ts";
import { formatCents } from "../parts/format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { isSameBet } from "./draft.ts";
import { isFix } from "./next_step.ts";
import { refusalWarning, warningOf, withChance } from "./odds.ts";
import { estimateNow, obstacleNow } from "./situation.ts";
import { leastOf, Terms } from "./terms.tsx";

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
