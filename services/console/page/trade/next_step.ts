/** The next step, to a quote and of a quote: one sentence and one button for each state. */
import type { SolverInfo } from "@rangemaker/client";
import type { UnresolvedBet } from "../data/bet_keeper.ts";
import type { EstimateState } from "../data/estimator.ts";
import { AWAY_CODES, explain, type Explanation, RISK_TOO_LARGE } from "../data/explain.ts";
import { MAKER_AWAY } from "../data/maker_status.ts";
import type { PriceState } from "../data/price_feed.ts";
import { formatAmount, formatCents } from "../parts/format.ts";
import { type DraftFields, type FieldErrors, firstError, isUnreached, LABELS } from "./draft.ts";
import { isWorthless, paysText, warningOf, withChance } from "../data/odds.ts";
import { checkingText, isOutside, overText, signableMs, signWithinText } from "./quote_life.ts";
import { changesOf, isMuchLess, type LiveStage, type QuotedStage } from "./stage.ts";

/** All facts that decide whether a quote can be requested. */
export interface Situation {
  market: PriceState;
  chainId: number;
  /** Undefined before the node has answered. */
  nodeChainId: number | undefined;
  hasUser: boolean;
  /** Undefined before the wallet has answered, and for a key, which signs for any chain. */
  walletChainId: number | undefined;
  /** Undefined before the node has answered. */
  balance: bigint | undefined;
  /** A signed bet whose outcome is not known. */
  onItsWay: UnresolvedBet | undefined;
  isEmpty: boolean;
  errors: FieldErrors;
  /** Why the box cannot be priced now. */
  unpriceable: Explanation | undefined;
}

/** A condition that must be met before a quote. */
export interface Obstacle {
  /** Text of the button for a quote, which waits if there is no action. */
  button: string;
  text: string;
  /**
   * What the button does: switch the wallet's chain, draw a box, go to a field, move the box to the
   * price or fit its height. Key M on the chart does the last two.
   */
  action?: "switch" | "suggest" | "correct" | "move" | "fit";
  /** The field to correct, which shows its error. */
  field?: keyof DraftFields;
}

/** Why a market accepts no bets, in one sentence. The chart shows it. */
export const MARKET_TEXTS: Readonly<Record<Exclude<PriceState, "fresh">, string>> = {
  away: "No connection to the prices: reconnecting. Your open bets go on; new ones wait.",
  connecting: "Connecting to the prices …",
  missing: "There is no price yet. Bets start with the first one.",
  stale: "The price is not fresh: no bets until it is.",
};

/** The obstacle of a wallet on the wrong chain; undefined if it is right or unknown. */
export function chainObstacle(
  walletChainId: number | undefined,
  chainId: number,
): Obstacle | undefined {
  if (walletChainId === undefined || walletChainId === chainId) return undefined;
  return {
    button: "Switch the wallet’s chain",
    text: `The wallet is on chain ${walletChainId}; bets are on chain ${chainId}.`,
    action: "switch",
  };
}

/** The obstacle of a node that has another chain than the page, once it has answered. */
export function nodeObstacle({ nodeChainId, chainId }: Pick<Situation, "nodeChainId" | "chainId">) {
  if (nodeChainId === undefined || nodeChainId === chainId) return undefined;
  return blocked(
    `The node has chain ${nodeChainId}, and this page is for chain ${chainId}: nobody can bet here.`,
  );
}

const FIT = { button: "Fit its height", action: "fit" } as const;

/** Refusals of a box that moving it, or changing its height, would fix. */
const FIXES: Readonly<Record<string, Pick<Obstacle, "button" | "action">>> = {
  OUTSIDE_RANGE: { button: "Move the box to the price", action: "move" },
  RANGE_TOO_NARROW: FIT,
  PAYOUT_TOO_LOW: FIT,
};

const CHECKING = "Outcome unknown, checking …";
const OTHER_TAB = "Your other tab is placing a bet …";
/** The disabled button while the chart shows why there are no bets. */
const WAITING = "Waiting for live prices";

const blocked = (text: string): Obstacle => ({ button: "Get a quote", text });

/** What is in the way of a quote, in the order in which it is removed. */
const OBSTACLES: readonly ((situation: Situation) => Obstacle | false | undefined)[] = [
  ({ onItsWay }) => onItsWay?.isChecking === false && { button: OTHER_TAB, text: "" },
  ({ onItsWay }) => onItsWay && { button: CHECKING, text: checkingText(onItsWay.offer.quote) },
  ({ market }) => market !== "fresh" && { button: WAITING, text: "" },
  nodeObstacle,
  wrongField,
  ({ isEmpty }) =>
    isEmpty && {
      button: "Suggest a box",
      text: "Draw a box on the chart, or fill in the fields.",
      action: "suggest",
    },
  ({ unpriceable }) => unpriceable && { ...blocked(unpriceable.text), ...FIXES[unpriceable.code] },
  ({ hasUser }) => !hasUser && blocked("Open your account first."),
  ({ balance }) => balance === 0n && blocked("Take money to bet with first."),
  ({ walletChainId, chainId }) => chainObstacle(walletChainId, chainId),
  ({ nodeChainId }) =>
    nodeChainId === undefined && { button: "Connecting …", text: "Asking the node …" },
];

/** The first obstacle to a quote; undefined if there is none. */
export function obstacleOf(situation: Situation): Obstacle | undefined {
  return OBSTACLES.map((obstacle) => obstacle(situation)).find(Boolean) || undefined;
}

function wrongField({ errors }: Situation): Obstacle | undefined {
  const wrong = firstError(errors);
  return wrong && { ...wrong, button: `Check “${LABELS[wrong.field]}”`, action: "correct" };
}

/** Whether a change of the box removes an obstacle. */
export const isFix = ({ action }: Obstacle) => action === "move" || action === "fit";

/** What is said about an obstacle: its text, and the button or key that removes it. */
export function spokenText(obstacle: Obstacle): string {
  const { text, button } = obstacle;
  return isFix(obstacle) ? `${text} Press “${button}”, or M on the chart.` : text || button;
}

/**
 * What is said once a box is still: what is wrong, or what it pays. "" says nothing; undefined: it is
 * not known yet.
 */
export function stillText(
  obstacle: Obstacle | undefined,
  { fields, draft, terms }: { fields: { value: DraftFields }; draft: unknown; terms: string },
): string | undefined {
  if (obstacle?.field) return isUnreached(fields.value, obstacle.field) ? "" : obstacle.text;
  if (obstacle?.text === "" || draft === undefined) return ""; // the chart shows the reason
  return terms && obstacle && isFix(obstacle) ? spokenText(obstacle) : terms || undefined;
}

/** Why no quote is requested for a box; undefined if there is no reason. */
export function unpriceableBy(
  state: EstimateState,
  info: Pick<SolverInfo, "config" | "maxRisk"> | undefined,
): Explanation | undefined {
  if ("failure" in state) {
    const explained = explain(state.failure);
    return AWAY_CODES.has(explained.code) ? { ...explained, text: MAKER_AWAY } : explained;
  }
  const risk = state.estimate.payout - state.bet.betAmount;
  if (info?.maxRisk !== undefined && risk > info.maxRisk) {
    return { code: "RISK_TOO_LARGE", text: RISK_TOO_LARGE };
  }
  if (!isWorthless(state.estimate)) return undefined;
  const text = "It would win almost nothing. Make the box less tall, or let it last longer.";
  return { code: "PAYOUT_TOO_LOW", text };
}

/** What a box pays, or why it is not priced, to be spoken. */
export function boxText(
  state: EstimateState,
  info: Parameters<typeof unpriceableBy>[1],
): string {
  const unpriceable = unpriceableBy(state, info);
  if (unpriceable !== undefined || "failure" in state) return unpriceable?.text ?? "";
  const { estimate } = state;
  const warning = warningOf(estimate, info?.config.maxPayoutRatio);
  return [`Your box ${paysText(estimate)}.`, warning].filter(Boolean).join(" ");
}

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

interface QuoteStep {
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
    const deadline = signWithinText(stage.offer.quote, nowMs);
    if (isDevelopmentKey) return { button: "Signing …", note, deadline };
    const isOver = signableMs(stage.offer.quote, nowMs) === 0;
    return {
      button: isOver ? "Decline in your wallet …" : "Sign in your wallet …",
      note,
      deadline,
      back: "Cancel",
    };
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
    deadline: outside + signWithinText(quote, nowMs),
    action: "sign",
    ...((isOut || refusal || isMuchLess(stage)) && { look: "warned" }),
  };
}
