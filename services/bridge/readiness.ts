import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";

/** What the bridge needs to work, each with the reason where it is missing. */
export const readinessSchema = z.object({
  ready: z.boolean(),
  store: z.boolean().describe("The store can be written to"),
  node: z.boolean()
    .describe("The node answers, and is of the chain that signatures are made for"),
  relayer: z.boolean().describe("The node knows the bridge's account as a relayer"),
  problems: z.array(z.string()).describe("One sentence for each thing that is missing"),
}).meta({ id: "Readiness" });

/** What `GET /ready` answers. */
export type Readiness = z.output<typeof readinessSchema>;

/** What {@link checkReadiness} looks at. */
export interface ReadinessPorts {
  store: { check(): Promise<void> };
  node: {
    readonly url: string;
    chainId(): Promise<number>;
    getAccount(address: Address): Promise<Account>;
  };
  relayer: Address;
  chainId: number;
}

/** Looks at all that a deposit needs. Never throws: what fails is a problem. */
export async function checkReadiness(ports: ReadinessPorts): Promise<Readiness> {
  const { store, node, relayer, chainId } = ports;
  // Anyone may ask, and a URL may carry a password or a provider's key.
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
      if (actual === chainId) return undefined;
      return `Core node at ${nodeUrl} has chain id ${actual}: expected ${chainId}`;
    }),
    holds(async () => {
      const { permissions } = await node.getAccount(relayer);
      if (permissions.includes("relayer")) return undefined;
      return `Core node at ${nodeUrl} does not know ${relayer} as a relayer: deposits will fail`;
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
