/** The button that requests a quote, and the reason why it is disabled or has failed. */
import type { RenderableProps } from "preact";
import { explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { Marked } from "../words.tsx";
import type { BetSlip } from "./bet_slip.ts";
import { firstError } from "./draft.ts";
import {
  errorsOf,
  FIX_BUTTONS,
  type Obstacle,
  obstacleOf,
  type Situation,
  unpriceableBy,
} from "./next_step.ts";
import { oddsOf, paysText } from "./odds.ts";

interface QuoteButtonProps {
  model: PageModel;
  slip: BetSlip;
  /**
   * Draws the box around the price.
   *
   * @param keepsHeight Keeps its height.
   */
  onFix(keepsHeight: boolean): void;
}

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
  const market = model.stateOf(slip.symbol.value);
  return {
    market,
    chainId: config.chainId,
    nodeChainId: nodeChainId.value,
    hasUser: user !== undefined,
    walletChainId: user?.walletChainId.value,
    balance: user?.portfolio.account.value?.balance,
    onItsWay: user?.portfolio.bets.unresolved.value[0],
    isEmpty: slip.isEmpty,
    parsed,
    // Otherwise, the chart says why nothing can be bet.
    unpriceable: market === "fresh" && estimate
      ? unpriceableBy(estimate, maker.info.value)
      : undefined,
    limits,
  };
}

/** The estimate for the present box and amount, if the price is fresh and they can be bet. */
export function estimateNow(model: PageModel, slip: BetSlip) {
  const { symbol, parsed, estimator } = slip;
  const state = estimator.state.value;
  if (state === undefined || "failure" in state || "errors" in parsed.value) return undefined;
  if (firstError(errorsOf(situationOf(model, slip))) !== undefined) return undefined;
  // During a drag, the estimate is a moment behind, so only the amount must match.
  const hasSameStake = state.bet.betAmount === parsed.value.betAmount;
  return hasSameStake && model.stateOf(symbol.value) === "fresh" ? state.estimate : undefined;
}

/** The button for a quote, after the present obstacle, the payout, and the field of the amount. */
export function QuoteButton({ model, slip, onFix, children }: RenderableProps<QuoteButtonProps>) {
  const stage = slip.stage.value;
  const isQuoting = stage.name === "quoting";
  const situation = situationOf(model, slip);
  const obstacle = obstacleOf(situation);
  if (obstacle?.switchesChain) {
    return (
      <>
        {children}
        <SwitchChain model={model} obstacle={obstacle} />
      </>
    );
  }
  const estimate = estimateNow(model, slip);
  const odds = estimate && oddsOf(estimate, model.maker.info.value?.config.maxPayoutRatio);
  // The bet slip has announced the failure already.
  const failed = stage.name === "draft" ? stage.failure ?? "" : "";
  const { unpriceable } = situation;
  const unpaid = !obstacle?.field &&
    (unpriceable && unpriceable.text !== obstacle?.text ? unpriceable.text : "pays –");
  return (
    <>
      <div class="bar-note">
        {obstacle && odds?.warning && <p class="warned">{odds.warning}</p>}
        <p
          class={obstacle?.field
            ? "failure"
            : !obstacle && odds?.warning && failed === ""
            ? "warned"
            : "note"}
          id="obstacle"
        >
          {obstacle?.text ?? odds?.warning}
        </p>
        {obstacle?.fix && (
          <button
            type="button"
            title="Key M on the chart"
            onClick={() => onFix(obstacle.fix === "move")}
          >
            {FIX_BUTTONS[obstacle.fix]}
          </button>
        )}
      </div>
      {failed !== "" && <p class="warned bar-failure">{failed}</p>}
      {!("errors" in slip.parsed.value) && (odds || unpaid) && (
        <p class="bar-payout">
          {odds ? <Marked text={paysText(estimate)} /> : unpaid}
        </p>
      )}
      {children}
      <button
        type="submit"
        class="primary wide"
        data-next
        // Not `disabled`, so that the keyboard reaches it and screen readers read the reason.
        aria-disabled={isQuoting || obstacle !== undefined && !obstacle.suggests}
        aria-describedby="obstacle"
      >
        {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a quote"}
      </button>
    </>
  );
}

/** Switches the wallet to the chain of the bets. */
export function SwitchChain({ model, obstacle }: { model: PageModel; obstacle: Obstacle }) {
  const user = model.session.user.value;
  const change = () => {
    user?.client.switchChain().then(
      () => {
        user.walletChainId.value = model.config.chainId;
        model.announce("The wallet is on the right chain now.");
      },
      (thrown) => model.announce(explain(thrown).text),
    );
  };
  return (
    <>
      <p class="bar-note note">{obstacle.text}</p>
      <button type="button" class="primary wide" data-next onClick={change}>
        {obstacle.button}
      </button>
    </>
  );
}
