/** The next step of a quote: one button and one sentence for each state. */
import type { Quote } from "@rangemaker/client";
import type { UnresolvedBet } from "../data/bet_keeper.ts";
import { formatAmount, formatCut, formatTime } from "../format.ts";
import { isOutside, outsideText, overText, signableMs, windowText } from "./quote_life.ts";
import { isWorthless } from "./odds.ts";
import { changesOf, isWorse } from "./slip_voice.ts";
import type { LiveStage, QuotedStage } from "./stage.ts";

/** All facts that decide the next step of a quote. */
export interface QuoteSituation {
  stage: LiveStage;
  /** A key of this browser signs without a prompt. */
  isDevelopmentKey: boolean;
  /** A signed bet whose outcome is not known: this one, or another. */
  onItsWay: Pick<UnresolvedBet, "isChecking"> | undefined;
  /** Undefined before the node has answered. */
  balance: bigint | undefined;
  isOffline: boolean;
  /** The newest price, if there is one. */
  price: bigint | undefined;
  /** The price has been outside the box since the window began. */
  hasLeft: boolean;
}

export interface QuoteStep {
  button: string;
  note?: string;
  /** By when to sign: never cut off, unlike a long note. */
  deadline?: string;
  /** Style of the note. After a failure, the quote is over. */
  look?: "warned" | "failure";
  /** Action of the button; if absent, the button waits. */
  action?: "sign" | "renew";
  /** Text of the button that returns to the box. */
  back?: string;
}

export const CHECKING = "Outcome unknown, checking …";
export const OTHER_TAB = "Your other tab is placing a bet …";
/** The disabled button while the chart shows why there are no bets. */
export const WAITING = "Waiting for live prices";
const SIGN = "Sign and place the bet";
const BACK = "Change the box";

export function quoteStepOf(situation: QuoteSituation, nowMs: number): QuoteStep {
  const { stage, isDevelopmentKey, onItsWay, balance, isOffline } = situation;
  if (stage.name === "sending") {
    if (!onItsWay?.isChecking) return { button: "Placing the bet …" };
    const note =
      "The answer is missing. The same signed bet is sent again: it is placed once, or not. " +
      `That is known shortly after ${formatTime(stage.offer.quote.deadline)} at the latest.`;
    return { button: CHECKING, note };
  }
  if (stage.name === "signing") {
    const note = stage.isAgain
      ? "The odds changed, within what you accept: one more signature."
      : "";
    const { quote } = stage.offer;
    const deadline = signableMs(quote, nowMs) > 0
      ? windowText(quote, nowMs)
      : overText(quote, nowMs);
    if (isDevelopmentKey) return { button: "Signing …", note, deadline };
    return { button: "Sign in your wallet …", note, deadline, back: "Cancel" };
  }
  if (onItsWay?.isChecking) {
    return { button: CHECKING, note: "Another signed bet is on its way." };
  }
  if (onItsWay) return { button: OTHER_TAB, note: "This quote waits for it.", back: BACK };
  const { quote } = stage.offer;
  if (balance !== undefined && quote.betAmount > balance) {
    const note = `Your balance is ${formatCut(balance)} USDC now: bet less.`;
    return { button: SIGN, note, look: "failure", back: BACK };
  }
  if (signableMs(quote, nowMs) > 0 && isOffline) {
    return { button: WAITING, note: "", back: BACK };
  }
  const over = overReason(situation, quote, nowMs);
  if (over !== undefined) {
    const note = `${over} The window of a new quote starts later.`;
    return { button: "Ask for a new quote", note, look: "failure", action: "renew", back: BACK };
  }
  return { ...signStep(situation, stage, nowMs), back: BACK };
}

/** Why a quote can no longer become a bet; undefined while it can. */
function overReason({ price, hasLeft }: QuoteSituation, quote: Quote, nowMs: number) {
  if (signableMs(quote, nowMs) === 0) return overText(quote, nowMs);
  const isOut = price !== undefined && isOutside(quote, price) && nowMs >= quote.startTime;
  if (hasLeft || isOut) return "The price has left the box: nothing can be placed.";
  return isWorthless(quote) ? "It would win almost nothing." : undefined;
}

/** The step of a live quote. */
function signStep({ price }: QuoteSituation, stage: QuotedStage, nowMs: number): QuoteStep {
  const { quote } = stage.offer;
  const isOut = price !== undefined && isOutside(quote, price);
  const text = isOut ? outsideText(quote, nowMs) : windowText(quote, nowMs);
  const isRefused = stage.notPlaced !== undefined;
  return {
    button: isRefused ? `Sign again: ${formatAmount(quote.payout)}` : SIGN,
    note: changesOf(stage).join(" "),
    deadline: text,
    action: "sign",
    ...((isOut || isRefused || isWorse(stage)) && { look: "warned" }),
  };
}
