import type { Permission } from "../../../lib/protocol/account.ts";
import { SLOT_MS, THESIS_DURATION_MAX_MS } from "../../../lib/protocol/constants.ts";
import type { TransactionErrorCode } from "../../../lib/protocol/receipt.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { RfqSubmit } from "../../../lib/protocol/transaction.ts";
import { type PricePoint, slotFrom } from "../../../lib/prices/price_slots.ts";

/** The reason why a valid transaction fails. */
export interface Refusal {
  code: TransactionErrorCode;
  message: string;
}

/** The stake of each side of a thesis; one entry if user and solver are the same. */
export function stakesOf(tx: RfqSubmit): Map<Address, bigint> {
  const stakes = new Map<Address, bigint>([[tx.user, tx.betAmount]]);
  stakes.set(tx.from, (stakes.get(tx.from) ?? 0n) + tx.payout - tx.betAmount);
  return stakes;
}

/**
 * The reason why a thesis cannot have this window now. That a window starts at most 24 h before its
 * submission needs no rule: it ends in the future and is not longer than that.
 */
export function windowRefusal(
  { startTime, endTime }: RfqSubmit,
  nowMs: number,
  maxStartAheadMs: number,
): Refusal | undefined {
  const fault = endTime <= nowMs
    ? `ends in the past: it is ${nowMs}; choose a later one`
    : slotFrom(startTime) >= slotFrom(endTime)
    ? `contains no ${SLOT_MS} ms slot; choose a longer one`
    : endTime - startTime > THESIS_DURATION_MAX_MS
    ? `is longer than ${THESIS_DURATION_MAX_MS} ms; choose a shorter one`
    : startTime - nowMs > maxStartAheadMs
    ? `starts more than ${maxStartAheadMs} ms ahead: it is ${nowMs}; choose an earlier one`
    : undefined;
  if (fault === undefined) return undefined;
  return refuse("INVALID_TIME_RANGE", `Window from ${startTime} to ${endTime} ${fault}`);
}

/** Refuses a bet that is not worth a place in the ledger. */
export function betTooSmall({ betAmount }: RfqSubmit, minBet: bigint): Refusal {
  return refuse("BET_TOO_SMALL", `Bet has to be at least ${minBet}: received ${betAmount}`);
}

/** Refuses a thesis that is already lost when it is submitted. */
export function rangeBroken({ lowerPrice, upperPrice }: RfqSubmit, breach: PricePoint): Refusal {
  return refuse(
    "RANGE_BROKEN",
    `Price was ${breach.price} at ${breach.time}, outside the range ${lowerPrice} to ` +
      `${upperPrice}; request a quote for a later start`,
  );
}

/** Refuses a sender. */
export function lacksPermission(address: Address, permission: Permission): Refusal {
  return refuse(
    "PERMISSION_DENIED",
    `${address} lacks the permission ${permission}; the node's --relayers and --admins grant it`,
  );
}

/** Refuses an unsupported pair. */
export function unsupportedPair(tx: { base: Address; quote: Address }): Refusal {
  return refuse(
    "UNSUPPORTED_PAIR",
    `No market has base ${tx.base} and quote ${tx.quote}; core_getPrices lists the markets`,
  );
}

/** A refusal; the message names the rule and the value. */
export function refuse(code: TransactionErrorCode, message: string): Refusal {
  return { code, message };
}
