import type { RangemakerError } from "../../lib/errors.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import type { Intent } from "../../lib/intents/intent.ts";
import type { DepositRequest } from "../../lib/protocol/deposit.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { usdcText } from "../../lib/protocol/price.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";
import { decodeDeposit } from "./depositor.ts";
import type { BridgeOptions } from "./options.ts";

const log = serviceLog("bridge");

/** The fields of a deposit in log lines; the amount is decimal text in USDC with 6 decimals. */
function fieldsOf({ user, amount, nonce }: Pick<DepositRequest, "user" | "amount" | "nonce">) {
  return { user, amount: amount.toString(), nonce: nonce.toString() };
}

/**
 * Logs account, limits, node and database once.
 *
 * @param account The bridge's own account; undefined if the node does not answer.
 */
export function logStart(
  { database, chainId, rpcUrl, rateLimit, rateLimitTotal }: BridgeOptions,
  address: Address,
  account: Account | undefined,
): void {
  const isRelayer = account?.permissions.includes("relayer");
  log.info(
    "Bridge {address} has {permission} and {has}, accepts {limits}, signs for chain {chainId}, " +
      "with the node at {rpcUrl} and database {database}",
    {
      event: "started",
      address,
      chainId,
      rateLimit,
      rateLimitTotal,
      permission: account === undefined
        ? "an unknown permission"
        : `${isRelayer ? "the" : "no"} relayer permission`,
      balance: account?.balance.toString() ?? null,
      has: account === undefined ? "an unknown balance" : usdcText(account.balance),
      limits: `${limitText(rateLimit)} from one address and ${limitText(rateLimitTotal)} in all`,
      rpcUrl: redactUrls(rpcUrl),
      database: redactUrls(database),
    },
  );
}

function limitText(limit: number): string {
  return limit === 0 ? "any number of requests" : `${limit} requests a second`;
}

/** The log line of each event of a deposit (docs/reference.md, "Log events"). */
export const depositLog = {
  /** Something is missing that deposits need: they fail until {@link depositLog.ready}. */
  notReady(problem: string): void {
    log.warn("Not ready: {problem}", { event: "not_ready", problem });
  },

  ready(): void {
    log.info("Ready again", { event: "ready" });
  },

  /** A deposit was refused before anything was recorded. */
  refused(request: DepositRequest, { code, message }: RangemakerError): void {
    log.info("Deposit for {user} refused, {code}: {reason}", {
      event: "deposit_refused",
      ...fieldsOf(request),
      code,
      reason: message,
    });
  },

  /** An intent has reached its final state. */
  finished({ user, state, payload, transaction, failure }: Intent): void {
    const isDamaged = failure?.code === "STORE_DAMAGED";
    const deposit = isDamaged ? undefined : decodeDeposit(payload);
    const facts = { ...(deposit ? fieldsOf(deposit) : { user }), txHash: transaction?.txHash };
    if (state === "committed" && deposit !== undefined) {
      log.info("Deposit committed: {usdc} for {user}", {
        event: "deposit_committed",
        ...facts,
        usdc: usdcText(deposit.amount),
      });
    } else {
      log.info("Deposit for {user} failed, {code}: {reason}", {
        event: "deposit_failed",
        ...facts,
        code: failure?.code,
        reason: failure?.message,
      });
    }
  },
};
