/** Obstacles to a quote: one sentence and one button for each state. */
import { formatUnits, type SolverInfo } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain, explainRisk, type Explanation } from "../data/explain.ts";
import type { MarketState } from "../data/price_feed.ts";
import { formatCut, formatTime } from "../format.ts";
import {
  type DraftFields,
  type FieldErrors,
  type FieldPrices,
  firstError,
  type ParsedFields,
} from "./draft.ts";
import { isWorthless } from "./odds.ts";
import { CHECKING, OTHER_TAB } from "./quote_step.ts";

/** All facts that decide whether a quote can be requested. */
export interface Situation {
  symbol: string;
  market: MarketState;
  chainId: number;
  /** Undefined before the node has answered. */
  nodeChainId: number | undefined;
  hasUser: boolean;
  /** Undefined before the wallet has answered, and for a key, which signs for any chain. */
  walletChainId: number | undefined;
  /** Undefined before the node has answered. */
  balance: bigint | undefined;
  /** An unresolved signed bet: its deadline, and whether its answer is overdue. */
  onItsWay: { deadline: number; isChecking: boolean } | undefined;
  isEmpty: boolean;
  parsed: ParsedFields;
  /** The newest price, if there is one. */
  price: bigint | undefined;
  /** Why the box cannot be priced now. */
  unpriceable: Explanation | undefined;
  limits: Pick<SolverInfo["config"], "minBetAmount" | "maxBetAmount"> | undefined;
}

/** A condition that must be met before a quote. */
export interface Obstacle {
  /** Text of the disabled button for a quote, or of the button that removes the obstacle. */
  button: string;
  text: string;
  /** The button switches the wallet's chain. */
  switchesChain?: boolean;
  /** The button draws a box. */
  suggests?: boolean;
  /** A separate button removes the obstacle: it moves the box to the price, or fits its height. */
  fix?: "move" | "height";
  /** The field to correct. */
  field?: keyof DraftFields;
}

const MARKET_TEXTS: Readonly<Record<Exclude<MarketState, "fresh">, (symbol: string) => Obstacle>> =
  {
    away: () => ({
      button: "Reconnecting …",
      text: "No live prices: reconnecting. Your open bets go on; new ones wait.",
    }),
    offline: () => ({
      button: "You are offline",
      text: "You are offline. Your open bets go on; new ones wait.",
    }),
    connecting: () => ({ button: "Connecting …", text: "Connecting to the prices …" }),
    missing: (symbol) => ({
      button: "Waiting for a price",
      text: `${symbol} has no price yet. Bets start with the first one.`,
    }),
    stale: (symbol) => ({
      button: "Waiting for a fresh price",
      text: `The price of ${symbol} is not fresh: no bets until it is.`,
    }),
  };

/** The problem of a market, in one sentence; undefined if it accepts bets. */
export function marketObstacle(state: MarketState, symbol: string): Obstacle | undefined {
  return state === "fresh" ? undefined : MARKET_TEXTS[state](symbol);
}

/** The obstacle of a wallet on the wrong chain; undefined if it is right or unknown. */
export function chainObstacle(walletChainId: number | undefined, chainId: number) {
  if (walletChainId === undefined || walletChainId === chainId) return undefined;
  return {
    button: "Switch the wallet’s chain",
    text: `The wallet is on chain ${walletChainId}; bets are on chain ${chainId}.`,
    switchesChain: true,
  };
}

const QUOTE = "Get a quote";

/** The first obstacle to a quote; undefined if there is none. */
export function obstacleOf(situation: Situation): Obstacle | undefined {
  const { symbol, market, chainId, nodeChainId, hasUser, walletChainId, balance } = situation;
  const { onItsWay, isEmpty, unpriceable } = situation;
  if (onItsWay?.isChecking === false) return { button: OTHER_TAB, text: "" };
  if (onItsWay !== undefined) {
    return {
      button: CHECKING,
      text:
        "It is not known yet whether your signed bet was placed. New quotes wait until it is, " +
        `or until it can no longer be placed, shortly after ${formatTime(onItsWay.deadline)}.`,
    };
  }
  const waiting = marketObstacle(market, symbol);
  if (waiting !== undefined) return { ...waiting, text: "" }; // the chart shows the reason
  const wrong = firstError(errorsOf(situation));
  if (isEmpty) {
    const text = "Draw a box on the chart, or fill in the fields.";
    // A suggestion would replace a wrong time.
    const suggests = wrong?.field !== "startsIn" && wrong?.field !== "lasts";
    return { button: "Suggest a box", text, suggests, ...wrong };
  }
  const blocked = (text: string): Obstacle => ({ button: QUOTE, text });
  if (!hasUser) return blocked("Open an account first.");
  if (balance === 0n) return blocked("Take money to bet with first.");
  const wrongChain = chainObstacle(walletChainId, chainId);
  if (wrongChain !== undefined) return wrongChain;
  if (nodeChainId !== undefined && nodeChainId !== chainId) {
    return blocked(`The node has chain ${nodeChainId}, and this page is for chain ${chainId}.`);
  }
  if (nodeChainId === undefined) return { button: "Connecting …", text: "Asking the node …" };
  if (wrong !== undefined) {
    const text = situation.parsed.draft ? wrong.text : `${wrong.text} Until then, no box is drawn.`;
    return { ...wrong, button: QUOTE, text };
  }
  const fix = unpriceable && FIXES[unpriceable.code];
  return unpriceable && { ...blocked(unpriceable.text), ...(fix && { fix }) };
}

/** The separate buttons that remove an obstacle. Key M on the chart does the same. */
export const FIX_BUTTONS: Readonly<Record<NonNullable<Obstacle["fix"]>, string>> = {
  move: "Move the box to the price",
  height: "Fit its height",
};

/** What is said about an obstacle: its text, and the button or key that removes it. */
export function spokenText({ text, button, fix }: Obstacle): string {
  const remedy = fix && ` Press “${FIX_BUTTONS[fix]}”, or M on the chart.`;
  return (text || button) + (remedy ?? "");
}

/** A field that is wrong, and its error as a sentence. */
export type WrongField = NonNullable<ReturnType<typeof firstError>>;

/** What stands against the box now. */
export interface Findings {
  /** Returns the obstacle to a quote, if there is one. */
  obstacle(): Obstacle | undefined;
  /** Returns the first wrong field and its error, if there is one. */
  wrong(): WrongField | undefined;
}

/**
 * What is said once the box is still. While a field is wrong, that is no payout.
 *
 * @param edited The last changed fields. What is wrong with another one is said when it is left.
 * @param terms What the box pays; undefined while that is unknown.
 */
export function stillText(
  findings: Findings,
  edited: readonly string[],
  terms: string | undefined,
): string | undefined {
  const [obstacle, wrong] = [findings.obstacle(), findings.wrong()];
  if (obstacle?.text === "") return ""; // the chart shows the reason
  if (wrong !== undefined) return edited.includes(wrong.field) ? wrong.text : "";
  return obstacle?.fix && terms !== undefined ? spokenText(obstacle) : terms;
}

/** Refusals of a box that moving it, or changing its height, would fix. */
const FIXES: Readonly<Record<string, Obstacle["fix"]>> = {
  OUTSIDE_RANGE: "move",
  RANGE_TOO_NARROW: "height",
  PAYOUT_TOO_LOW: "height",
};

/** The errors of the fields. Without a box, prices may be empty, and limits are not checked. */
export function errorsOf(situation: Situation): FieldErrors {
  const { parsed, isEmpty, price } = situation;
  const errors = "errors" in parsed ? parsed.errors : {};
  const { lower: _lower, upper: _upper, ...others } = errors;
  if (isEmpty) return others;
  const amount = errors.amount ?? amountError(situation);
  const bounds = "errors" in parsed && price !== undefined ? mistyped(parsed.prices, price) : {};
  return { ...errors, ...bounds, ...(amount !== undefined && { amount }) };
}

/**
 * The error of a price that was probably mistyped: a single one beyond the market's by half of it, or
 * the lower one if it is above the upper one and farther from the market's.
 */
function mistyped({ lower, upper }: FieldPrices, price: bigint): FieldErrors {
  if (lower !== undefined && upper !== undefined) {
    if (lower < upper || distance(lower, price) <= distance(upper, price)) return {};
    return { lower: "Enter a price below the upper one", upper: undefined };
  }
  if (lower !== undefined && 2n * lower > 3n * price) {
    return { lower: "Enter a lower price: the market’s is far below" };
  }
  if (upper !== undefined && 2n * upper < price) {
    return { upper: "Enter a higher price: the market’s is far above" };
  }
  return {};
}

const distance = (one: bigint, other: bigint) => one < other ? other - one : one - other;

/** Why this amount cannot be bet. A balance of 0 is reported elsewhere. */
function amountError({ parsed: { betAmount }, balance, limits }: Situation): string | undefined {
  if (betAmount === undefined) return undefined;
  if (balance && betAmount > balance) {
    return `Enter at most ${formatCut(balance)} USDC, your balance`;
  }
  if (limits !== undefined && betAmount < limits.minBetAmount) {
    return `Enter at least ${formatUnits(limits.minBetAmount)} USDC, the maker’s smallest bet`;
  }
  if (limits !== undefined && betAmount > limits.maxBetAmount) {
    return `Enter at most ${formatCut(limits.maxBetAmount)} USDC, the maker’s largest bet`;
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
