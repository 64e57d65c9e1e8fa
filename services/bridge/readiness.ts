import { z } from "zod";
import { chainProblem, runChecks } from "../../lib/http/readiness.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";

/** Whether the bridge can work, with a reason for each thing that is missing. */
export const readinessSchema = z.object({
  ready: z.boolean(),
  store: z.boolean().describe("The store can be written to"),
  node: z.boolean()
    .describe("The node answers, and has the expected chain id and the chain of the store"),
  relayer: z.boolean().describe("The account of the bridge has the relayer permission"),
  problems: z.array(z.string()).describe("One sentence per problem"),
}).meta({ id: "Readiness" });

/** The answer of `GET /ready`. */
export type Readiness = z.output<typeof readinessSchema>;

export interface ReadinessPorts {
  intents: {
    store: { check(): Promise<void> };
    /** The node. */
    probe: Pick<CoreClient, "url" | "chainId" | "getAccount">;
    requireChain(): Promise<void>;
  };
  relayer: Address;
  chainId: number;
}

/** Checks everything that a deposit needs. Never throws: a failure is a problem of the answer. */
export function checkReadiness(ports: ReadinessPorts): Promise<Readiness> {
  const { intents: { store, probe: node, requireChain }, relayer, chainId } = ports;
  return runChecks({
    store: () => store.check(),
    node: async () => await chainProblem(node, chainId) ?? await requireChain(),
    async relayer() {
      const { permissions } = await node.getAccount(relayer);
      if (permissions.includes("relayer")) return undefined;
      const url = redactUrls(node.url);
      return `Core node at ${url} does not give ${relayer} the relayer permission: deposits will fail`;
    },
  });
}
