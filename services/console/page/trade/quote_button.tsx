/** The way from a box to its quote: the button, and why it cannot be pressed or has failed. */
import { explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { decimalsOf, formatAmount, toNumber } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { halfHeightOf, timesOf } from "./draft.ts";
import { type Obstacle, obstacleOf } from "./next_step.ts";
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
  const { session, config, nodeChainId, maker } = model;
  const user = session.user.value;
  const parsed = slip.parsed.value;
  const symbol = slip.symbol.value;
  const estimate = slip.estimator.state.value;
  const [unresolved] = user?.portfolio.bets.unresolved.value ?? [];
  return obstacleOf({
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
    limits: maker.value?.config,
  });
}

/** The height of a box that a maker takes now, from the price to each side. */
function suggestedHeight({ feed }: PageModel, slip: BetSlip): string {
  const symbol = slip.symbol.value;
  const price = toNumber(feed.latest.peek()[symbol]?.price ?? 0n);
  const { startsInMs, durationMs } = timesOf(slip.fields.value);
  const share = halfHeightOf(startsInMs + durationMs, feed.seriesOf(symbol).secondMove());
  return `± ${(price * share).toFixed(decimalsOf(price))}`;
}

/** The button for a quote, and what keeps the user from it. */
export function QuoteButton({ model, slip, onFix }: QuoteButtonProps) {
  const stage = slip.stage.value;
  const isQuoting = stage.name === "quoting";
  const obstacle = obstacleNow(model, slip);
  if (obstacle?.switchesChain) return <SwitchChain model={model} obstacle={obstacle} />;
  const state = slip.estimator.state.value;
  const isFresh = model.stateOf(slip.symbol.value) === "fresh";
  const parsed = slip.parsed.value;
  // A drag is ahead of its estimate by a moment; another amount is another bet.
  const isOfAmount = "betAmount" in parsed && state?.bet.betAmount === parsed.betAmount;
  const estimate = isFresh && isOfAmount && "estimate" in state ? state.estimate : undefined;
  const odds = estimate && oddsOf(estimate, model.maker.value?.config.maxPayoutRatio);
  // The slip says it aloud.
  const failure = stage.name === "draft" && stage.failure;
  const failed = failure ? failureText(failure, state, obstacle?.text ?? "") : "";
  return (
    <>
      {!("errors" in parsed) && (
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
            {obstacle.fix === "move"
              ? "Move the box to the price"
              : `Use ${suggestedHeight(model, slip)} around the price`}
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
