import type { RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { usdcText } from "../../../lib/protocol/price.ts";
import type { UnsignedQuote } from "../../../lib/protocol/quote.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { redactUrls } from "../../../lib/redact.ts";
import { riskOf } from "../../../lib/protocol/bet.ts";

const log = serviceLog("solver");

/** The fields of a bet in log lines; amounts are decimal text in USDC with 6 decimals. */
type LoggedBet = Pick<UnsignedQuote, "user" | "betAmount" | "payout">;

function fieldsOf(quoteHash: string, { user, betAmount, payout }: LoggedBet) {
  return { user, quoteHash, betAmount: betAmount.toString(), payout: payout.toString() };
}

/** What the first line names; the balance is null while the node does not answer. */
interface LoggedStart {
  address: Address;
  balance: bigint | null;
  pricing: string;
  maxRisk: bigint;
  maxExposure: bigint | undefined;
  chainId: number;
  rpcUrl: string;
  database: string;
  dryRun: boolean;
}

/** The log line of each event of a bet (docs/reference.md, "Log events"). */
export const solverLog = {
  started(start: LoggedStart): void {
    const { address, pricing, chainId, dryRun, balance, maxRisk, maxExposure } = start;
    log.info(
      (dryRun ? "Dry run, executes nothing: " : "") +
        "Solver {address} has {has}, prices by {pricing}, risks at most {riskMax} on one thesis and " +
        "{exposureMax} in total, signs for chain {chainId}, with the node at {rpcUrl} and database {database}",
      {
        event: "started",
        address,
        pricing,
        chainId,
        dryRun,
        balance: balance?.toString() ?? null,
        maxRisk: maxRisk.toString(),
        maxExposure: maxExposure?.toString() ?? null,
        has: balance === null ? "an unknown balance" : usdcText(balance),
        riskMax: usdcText(maxRisk),
        exposureMax: maxExposure === undefined ? "any amount" : usdcText(maxExposure),
        rpcUrl: redactUrls(start.rpcUrl),
        database: redactUrls(start.database),
      },
    );
  },

  /** The default follows the specification; it is not a price. */
  mockPricing(): void {
    log.warn(
      "--pricing mock pays 5 to 10 % for any range, even one that the price cannot leave: use it for tests " +
        "only, and --pricing barrier with real money",
      { event: "mock_pricing" },
    );
  },

  quoted(quoteHash: Hex, quote: UnsignedQuote): void {
    log.debug("Quote {quoteHash} for {user}: bet {bet}, payout {pays}", () => ({
      event: "quoted",
      ...fieldsOf(quoteHash, quote),
      bet: usdcText(quote.betAmount),
      pays: usdcText(quote.payout),
    }));
  },

  accepted(quoteHash: Hex, quote: UnsignedQuote): void {
    log.info("Execution accepted: bet {bet} of {user}, payout {pays}", () => ({
      event: "execution_accepted",
      ...fieldsOf(quoteHash, quote),
      bet: usdcText(quote.betAmount),
      pays: usdcText(quote.payout),
    }));
  },

  hedged(quoteHash: string, quote: UnsignedQuote): void {
    log.info("Execution hedged: {risk} at risk with {user}", () => ({
      event: "execution_hedged",
      ...fieldsOf(quoteHash, quote),
      risk: usdcText(riskOf(quote)),
    }));
  },

  /** The hedging service gave no valid answer; the execution is tried again. */
  hedgeFailed(
    quoteHash: Hex,
    failure: { service: string; status: number | undefined; reason: string },
  ): void {
    log.warn("{service} has not hedged execution {quoteHash} yet: {reason}", {
      event: "hedge_failed",
      quoteHash,
      ...failure,
    });
  },

  /** Refused before it was accepted. A final refusal for its price is recorded all the same. */
  refused(quoteHash: Hex, quote: UnsignedQuote, { code, message }: RangemakerError): void {
    log.info("Execution for {user} refused, {code}: {reason}", {
      event: "execution_refused",
      ...fieldsOf(quoteHash, quote),
      code,
      reason: message,
    });
  },

  /** An intent has reached its final state. */
  finished({ key, user, state, receipt, failure }: Intent): void {
    if (state === "committed" && receipt !== null) {
      const { thesisId, txHash } = receiptSchema.parse(JSON.parse(receipt));
      log.info("Execution committed: thesis {thesisId} of {user}", {
        event: "execution_committed",
        user,
        quoteHash: key,
        thesisId,
        txHash,
      });
      return;
    }
    log.info("Execution for {user} failed, {code}: {reason}", {
      event: "execution_failed",
      user,
      quoteHash: key,
      code: failure?.code,
      reason: failure?.message,
    });
  },

  /** A thesis has its result; the profit is the solver's. */
  settled(thesis: Thesis): void {
    const { id, user, quoteHash, status } = thesis;
    const profit = status === "won" ? -riskOf(thesis) : thesis.betAmount;
    log.info("Thesis {thesisId} settled: {user} has {result}, the solver's profit is {pnl}", {
      event: "thesis_settled",
      thesisId: id,
      user,
      quoteHash,
      result: status,
      pnl: usdcText(profit),
      profit: profit.toString(),
    });
  },

  /** The exposure came near its limit, or dropped well below it again. */
  exposureChanged(isNear: boolean, exposure: bigint, bound: bigint): void {
    const facts = {
      exposure: exposure.toString(),
      bound: bound.toString(),
      now: usdcText(exposure),
      most: usdcText(bound),
    };
    if (isNear) {
      log.warn(`Exposure of {now} is ${exposure > bound ? "above" : "near"} its limit of {most}`, {
        event: "exposure_near_bound",
        ...facts,
      });
    } else {
      log.info("Exposure of {now} is below the warning level of its limit {most} again", {
        event: "exposure_normal",
        ...facts,
      });
    }
  },
};
