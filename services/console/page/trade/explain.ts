/** Errors in words that say what happened and what to do. */
import { isRangemakerError } from "../../../../lib/client/mod.ts";
import { messageOf } from "../../../../lib/errors.ts";

/** An error for people. */
export interface Explanation {
  /** For programs, and for those who look it up. */
  code: string;
  text: string;
}

const TEXTS: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE: "Your balance is too small for this bet. Deposit first, or bet less.",
  RANGE_BROKEN: "The price has already left the box. Draw another one.",
  OUTSIDE_RANGE: "The price is outside the box now. Draw one around the price.",
  RANGE_TOO_NARROW: "The box is too low for the maker to price. Make it taller.",
  WINDOW_ENDED: "The box lies in the past. Draw another one.",
  PAYOUT_TOO_LOW: "The maker would pay no more than you bet. Make the box smaller.",
  QUOTE_EXPIRED: "The quote has expired. Ask for another one.",
  ORACLE_STALE: "The chain has no fresh price of this market. Try again when prices move.",
  PRICE_UNAVAILABLE: "The maker has no price of this market right now. Try again soon.",
  VOLATILITY_UNAVAILABLE: "The maker has too little price history yet. Try again in a minute.",
  HISTORY_UNAVAILABLE: "The maker has too little price history yet. Try again in a minute.",
  EXPOSURE_LIMIT: "The maker takes no more risk right now. Bet less, or later.",
  USER_REJECTED: "You rejected the request in the wallet. Nothing was signed.",
  WALLET_BUSY: "Another request waits in the wallet: open it and answer.",
  WRONG_CHAIN: "The wallet is on another chain. Switch it, and ask for a quote again.",
  SERVICE_UNREACHABLE: "The service does not answer. It may be starting; try again.",
  SERVICE_TIMEOUT: "The service took too long to answer. Try again.",
  NODE_UNREACHABLE: "The chain does not answer. Try again.",
  NODE_TIMEOUT: "The chain took too long to answer. Try again.",
};

/** What to tell the user about an error. */
export function explain(thrown: unknown): Explanation {
  if (!isRangemakerError(thrown)) return { code: "UNEXPECTED", text: messageOf(thrown) };
  const { code, message } = thrown;
  return { code, text: TEXTS[code] ?? withoutAddress(message) };
}

/** Messages of services begin with the URL that was called, which says nothing to the user. */
function withoutAddress(message: string): string {
  return message.replace(/^https?:\S+ answered \d+: (?:[A-Z_]+: )?/, "");
}
