import { z } from "zod";
import type { RangemakerError } from "../../lib/errors.ts";
import {
  chainProblem,
  findProblems,
  healthProblem,
  storageProblem,
  writeProblem,
} from "../../lib/http/readiness.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { redactUrls } from "../../lib/redact.ts";

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
  store: { checkWritable(): Promise<void> };
  /** The problem that makes the health check fail. */
  problem(): Promise<RangemakerError | undefined>;
  node: Pick<CoreClient, "url" | "chainId" | "acceptsTransactions">;
  account(): Promise<Account>;
  exposure: { readonly isComplete: boolean };
  /** Symbols of the markets that cannot be priced now. */
  symbolsWithoutPrice(): readonly string[];
  chainId: number;
  wsUrl: string;
  dryRun: boolean;
}

/** Checks everything that a bet needs. Never throws: a failure is a problem of the answer. */
export function checkReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { store, node, exposure, chainId, wsUrl, dryRun } = options;
  // A dry run submits nothing.
  const account = dryRun ? undefined : options.account();
  return findProblems({
    store: () => dryRun ? store.checkWritable() : healthProblem(options.problem, "store"),
    async node() {
      const problem = await chainProblem(node, chainId);
      if (problem !== undefined || account === undefined) return problem;
      return await writeProblem(node) ?? await healthProblem(options.problem, "node") ??
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
      const symbols = options.symbolsWithoutPrice();
      return symbols.length === 0 ? undefined : `No fresh price of ${symbols.join(", ")}`;
    },
  });
}
