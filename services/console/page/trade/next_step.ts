/** Obstacles to a quote: one sentence and one button for each state. */
import type { SolverInfo } from "@rangemaker/client";
import type { UnresolvedBet } from "../data/bet_keeper.ts";
import type { EstimateState } from "../data/estimator.ts";
import { explain, explainRisk, type Explanation } from "../data/explain.ts";
import type { MarketState } from "../data/price_feed.ts";
import { formatAmount } from "../parts/format.ts";
import {
  type DraftFields,
  type FieldErrors,
  firstError,
  isUnreached,
  LABELS,
  type ParsedFields,
} from "./draft.ts";
import { isWorthless, paysText, refusalWarning, warningOf } from "./odds.ts";
import { checkingText } from "./quote_life.ts";
import { CHECKING, OTHER_TAB, WAITING } from "./quote_step.ts";

/** All facts that decide whether a quote can be requested. */
export interface Situation {
  market: MarketState;
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
  parsed: ParsedFields;
  /** Why the box cannot be priced now. */
  unpriceable: Explanation | undefined;
  limits: Pick<SolverInfo["config"], "minBetAmount" | "maxBetAmount"> | undefined;
}

/** A condition that must be met before a quote. */
export interface Obstacle {
  /** Text of the button for a quote, which waits if there is no action. */
  button: string;
  text: string;
  /**
   * What the button does: switch the wallet's chain, draw a box, go to a field, enter an amount, move
   * the box to the price or fit its height. Key M on the chart does the last two.
   */
  action?: "switch" | "suggest" | "correct" | "reduce" | "move" | "fit";
  /** The field to correct, which shows its error. */
  field?: keyof DraftFields;
  /** The amount to enter. */
  amount?: bigint;
}

/** Why a market accepts no bets, in one sentence. The chart shows it. */
export const MARKET_TEXTS: Readonly<Record<Exclude<MarketState, "fresh">, string>> = {
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

const QUOTE = "Get a quote";

/** The first obstacle to a quote; undefined if there is none. */
export function obstacleOf(situation: Situation): Obstacle | undefined {
  const { market, chainId, nodeChainId, hasUser, walletChainId, balance } = situation;
  const { onItsWay, isEmpty, unpriceable } = situation;
  if (onItsWay?.isChecking === false) return { button: OTHER_TAB, text: "" };
  if (onItsWay !== undefined) {
    return { button: CHECKING, text: checkingText(onItsWay.offer.quote) };
  }
  if (market !== "fresh") return { button: WAITING, text: "" };
  const wrong = firstError(fieldErrorsOf(situation));
  if (wrong !== undefined) {
    const amount = wrong.field === "amount" ? largestBet(situation) : undefined;
    return amount === undefined
      ? { ...wrong, button: `Check “${LABELS[wrong.field]}”`, action: "correct" }
      : { ...wrong, button: `Bet ${formatAmount(amount)} USDC`, action: "reduce", amount };
  }
  if (isEmpty) {
    const text = "Draw a box on the chart, or fill in the fields.";
    return { button: "Suggest a box", text, action: "suggest" };
  }
  const blocked = (text: string): Obstacle => ({ button: QUOTE, text });
  const fix = unpriceable && FIXES[unpriceable.code];
  if (fix) return { ...fix, text: unpriceable.text };
  if (unpriceable) return blocked(unpriceable.text);
  if (!hasUser) return blocked("Open your account first.");
  if (balance === 0n) return blocked("Take money to bet with first.");
  const wrongChain = chainObstacle(walletChainId, chainId);
  if (wrongChain !== undefined) return wrongChain;
  if (nodeChainId !== undefined && nodeChainId !== chainId) {
    return blocked(`The node has chain ${nodeChainId}, and this page is for chain ${chainId}.`);
  }
  return nodeChainId === undefined
    ? { button: "Connecting …", text: "Asking the node …" }
    : undefined;
}

/** Whether a change of the box removes an obstacle. */
export const isFix = ({ action }: Obstacle) => action === "move" || action === "fit";

/** What is said about an obstacle: its text, and the button or key that removes it. */
export function spokenText(obstacle: Obstacle): string {
  const { text, button } = obstacle;
  return isFix(obstacle) ? `${text} Press “${button}”, or M on the chart.` : text || button;
}

/** What is said once a box is still: what is wrong, or what it pays; undefined if unknown. */
export function stillText(
  obstacle: Obstacle | undefined,
  { fields, draft, terms }: { fields: { value: DraftFields }; draft: unknown; terms: string },
): string | undefined {
  if (obstacle?.field) return isUnreached(fields.value, obstacle.field) ? "" : obstacle.text;
  if (obstacle?.text === "" || draft === undefined) return ""; // the chart shows the reason
  return terms && obstacle && isFix(obstacle) ? spokenText(obstacle) : terms || undefined;
}

const FIT = { button: "Fit its height", action: "fit" } as const;

/** Refusals of a box that moving it, or changing its height, would fix. */
const FIXES: Readonly<Record<string, Pick<Obstacle, "button" | "action">>> = {
  OUTSIDE_RANGE: { button: "Move the box to the price", action: "move" },
  RANGE_TOO_NARROW: FIT,
  PAYOUT_TOO_LOW: FIT,
};

/** The errors of the fields. Without a box, prices may be empty, and limits are not checked. */
export function fieldErrorsOf(situation: Situation): FieldErrors {
  const { parsed: { errors }, isEmpty } = situation;
  const { lower: _lower, upper: _upper, ...others } = errors;
  if (isEmpty) return others;
  const amount = errors.amount ?? amountError(situation);
  return amount === undefined ? errors : { ...errors, amount };
}

/** The most that the maker takes on the box, if that is less than the amount and the balance. */
function largestBet({ parsed: { betAmount = 0n }, balance, unpriceable }: Situation) {
  const most = unpriceable?.most ?? betAmount;
  return most < betAmount && (!balance || most < balance) ? most : undefined;
}

/** Why this amount cannot be bet. A balance of 0 is reported elsewhere. */
function amountError(situation: Situation): string | undefined {
  const { parsed: { betAmount }, balance, limits } = situation;
  const most = largestBet(situation);
  if (betAmount === undefined) return undefined;
  if (most !== undefined) {
    return `Enter at most ${formatAmount(most)} USDC: the maker takes no more on this box`;
  }
  if (balance && betAmount > balance) {
    return `Enter at most ${formatAmount(balance)} USDC, your balance`;
  }
  if (limits !== undefined && betAmount < limits.minBetAmount) {
    return `Enter at least ${formatAmount(limits.minBetAmount)} USDC, the maker’s smallest bet`;
  }
  if (limits !== undefined && betAmount > limits.maxBetAmount) {
    return `Enter at most ${formatAmount(limits.maxBetAmount)} USDC, the maker’s largest bet`;
  }
  return undefined;
}

/** Why no quote is requested for a box; undefined if there is no reason. */
export function unpriceableBy(
  state: EstimateState,
  info: Pick<SolverInfo, "config" | "maxRisk"> | undefined,
): Explanation | undefined {
  const { betAmount } = state.bet;
  if ("failure" in state) {
    return explain(state.failure, { betAmount, minBetAmount: info?.config.minBetAmount ?? 0n });
  }
  const risk = state.estimate.payout - betAmount;
  if (info?.maxRisk !== undefined && risk > info.maxRisk) {
    return explainRisk(betAmount, risk, info.maxRisk);
  }
  if (!isWorthless(state.estimate)) return undefined;
  const text = "It would win almost nothing. Make the box less tall, or let it last longer.";
  return { code: "PAYOUT_TOO_LOW", text };
}

/** What a box pays, or why it is not priced, to be spoken. */
export function boxText(
  state: EstimateState,
  info: Parameters<typeof unpriceableBy>[1],
  tolerancePercent: number,
): string {
  const unpriceable = unpriceableBy(state, info);
  if (unpriceable !== undefined || "failure" in state) return unpriceable?.text ?? "";
  const { estimate } = state;
  const warning = warningOf(estimate, info?.config.maxPayoutRatio);
  const refusal = refusalWarning(estimate, tolerancePercent);
  return [`Your box ${paysText(estimate)}.`, warning, refusal].filter(Boolean).join(" ");
}
