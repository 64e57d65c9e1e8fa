import { z } from "zod";
import { RangemakerError } from "../../lib/errors.ts";
import {
  findHealthProblem,
  findWriteProblem,
  runReadinessChecks,
  storageProblem,
} from "../../lib/http/readiness.ts";
import type { Clock } from "../../lib/clock.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { PollingLoop } from "../../lib/timing/polling_loop.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";
import { depositLog } from "./deposit_log.ts";
import { bridgeError } from "./errors.ts";

/** Time between two checks. */
const CHECK_INTERVAL_MS = 5_000;

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

export interface ReadinessOptions {
  node: Pick<CoreClient, "url" | "getAccount" | "acceptsTransactions">;
  /** The problem that makes the health check fail. */
  findProblem(): Promise<RangemakerError | undefined>;
  relayer: Address;
}

/** Whether the bridge can work, and why it refuses deposits that the node could not execute. */
export function createBridgeReadiness(
  clock: Clock,
  { node, findProblem, relayer }: ReadinessOptions,
) {
  const url = redactUrls(node.url);
  /** Why the node accepts no transactions. */
  let writeProblem: string | undefined;
  let isRelayer = true;
  const check = createCachedCall(
    (): Promise<Readiness> => {
      const account = node.getAccount(relayer);
      return runReadinessChecks({
        store: () => findHealthProblem(findProblem, "store"),
        node: async () => {
          writeProblem = await findWriteProblem(node);
          return writeProblem ?? await findHealthProblem(findProblem, "node") ??
            storageProblem(node, await account);
        },
        relayer: async () => {
          const { permissions } = await account;
          isRelayer = permissions.includes("relayer");
          if (isRelayer) return undefined;
          return `Core node at ${url} does not grant ${relayer} the relayer permission: deposits will fail`;
        },
      });
    },
    NODE_ANSWER_CACHED_MS,
    clock,
  );
  const polls = new PollingLoop({
    clock,
    poll: async () => {
      const { ready, problems, ...parts } = await check();
      // Logged again once other parts are missing.
      if (!ready) throw new RangemakerError(JSON.stringify(parts), problems.join(". "));
    },
    intervalMs: CHECK_INTERVAL_MS,
    onFailure: ({ message }) => depositLog.notReady(message),
    onRecovery: () => depositLog.ready(),
  });
  return {
    /**
     * Checks everything that a deposit needs, at most once a second. Never throws: a failure is a
     * problem of the answer. Each check also sees why the node would refuse deposits.
     */
    check,
    /** Whether the bridge has the relayer permission; true until the node says otherwise. */
    isRelayer: () => isRelayer,
    /** Why deposits are refused now. Asks the node again while they are. */
    async findRefusal(): Promise<RangemakerError | undefined> {
      if (writeProblem !== undefined || !isRelayer) await check();
      if (writeProblem !== undefined) {
        return new RangemakerError("NODE_UNREACHABLE", writeProblem, { retry: "later" });
      }
      return isRelayer ? undefined : bridgeError("PERMISSION_DENIED", { relayer, url });
    },
    start: () => polls.start(),
    stop: () => polls.stop(),
  };
}
