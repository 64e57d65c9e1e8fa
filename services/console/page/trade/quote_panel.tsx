import { useEffect } from "preact/hooks";
import type { Quote } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { Fact, Signed } from "../parts/parts.tsx";
import { gainOf, isDecided, outcomeDetail } from "../data/outcome.ts";
import {
  exactDurationText,
  formatAmount,
  formatCents,
  formatGain,
  formatRange,
  formatUsdc,
} from "../parts/format.ts";
import { useNow } from "../parts/hooks.ts";
import type { BetSlip } from "./bet_slip.ts";
import { repeatBet, showChart } from "./box_actions.ts";
import { runText, SIGNS, stateOfBet } from "./chart_boxes.ts";
import { quoteStepOf } from "./next_step.ts";
import { windowText } from "./quote_life.ts";
import {
  breakEvenOf,
  chanceText,
  multiplierOf,
  type Priced,
  repricedText,
  warningOf,
} from "../data/odds.ts";
import type { LiveStage, PlacedStage } from "./stage.ts";

/** The least payout that a change of the odds may leave: a bet never pays less than its stake. */
export function leastOf(
  { payout, betAmount }: Pick<Priced, "payout" | "betAmount">,
  tolerancePercent: number,
): bigint {
  const least = payout * BigInt(100 - tolerancePercent) / 100n;
  return least > betAmount ? least : betAmount;
}

/**
 * What a bet pays, beside the button of the next step.
 *
 * @param props With `least`, what the bet pays at least, if the odds change until it is placed.
 */
export function Payout({ offered, least }: { offered: Priced | undefined; least?: bigint }) {
  return (
    <p class="payout" id="payout">
      <span class="note">You get</span>{" "}
      <strong
        class={offered && "figure"}
        title={offered && formatUsdc(offered.payout)}
        data-payout={offered?.payout.toString()}
      >
        {offered ? formatCents(offered.payout) : NONE}
      </strong>
      {offered && " "}
      {offered && (
        <span class="note">
          USDC{least !== undefined && least < offered.payout &&
            `, at least ${formatCents(least)}`}
        </span>
      )}
    </p>
  );
}

/**
 * The other terms of a bet, before and while it is signed.
 *
 * @param props With `betAmount`, the stake, once it is no longer in a field.
 */
export function Terms({ offered, betAmount }: { offered: Priced | undefined; betAmount?: bigint }) {
  const { probability } = offered ?? {};
  return (
    <dl class="terms" id="terms">
      {betAmount !== undefined && <Fact label="You bet">{formatAmount(betAmount)}</Fact>}
      <Fact label="Odds">{offered ? multiplierOf(offered) : NONE}</Fact>
      <Fact label="Chance">{probability === undefined ? NONE : chanceText(probability)}</Fact>
      <Fact label="Break-even">{offered ? breakEvenOf(offered) : NONE}</Fact>
    </dl>
  );
}

/**
 * The box of a bet, before and while it is open.
 *
 * @param props With `isOver`, the window is not named: that of a new quote is later.
 */
function Range({ symbol, quote, isOver }: { symbol: string; quote: Quote; isOver?: boolean }) {
  return (
    <dl class="facts" id="range">
      <Fact label={`${symbol} stays in`}>{formatRange(quote)}</Fact>
      {isOver
        ? <Fact label="Lasts">{exactDurationText(quote.endTime - quote.startTime)}</Fact>
        : <Fact label="From">{windowText(quote)}</Fact>}
    </dl>
  );
}

/** Nothing to speak. */
const NONE = <span aria-hidden="true">–</span>;

interface QuoteProps<ItsStage> {
  model: PageModel;
  slip: BetSlip;
  stage: ItsStage;
}

/** A quote: its terms, its remaining time, and the button that signs it. */
export function LiveQuote({ model, slip, stage }: QuoteProps<LiveStage>) {
  const nowMs = useNow(model.serverClock, 250);
  const { quote, quoteHash, probability } = stage.offer;
  const first = stage.name === "quoted" ? stage.offer : stage.first;
  const symbol = slip.symbol.value;
  const user = model.session.user.value;
  const bets = user?.portfolio.bets.unresolved.value ?? [];
  const { button, note, deadline, look, action, back } = quoteStepOf({
    stage,
    isDevelopmentKey: user !== undefined && user.wallet === undefined,
    onItsWay: bets.find(({ offer }) => offer.quoteHash === quoteHash) ?? bets[0],
    balance: user?.portfolio.account.value?.balance,
    isAway: model.feed.isAway.value,
    price: model.feed.latest.value[symbol]?.price,
  }, nowMs);
  const isOver = look === "failure"; // its terms are no longer available
  const offered = { ...quote, probability };
  const warning = warningOf(offered, model.maker.info.value?.config.maxPayoutRatio);
  return (
    <div class="action-bar">
      <Range symbol={symbol} quote={quote} isOver={action === "renew"} />
      <div class={`bar-note ${look ?? "note"}`} id="bar-note">
        <p>{note}</p> <p class="deadline">{deadline}</p>
      </div>
      <Terms offered={isOver ? undefined : offered} betAmount={quote.betAmount} />
      {warning && <p class="note">{warning}</p>}
      <div class="next">
        <Payout
          offered={isOver ? undefined : offered}
          least={leastOf(first.quote, slip.tolerancePercent.value)}
        />
        <button
          type="button"
          class="primary wide"
          data-next
          // One button for all steps. It is never `disabled`, so that it keeps the focus.
          aria-disabled={action === undefined}
          aria-describedby={action === "sign" ? "payout terms range" : "bar-note"}
          data-unread={slip.lock.isLocked.value}
          onKeyDown={({ key, repeat }) => {
            if (key === "Enter" && repeat && action === "sign") slip.press({ isHeld: true });
          }}
          onClick={() => {
            if (action === "renew") void slip.quote();
            else if (action === "sign") slip.press();
          }}
        >
          {button}
        </button>
        {back && (
          <button
            type="button"
            title="Drops the quote. The box stays."
            onClick={() => slip.back()}
          >
            {back}
          </button>
        )}
      </div>
    </div>
  );
}

/** The bet that was just placed, before and after its settlement. */
export function PlacedBet({ model, slip, stage }: QuoteProps<PlacedStage>) {
  const { thesisId, signedFirst, offer, offer: { quote } } = stage;
  const symbol = model.markets.find(quote.base, quote.quote)?.symbol ?? "the price";
  // Once the node has reported it. A chain that is restored may give the id to another bet.
  const bet = model.bets.find(({ quoteHash }) => quoteHash === offer.quoteHash);
  const isOver = bet !== undefined && isDecided(bet);
  const nowMs = useNow(model.serverClock, 250);
  useEffect(showChart, []); // the user now watches the box
  const isAway = model.feed.isAway.value;
  const { kind, text: state } = bet ? stateOfBet(bet, nowMs, isAway) : { kind: "open" as const };
  const [figure, text] = isOver
    ? [`${formatGain(gainOf(bet))} USDC`, `${kind}. ${outcomeDetail(bet)}`]
    : [
      kind === "open" ? runText(quote, nowMs, isAway) : state,
      `is placed. It pays ${formatCents(quote.payout)} USDC if ${symbol} stays in the box, ` +
      `from ${windowText(quote)}.`,
    ];
  return (
    <div class="action-bar">
      <div data-outcome={thesisId}>
        <strong class={`figure ${kind}`}>
          <Signed sign={SIGNS[kind]} text={figure} />
        </strong>
        <p>Bet {thesisId} {text}</p>
      </div>
      <div class="bar-note note">
        {signedFirst && !isOver && <p>{repricedText(signedFirst, offer)}</p>}
      </div>
      <Range symbol={symbol} quote={quote} />
      <Terms offered={{ ...quote, probability: offer.probability }} betAmount={quote.betAmount} />
      <div class="next">
        <button type="button" class="primary wide" data-next onClick={() => slip.back()}>
          Make another bet
        </button>
        {bet && <button type="button" onClick={() => repeatBet(model, slip, bet)}>Repeat</button>}
      </div>
    </div>
  );
}
