/** Explains errors to users: what happened, and what to do. */
import { isOutcomeUnknown, isRangemakerError } from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";

/** An error as users see it. */
export interface Explanation {
  /** The error's code, for support and for tests. */
  code: string;
  text: string;
}

/** The service may be down, or this device offline: the page cannot tell. */
const NO_ANSWER = "No answer from the service.";
const NO_HISTORY = "The maker has too little price history yet.";
/** The page also knows it before a quote. */
export const RISK_TOO_LARGE =
  "The maker does not risk that much on one bet. Bet less, make the box taller, or let it end sooner.";
const CHAIN_SILENT = "The chain does not answer.";
/** The error's own words are for its operator. */
const OUT_OF_ORDER = "The service is out of order.";
const TO_REPAIR = "The service is out of order until its operator repairs it.";
const BUSY = "Too many requests.";
const EXPIRED = "The quote has expired. Get a new one.";

/** What happened, by code. {@link explain} adds when to try again, if the error says so. */
export const EXPLANATIONS: ReadonlyMap<string, string> = new Map(Object.entries({
  INSUFFICIENT_BALANCE:
    "Your balance is too small for this bet. Bet less, or add money to your account.",
  OUTSIDE_RANGE: "The price is outside the box. Move it, or draw one around the price.",
  RANGE_BROKEN: "The price left the box before the bet was placed.",
  RANGE_TOO_NARROW: "The box is too low for the maker to price. Make it taller.",
  PAYOUT_TOO_LOW:
    "The price is so likely to stay inside that the maker would pay no more than you bet. " +
    "Make the box less tall, or let it last longer.",
  ORACLE_STALE: "The chain has no fresh price of this market. Try again when prices move.",
  PRICE_UNAVAILABLE: "The maker has no price of this market right now.",
  VOLATILITY_UNAVAILABLE: NO_HISTORY,
  HISTORY_UNAVAILABLE: NO_HISTORY,
  PRICE_MOVED: "The odds changed, and the maker no longer accepts this bet. Get a new quote.",
  PRICE_IMPROVED: "The odds changed, and the bet pays more now. Get a new quote.",
  PRICE_STALE: "The chain has no fresh price of this market.",
  QUOTE_EXPIRED: EXPIRED,
  DEADLINE_PASSED: EXPIRED,
  RISK_TOO_LARGE,
  EXPOSURE_TOO_LARGE: "The maker accepts no more risk right now. A smaller bet may fit.",
  EXPOSURE_UNKNOWN: "The maker is starting.",
  BALANCE_TOO_LOW: "The maker lacks the money for this bet. A smaller one may fit.",
  DRY_RUN: "This maker quotes only, and takes no bets (--dry-run).",
  RATE_LIMITED: BUSY,
  OUTCOME_UNKNOWN:
    "Nobody knows yet whether the bet was taken. If it was, it will show up in your bets.",
  RECEIPT_DROPPED:
    "The chain no longer says what became of this bet. Your balance and your bets show it.",
  USER_REJECTED: "You rejected the request in the wallet. Nothing was signed.",
  WALLET_BUSY: "Another request waits in the wallet: open it and answer.",
  WRONG_CHAIN: "The wallet is on another chain. Switch it, and get a new quote.",
  INVALID_ANSWER: "Something else answers in place of the service. Try again later.",
  SERVICE_UNREACHABLE: NO_ANSWER,
  SERVICE_TIMEOUT: NO_ANSWER,
  NODE_UNREACHABLE: CHAIN_SILENT,
  "RPC_-32002": CHAIN_SILENT,
  "RPC_-32005": BUSY,
  CHAIN_MISMATCH: TO_REPAIR,
  CHAIN_REWOUND: TO_REPAIR,
  STORE_DAMAGED: TO_REPAIR,
  PERMISSION_DENIED: TO_REPAIR,
  NODE_REFUSED: TO_REPAIR,
  CLOCKS_DIFFER: OUT_OF_ORDER,
  STORE_UNAVAILABLE: OUT_OF_ORDER,
  SIGNER_UNAVAILABLE: OUT_OF_ORDER,
  NODE_TIMEOUT: "The chain took too long to answer.",
}));

/** Codes of a service that does not answer. */
export const AWAY_CODES: ReadonlySet<string> = new Set(["SERVICE_UNREACHABLE", "SERVICE_TIMEOUT"]);

/** Words for the user about an error. */
export function explain(thrown: unknown): Explanation {
  if (thrown instanceof DOMException && thrown.name === "QuotaExceededError") {
    const text = "This browser stores no more. Free some space, and try again.";
    return { code: thrown.name, text };
  }
  if (!isRangemakerError(thrown)) return { code: "UNEXPECTED", text: messageOf(thrown) };
  const { code, message, retry } = thrown;
  const again = retry === "later"
    ? " Try again in a moment."
    : AWAY_CODES.has(code)
    ? " Try again."
    : "";
  const known = EXPLANATIONS.get(code);
  return { code, text: known === undefined ? message : known + again };
}

/** Words for the user about a deposit that failed. */
export function explainDeposit(thrown: unknown): string {
  const { code, text } = explain(thrown);
  if (code === "NONCE_USED" || isOutcomeUnknown(thrown)) {
    return "The deposit has not arrived yet. Try again: the money arrives once.";
  }
  return DEPOSIT_TEXTS.get(code) ?? text;
}

/** What an error says of a deposit, where its text for bets names a quote. */
const DEPOSIT_TEXTS: ReadonlyMap<string, string> = new Map(Object.entries({
  DEADLINE_PASSED: "It was signed too late. Try again, and sign within a minute.",
  WRONG_CHAIN: "The wallet is on another chain. Switch it, and try again.",
}));
