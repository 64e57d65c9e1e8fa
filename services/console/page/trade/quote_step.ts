/** The next step of a quote: one button and one sentence for each state. */
import type { UnresolvedBet } from "../data/bet_keeper.ts";
import { formatAmount, formatCents } from "../parts/format.ts";
import { withChance } from "./odds.ts";
import { checkingText, deadlineText, isOutside, overText, signableMs } from "./quote_life.ts";
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
  /** No prices arrive. */
  isAway: boolean;
  /** The newest price, if there is one. */
  price: bigint | undefined;
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
const OUTSIDE =
  "The price is outside the box. It has to be inside when the window starts, or you lose. ";

export function quoteStepOf(situation: QuoteSituation, nowMs: number): QuoteStep {
  const { stage, isDevelopmentKey, onItsWay, balance, isAway } = situation;
  if (stage.name === "sending") {
    if (!onItsWay?.isChecking) return { button: "Placing the bet …" };
    return { button: CHECKING, note: checkingText(stage.offer.quote) };
  }
  if (stage.name === "signing") {
    const note = stage.isAgain
      ? "The odds changed, within what you accept: one more signature."
      : "";
    const deadline = deadlineText(stage.offer.quote, nowMs);
    if (isDevelopmentKey) return { button: "Signing …", note, deadline };
    return { button: "Sign in your wallet …", note, deadline, back: "Cancel" };
  }
  if (onItsWay) {
    const note = "This quote waits for another signed bet.";
    return { button: onItsWay.isChecking ? CHECKING : OTHER_TAB, note, back: BACK };
  }
  const { quote } = stage.offer;
  if (balance !== undefined && quote.betAmount > balance) {
    const note = `Your balance is ${formatAmount(balance)} USDC now: bet less.`;
    return { button: SIGN, note, look: "failure", back: BACK };
  }
  if (signableMs(quote, nowMs) === 0) {
    const note = stage.refusal ?? overText(quote);
    return { button: "Ask for a new quote", note, look: "failure", action: "renew", back: BACK };
  }
  if (isAway) return { button: WAITING, note: "", back: BACK };
  return { ...signStep(situation, stage, nowMs), back: BACK };
}

/** The step of a live quote. */
function signStep({ price }: QuoteSituation, stage: QuotedStage, nowMs: number): QuoteStep {
  const { refusal, offer, offer: { quote } } = stage;
  const isOut = price !== undefined && isOutside(quote, price);
  const outside = isOut ? OUTSIDE : "";
  return {
    button: refusal ? `Sign again: ${formatCents(quote.payout)}${withChance(offer)}` : SIGN,
    note: changesOf(stage),
    deadline: outside + deadlineText(quote, nowMs),
    action: "sign",
    ...((isOut || refusal || isWorse(stage)) && { look: "warned" }),
  };
}
