import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { RangemakerError } from "../../lib/errors.ts";
import {
  findHealthProblem,
  findWriteProblem,
  runReadinessChecks,
  storageProblem,
} from "../../lib/http/readiness.ts";
import { requireChainId } from "../../lib/intents/chain_guard.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { redactUrls } from "../../lib/redact.ts";
import type { MarketData } from "./market/market_data.ts";
import type { OwnAccount } from "./own_account.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

/** Whether the solver can quote and execute, with one sentence per problem. */
export const readinessSchema = z.object({
  ready: z.boolean(),
  store: z.boolean().describe("The store can be written to"),
  node: z.boolean().describe(
    "The node answers, accepts transactions, and has the expected chain id",
  ),
  balance: z.boolean().describe("The solver's account has a balance; not needed in dry-run mode"),
  feed: z.boolean().describe("The node's WebSocket is followed: open theses are known"),
  prices: z.boolean().describe("The strategy has the prices that it needs; always true for `mock`"),
  problems: z.array(z.string()).describe("One sentence per problem"),
}).meta({ id: "Readiness" });

export type Readiness = z.output<typeof readinessSchema>;

export interface ReadinessOptions {
  store: Pick<IntentStore, "requireWritable">;
  /** The problem that makes the health check fail. */
  findProblem(): Promise<RangemakerError | undefined>;
  node: Pick<CoreClient, "url" | "getChainId" | "acceptsTransactions">;
  account: Pick<OwnAccount, "read">;
  exposure: Pick<ExposureBook, "isComplete">;
  /** Undefined if the strategy needs no prices. */
  marketData: Pick<MarketData, "symbolsWithoutPrice" | "symbolsWithoutHistory"> | undefined;
  /** Oldest price that the strategy uses. */
  maxPriceAgeMs: number;
  clock: Clock;
  chainId: number;
  wsUrl: string;
  dryRun: boolean;
}

/** Checks everything that a bet needs. Never throws: a failure is a problem of the answer. */
export function checkReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { store, findProblem, node, exposure, marketData, maxPriceAgeMs, clock } = options;
  const { chainId, wsUrl, dryRun } = options;
  // A dry run submits nothing.
  const account = dryRun ? undefined : options.account.read();
  return runReadinessChecks({
    store: () => dryRun ? store.requireWritable() : findHealthProblem(findProblem, "store"),
    async node() {
      if (account === undefined) return await requireChainId(node, chainId);
      return await findWriteProblem(node) ?? await findHealthProblem(findProblem, "node") ??
        storageProblem(node, await account);
    },
    async balance() {
      if (account === undefined) return undefined;
      const { address, balance } = await account;
      return balance > 0n ? undefined : `Solver ${address} has no balance: deposit USDC for it`;
    },
    feed() {
      if (exposure.isComplete) return undefined;
      return `Open theses are not known: core node at ${redactUrls(wsUrl)} is not followed`;
    },
    prices() {
      if (marketData === undefined) return undefined;
      const priceless = marketData.symbolsWithoutPrice(clock.now(), maxPriceAgeMs);
      if (priceless.length > 0) return `No fresh price of ${priceless.join(", ")}`;
      const unread = marketData.symbolsWithoutHistory(clock.now());
      if (unread.length === 0) return undefined;
      const url = redactUrls(node.url);
      return `Prices of ${unread.join(", ")} are not read up to now from core node at ${url}`;
    },
  });
}
