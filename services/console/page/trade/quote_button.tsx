/** The way from a box to its quote: the button, and why it cannot be pressed or has failed. */
import { explain, type Explanation } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { decimalsOf, formatAmount, toNumber } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { type Draft, halfHeightOf } from "./draft.ts";
import { durationText } from "./input.ts";
import { type Obstacle, obstacleOf } from "./next_step.ts";
import { oddsOf } from "./odds.ts";
import { chancesText } from "./slip_voice.ts";
import { failureText } from "./stage.ts";

interface QuoteButtonProps {
  model: PageModel;
  slip: BetSlip;
  /** Puts the box where the price is. */
  onMove(): void;
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
    unpriceable: estimate && "failure" in estimate
      ? withHeight(explain(estimate.failure), model, symbol, parsed.draft)
      : undefined,
    limits: maker.value?.config,
  });
}

/** Codes of boxes that another height would make priceable. */
const OF_HEIGHT: ReadonlySet<string> = new Set(["PAYOUT_TOO_LOW", "RANGE_TOO_NARROW"]);

/** Adds which height works now. */
function withHeight(
  { code, text }: Explanation,
  { feed }: PageModel,
  symbol: string,
  draft: Draft | undefined,
): Explanation {
  const price = OF_HEIGHT.has(code) ? feed.latest.value[symbol]?.price : undefined;
  if (price === undefined || draft === undefined) return { code, text };
  const { startsInMs, durationMs } = draft;
  const move = feed.seriesOf(symbol).secondMove();
  const half = toNumber(price) * halfHeightOf(startsInMs + durationMs, move);
  const height = `± ${half.toFixed(decimalsOf(toNumber(price)))}`;
  return { code, text: `${text} For ${durationText(durationMs)}, try ${height} now.` };
}

/** The button for a quote, and what keeps the user from it. */
export function QuoteButton({ model, slip, onMove }: QuoteButtonProps) {
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
        aria-disabled={isQuoting || obstacle !== undefined}
        aria-describedby="obstacle"
      >
        {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a firm quote"}
      </button>
      <div class="bar-note">
        <p class={odds?.warning ? "warned" : "note"} id="obstacle">
          {obstacle?.text ?? odds?.warning}
        </p>
        {obstacle?.movesBox && (
          <button type="button" onClick={onMove}>Move the box to the price</button>
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
