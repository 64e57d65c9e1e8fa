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
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";

/** Whether the bridge can work, with one sentence per problem. */
export const readinessSchema = z.object({
  ready: z.boolean(),
  store: z.boolean().describe("The store can be written to"),
  node: z.boolean()
    .describe(
      "The node answers, accepts transactions, and has the expected chain id and the chain of the store",
    ),
  relayer: z.boolean().describe("The account of the bridge has the relayer permission"),
  problems: z.array(z.string()).describe("One sentence per problem"),
}).meta({ id: "Readiness" });

export type Readiness = z.output<typeof readinessSchema>;

export interface ReadinessParts {
  node: Pick<CoreClient, "url" | "chainId" | "getAccount" | "acceptsTransactions">;
  /** The problem that makes the health check fail. */
  problem(): Promise<RangemakerError | undefined>;
  relayer: Address;
  chainId: number;
  /** Called with each answer of the node. */
  onPermission(isRelayer: boolean): void;
}

/** Checks everything that a deposit needs. Never throws: a failure is a problem of the answer. */
export function checkReadiness(parts: ReadinessParts): Promise<Readiness> {
  const { node, problem, relayer, chainId, onPermission } = parts;
  const account = node.getAccount(relayer);
  return findProblems({
    store: () => healthProblem(problem, "store"),
    node: async () =>
      await chainProblem(node, chainId) ?? await writeProblem(node) ??
        await healthProblem(problem, "node") ?? storageProblem(node, await account),
    async relayer() {
      const { permissions } = await account;
      const isRelayer = permissions.includes("relayer");
      onPermission(isRelayer);
      if (isRelayer) return undefined;
      const url = redactUrls(node.url);
      return `Core node at ${url} does not give ${relayer} the relayer permission: deposits will fail`;
    },
  });
}
