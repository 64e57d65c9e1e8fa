import type { Permission } from "../../../lib/protocol/account.ts";
import { THESIS_DURATION_MAX_MS } from "../../../lib/protocol/constants.ts";
import type { TransactionErrorCode } from "../../../lib/protocol/receipt.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { RfqSubmit } from "../../../lib/protocol/transaction.ts";
import { slotFrom } from "../../../lib/prices/price_slots.ts";

/** Why a valid transaction fails. */
export interface Refusal {
  code: TransactionErrorCode;
  message: string;
}

/** What each side puts into a thesis; one entry where user and solver are the same. */
export function stakesOf(tx: RfqSubmit): Map<Address, bigint> {
  const stakes = new Map<Address, bigint>([[tx.user, tx.betAmount]]);
  stakes.set(tx.from, (stakes.get(tx.from) ?? 0n) + tx.payout - tx.betAmount);
  return stakes;
}

/** Why a thesis cannot have this window at this time, or undefined. */
export function windowRefusal(tx: RfqSubmit, nowMs: number): Refusal | undefined {
  const { startTime, endTime } = tx;
  const fault = endTime <= nowMs
    ? `ends in the past: it is ${nowMs}`
    : slotFrom(startTime) >= slotFrom(endTime)
    ? "holds no 100 ms slot"
    : endTime - startTime > THESIS_DURATION_MAX_MS
    ? `is longer than ${THESIS_DURATION_MAX_MS} ms`
    : undefined;
  if (fault === undefined) return undefined;
  return refuse("INVALID_TIME_RANGE", `Window from ${startTime} to ${endTime} ${fault}`);
}

/** Refuses a sender. */
export function lacksPermission(address: Address, permission: Permission): Refusal {
  return refuse("PERMISSION_DENIED", `${address} lacks the permission ${permission}`);
}

/** Refuses a pair that is no market. */
export function unsupportedPair(tx: { base: Address; quote: Address }): Refusal {
  return refuse("UNSUPPORTED_PAIR", `No market has base ${tx.base} and quote ${tx.quote}`);
}

/** A refusal; the message names the rule and the value. */
export function refuse(code: TransactionErrorCode, message: string): Refusal {
  return { code, message };
}
