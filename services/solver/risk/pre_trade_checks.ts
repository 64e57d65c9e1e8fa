import type { Clock } from "../../../lib/clock.ts";
import { SubmissionFailure } from "../../../lib/intents/submitter.ts";
import type { Account } from "../../../lib/protocol/account.ts";
import { type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import type { Quote, QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { type ExposureBook, riskOf } from "./exposure_book.ts";
import type { PricingStrategy } from "../pricing/strategy.ts";

/** What {@link PreTradeChecks} works with. */
export interface PreTradeChecksOptions {
  node: {
    getPrices(): Promise<Record<string, NodePrice>>;
    getAccount(address: Address): Promise<Account>;
  };
  solver: Address;
  clock: Clock;
  /** Those of the specification by default. */
  markets?: Markets;
  /** Most that the solver may lose on one thesis (payout minus bet), USDC with 6 decimals. */
  maxRisk: bigint;
  /** How long a hedge takes. */
  hedgeMs: number;
  strategy: Pick<PricingStrategy, "recheck">;
  /** What executions under way will take from the balances, the one that is checked included. */
  book: Pick<ExposureBook, "reserved" | "reservedBets">;
}

/** Made before an execution is recorded or hedged: a refusal here does not use the quote up. */
export class PreTradeChecks {
  readonly #options: PreTradeChecksOptions;

  constructor(options: PreTradeChecksOptions) {
    this.#options = options;
  }

  /**
   * Checks an execution that the book has reserved.
   *
   * @throws {RangemakerError} If a check fails or the node cannot be asked; `retryable` if time may help.
   */
  async require(quote: Quote): Promise<void> {
    this.requireStillGood(quote);
    const { node, solver, book, markets = SPEC_MARKETS } = this.#options;
    // Read before the balances: what is committed meanwhile is in one of the two at least, and what is
    // reserved meanwhile is checked after this one.
    const needed = book.reserved;
    const neededOfUser = book.reservedBets(quote.user);
    const [prices, own, users] = await Promise.all([
      node.getPrices(),
      node.getAccount(solver),
      node.getAccount(quote.user),
    ]);
    const symbol = markets.find(quote.base, quote.quote)?.symbol ?? "this pair";
    requireFreshPrice(symbol, prices[symbol]);
    requireUserBalance(quote, users.balance, neededOfUser);
    requireSolverBalance(own.balance, needed);
  }

  /**
   * The checks that need no node: time left for the hedge, risk and price. They are made again before
   * the hedge of an execution that was left unfinished for a while.
   *
   * @throws {RangemakerError} If a check fails; `retryable` if time may help.
   */
  requireStillGood(quote: Quote): void {
    this.requireTimeLeft(quote, this.#options.hedgeMs);
    this.#requireRisk(quote);
    this.#options.strategy.recheck(quote, quote.payout);
  }

  /** @throws {RangemakerError} `DEADLINE_PASSED` if the deadline is less than `neededMs` away. */
  requireTimeLeft({ deadline }: QuoteTerms, neededMs: number): void {
    const leftMs = deadline - this.#options.clock.now();
    if (leftMs < 0) {
      throw new RangemakerError(
        SubmissionFailure.deadlinePassed,
        `Quote deadline ${deadline} passed ${-leftMs} ms ago; request a new quote`,
      );
    }
    if (leftMs >= neededMs) return;
    throw new RangemakerError(
      SubmissionFailure.deadlinePassed,
      `Quote deadline ${deadline} is ${leftMs} ms away: hedging takes ${neededMs} ms, ${
        neededMs - leftMs
      } ms too long; request a quote with a later deadline`,
    );
  }

  #requireRisk(quote: Quote): void {
    const risk = riskOf(quote);
    const { maxRisk } = this.#options;
    if (risk <= maxRisk) return;
    throw new RangemakerError(
      "RISK_TOO_LARGE",
      `Payout ${quote.payout} would risk ${risk} on one thesis, ${
        risk - maxRisk
      } above ${maxRisk}; bet less`,
    );
  }
}

function requireUserBalance({ user, betAmount }: Quote, balance: bigint, needed: bigint): void {
  if (balance >= needed) return;
  const others = needed - betAmount;
  throw new RangemakerError(
    "INSUFFICIENT_BALANCE",
    `Balance ${balance} of user ${user} is ${needed - balance} short of the bet ${betAmount}${
      others <= 0n ? "" : ` and ${others} in executions under way`
    }: deposit first; the quote stays valid until its deadline`,
    { retryable: true },
  );
}

function requireSolverBalance(balance: bigint, needed: bigint): void {
  if (balance >= needed) return;
  throw new RangemakerError(
    "BALANCE_TOO_LOW",
    `Solver balance ${balance} is ${needed - balance} short of the ${needed} at risk in ` +
      "executions under way",
    { retryable: true },
  );
}

function requireFreshPrice(symbol: string, price: NodePrice | undefined): void {
  if (price?.state === "fresh") return;
  const age = price === undefined ? "it never had one" : `the last is ${price.ageMs} ms old`;
  throw new RangemakerError("PRICE_STALE", `Core node has no fresh price of ${symbol}: ${age}`, {
    retryable: true,
  });
}
