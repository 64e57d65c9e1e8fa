import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";

/** What the bridge needs to work, and a reason for each thing that is missing. */
export const readinessSchema = z.object({
  ready: z.boolean(),
  store: z.boolean().describe("The store can be written to"),
  node: z.boolean()
    .describe("The node answers, and has the expected chain id and the chain of the store"),
  relayer: z.boolean().describe("The account of the bridge has the relayer permission"),
  problems: z.array(z.string()).describe("One sentence per problem"),
}).meta({ id: "Readiness" });

/** What `GET /ready` answers. */
export type Readiness = z.output<typeof readinessSchema>;

/** What {@link checkReadiness} checks. */
export interface ReadinessPorts {
  store: { check(): Promise<void> };
  guard: { require(): Promise<void> };
  node: {
    readonly url: string;
    chainId(): Promise<number>;
    getAccount(address: Address): Promise<Account>;
  };
  relayer: Address;
  chainId: number;
}

/** Checks everything that a deposit needs. Never throws: a failure is a problem of the answer. */
export async function checkReadiness(ports: ReadinessPorts): Promise<Readiness> {
  const { store, guard, node, relayer, chainId } = ports;
  // The answer is public, and a URL may contain a password or a provider's key.
  const nodeUrl = redactUrls(node.url);
  const problems: string[] = [];
  const holds = async (check: () => Promise<string | undefined>): Promise<boolean> => {
    const problem = await check().catch(messageOf);
    if (problem !== undefined) problems.push(problem);
    return problem === undefined;
  };
  const [storeWorks, nodeWorks, relayerKnown] = await Promise.all([
    holds(async () => {
      await store.check();
      return undefined;
    }),
    holds(async () => {
      const actual = await node.chainId();
      if (actual !== chainId) {
        return `Core node at ${nodeUrl} has chain id ${actual}: expected ${chainId}`;
      }
      await guard.require();
      return undefined;
    }),
    holds(async () => {
      const { permissions } = await node.getAccount(relayer);
      if (permissions.includes("relayer")) return undefined;
      return `Core node at ${nodeUrl} does not give ${relayer} the relayer permission: deposits will fail`;
    }),
  ]);
  return {
    ready: problems.length === 0,
    store: storeWorks,
    node: nodeWorks,
    relayer: relayerKnown,
    problems: [...new Set(problems)],
  };
}
