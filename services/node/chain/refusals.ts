/** Why valid transactions fail, as their receipts say. */
import type { Permission } from "../../../lib/protocol/account.ts";
import { SLOT_MS, THESIS_DURATION_MAX_MS } from "../../../lib/protocol/constants.ts";
import { createErrors } from "../../../lib/errors.ts";
import type { MarketPair } from "../../../lib/protocol/markets.ts";
import { formatUnits, usdcText } from "../../../lib/protocol/price.ts";
import type { TransactionErrorCode } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { BET_REFUSAL_TEXTS } from "../../../lib/protocol/bet.ts";
import { requireSigner, SignatureError } from "../../../lib/protocol/signature.ts";
import type { RfqSubmit } from "../../../lib/protocol/transaction.ts";
import { type PricePoint, slotAtOrAfter } from "../../../lib/prices/price_slots.ts";

/** The reason why a valid transaction fails; `details` are the numbers in its message. */
export interface Refusal {
  code: TransactionErrorCode;
  message: string;
  details: Readonly<Record<string, unknown>>;
}

interface Window {
  startTime: number;
  endTime: number;
  now: number;
  maxStartAheadMs: number;
}

/** The text of each code, with the values in `details`; times are Unix milliseconds. */
const TEXTS = {
  PERMISSION_DENIED: (d: { address: Address; permission: Permission }) =>
    `${d.address} lacks the permission ${d.permission}; the node's --relayers and --admins grant it`,
  DEPOSIT_ALREADY_PROCESSED: (d: { externalTxHash: Hex }) =>
    `External transaction ${d.externalTxHash} was already credited; sign another nonce`,
  UNSUPPORTED_PAIR: ({ base, quote }: MarketPair) =>
    `No market has base ${base} and quote ${quote}; core_getPrices lists the markets`,
  QUOTE_EXPIRED: (d: { deadline: number; now: number }) =>
    `Quote expired at ${d.deadline}: it is ${d.now}; request a new quote`,
  ...BET_REFUSAL_TEXTS,
  INVALID_TIME_RANGE: (d: Window | { slotTime: number; newestSlotTime: number }) =>
    "slotTime" in d
      ? `Slots up to ${d.newestSlotTime} can be filled: received one at ${d.slotTime}`
      : `Window from ${d.startTime} to ${d.endTime} ${windowProblem(d)}`,
  QUOTE_ALREADY_USED: (d: { quoteHash: Hex }) =>
    `Quote ${d.quoteHash} has already opened a thesis; request a new quote`,
  ORACLE_STALE: (d: { symbol: string }) =>
    `Price of ${d.symbol} is stale: no new theses on it until the oracle has a fresh one`,
  RANGE_BROKEN: (d: PricePoint & { lowerPrice: bigint; upperPrice: bigint }) =>
    `Price was ${formatUnits(d.price)} at ${d.time}, outside the range ` +
    `${formatUnits(d.lowerPrice)} to ${formatUnits(d.upperPrice)}; ` +
    `request a quote for a later start`,
  INSUFFICIENT_BALANCE: (d: { address: Address; balance: bigint; needed: bigint }) =>
    `Balance of ${d.address} is ${usdcText(d.balance)}: the thesis takes ` +
    `${usdcText(d.needed)} from it; deposit more`,
};

const refusal = createErrors(TEXTS);

/** Makes a refusal and its message. */
export function refuse<Code extends keyof typeof TEXTS>(
  code: Code,
  ...facts: Parameters<(typeof TEXTS)[Code]>
): Refusal {
  const { message, details } = refusal(code, ...facts);
  return { code, message, details };
}

/** The reason why the signatures inside a transaction are not those of solver and user. */
export function quoteSignatureRefusal(tx: RfqSubmit, quoteHash: Hex): Refusal | undefined {
  let code: Refusal["code"] = "QUOTE_SIGNER_MISMATCH";
  try {
    requireSigner("Solver signature", quoteHash, tx.solverSignature, tx.from);
    code = "USER_SIGNATURE_INVALID";
    requireSigner("User signature", quoteHash, tx.userSignature, tx.user);
  } catch (thrown) {
    if (!(thrown instanceof SignatureError)) throw thrown;
    return { code, message: thrown.message, details: thrown.details };
  }
}

/** The stake of each side of a thesis; one entry if user and solver are the same. */
export function stakesOf(tx: RfqSubmit): Map<Address, bigint> {
  const stakes = new Map<Address, bigint>([[tx.user, tx.betAmount]]);
  stakes.set(tx.from, (stakes.get(tx.from) ?? 0n) + tx.payout - tx.betAmount);
  return stakes;
}

/** The reason why a thesis cannot have this window now. */
export function windowRefusal(
  { startTime, endTime }: RfqSubmit,
  now: number,
  maxStartAheadMs: number,
): Refusal | undefined {
  const window = { startTime, endTime, now, maxStartAheadMs };
  return windowProblem(window) === undefined ? undefined : refuse("INVALID_TIME_RANGE", window);
}

/**
 * No rule says that a window starts at most 24 h before its submission: a window ends in the future
 * and lasts at most 24 h.
 */
function windowProblem({ startTime, endTime, now, maxStartAheadMs }: Window): string | undefined {
  if (endTime <= now) return `ends in the past: it is ${now}; choose a later one`;
  if (slotAtOrAfter(startTime) >= slotAtOrAfter(endTime)) {
    return `contains no ${SLOT_MS} ms slot; choose a longer one`;
  }
  if (endTime - startTime > THESIS_DURATION_MAX_MS) {
    return `is longer than ${THESIS_DURATION_MAX_MS} ms; choose a shorter one`;
  }
  if (startTime - now <= maxStartAheadMs) return undefined;
  return `starts more than ${maxStartAheadMs} ms ahead: it is ${now}; choose an earlier one`;
}
