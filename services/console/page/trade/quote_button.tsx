/** The way from a box to its quote: the button, and why it cannot be pressed or has failed. */
import { explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { formatAmount } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { type Obstacle, obstacleOf, type Situation } from "./next_step.ts";
import { oddsOf } from "./odds.ts";
import { chancesText } from "./slip_voice.ts";
import { failureText } from "./stage.ts";

interface QuoteButtonProps {
  model: PageModel;
  slip: BetSlip;
  /** Draws the box around the price. @param keepsHeight As far as a maker takes it. */
  onFix(keepsHeight: boolean): void;
}

/** What has to be done before a quote is asked for; undefined if nothing. */
export function obstacleNow(model: PageModel, slip: BetSlip): Obstacle | undefined {
  return obstacleOf(situationOf(model, slip));
}

/** What decides whether a quote can be asked for. */
export function situationOf(model: PageModel, slip: BetSlip): Situation {
  const { session, config, nodeChainId, maker } = model;
  const user = session.user.value;
  const parsed = slip.parsed.value;
  const symbol = slip.symbol.value;
  const estimate = slip.estimator.state.value;
  const [unresolved] = user?.portfolio.bets.unresolved.value ?? [];
  return {
    symbol,
    market: model.stateOf(symbol),
    chainId: config.chainId,
    nodeChainId: nodeChainId.value,
    hasUser: user !== undefined,
    walletChainId: user?.walletChainId.value,
    balance: user?.portfolio.account.value?.balance,
    onItsWay: unresolved && {
      deadline: unresolved.offer.quote.deadline,
      isChecking: unresolved.isChecking,
    },
    isEmpty: slip.isEmpty,
    parsed,
    unpriceable: estimate && "failure" in estimate ? explain(estimate.failure) : undefined,
    limits: maker.info.value?.config,
  };
}

/** What the box pays, if that is of the box and amount as they are now, and of a fresh price. */
export function estimateNow(model: PageModel, { symbol, parsed, estimator }: BetSlip) {
  const state = estimator.state.value;
  if (state === undefined || "failure" in state || "errors" in parsed.value) return undefined;
  // A drag is ahead of its estimate by a moment; another amount is another bet.
  const hasSameStake = state.bet.betAmount === parsed.value.betAmount;
  return hasSameStake && model.stateOf(symbol.value) === "fresh" ? state.estimate : undefined;
}

/** The button for a quote, and what keeps the user from it. */
export function QuoteButton({ model, slip, onFix }: QuoteButtonProps) {
  const stage = slip.stage.value;
  const isQuoting = stage.name === "quoting";
  const obstacle = obstacleNow(model, slip);
  if (obstacle?.switchesChain) return <SwitchChain model={model} obstacle={obstacle} />;
  const state = slip.estimator.state.value;
  const estimate = estimateNow(model, slip);
  const odds = estimate && oddsOf(estimate, model.maker.info.value?.config.maxPayoutRatio);
  // The slip says it aloud.
  const failure = stage.name === "draft" && stage.failure;
  const failed = failure
    ? failureText(failure, state, obstacle?.text ?? "", model.isOffline.value)
    : "";
  return (
    <>
      {!("errors" in slip.parsed.value) && (
        <p class="bar-payout">
          pays <strong>{odds ? `${formatAmount(estimate.payout)} USDC` : "–"}</strong>
          {odds && ` (${odds.multiplier})${chancesText(odds)}`.replaceAll(" %", "\u00a0%")}
        </p>
      )}
      {failed !== "" && <p class="warned bar-failure">{failed}</p>}
      <button
        type="submit"
        class="primary wide"
        data-next
        // Within reach of the keyboard, so that it can say why it waits.
        aria-disabled={isQuoting || obstacle !== undefined && !obstacle.suggests}
        aria-describedby="obstacle"
      >
        {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a firm quote"}
      </button>
      <div class="bar-note">
        <p class={odds?.warning ? "warned" : "note"} id="obstacle">
          {obstacle?.text ?? odds?.warning}
        </p>
        {obstacle?.fix && (
          <button type="button" onClick={() => onFix(obstacle.fix === "move")}>
            {obstacle.fix === "move" ? "Move the box to the price" : "Fit its height"}
          </button>
        )}
      </div>
    </>
  );
}

/** Brings the wallet to the chain of the bets. */
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
      <button type="button" class="primary wide" data-next onClick={change}>
        {obstacle.button}
      </button>
      <p class="bar-note note">{obstacle.text}</p>
    </>
  );
}
