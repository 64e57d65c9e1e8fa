import { z } from "zod";
import type { RangemakerError } from "../../lib/errors.ts";
import {
  chainProblem,
  healthProblem,
  runReadinessChecks,
  storageProblem,
  writeProblem,
} from "../../lib/http/readiness.ts";
import type { Clock } from "../../lib/clock.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { PollingLoop } from "../../lib/timing/polling_loop.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { redactUrls } from "../../lib/redact.ts";
import { bridgeError } from "./errors.ts";

/** Time between two looks at the own permission. */
const PERMISSION_INTERVAL_MS = 5_000;

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
  node: Pick<CoreClient, "url" | "chainId" | "getAccount" | "acceptsTransactions">;
  /** The problem that makes the health check fail. */
  problem(): Promise<RangemakerError | undefined>;
  relayer: Address;
  chainId: number;
  /** Called with each answer of the node. */
  onPermission(isRelayer: boolean): void;
}

/** Whether the bridge can work, and whether it refuses deposits because it is no relayer. */
export class BridgeReadiness {
  /**
   * Checks everything that a deposit needs, at most once a second. Never throws: a failure is a
   * problem of the answer. Each check also sees the permission.
   */
  readonly check: () => Promise<Readiness>;
  readonly #options: ReadinessOptions;
  readonly #refusal: RangemakerError;
  readonly #polls: PollingLoop;
  /** Until the node says otherwise. */
  #isRelayer = true;

  constructor(clock: Clock, options: ReadinessOptions) {
    const { node, relayer } = options;
    this.#options = options;
    this.check = createCachedCall(() => this.#check(), NODE_ANSWER_CACHED_MS, clock);
    this.#refusal = bridgeError("PERMISSION_DENIED", { relayer, url: redactUrls(node.url) });
    this.#polls = new PollingLoop({
      clock,
      poll: async () => void await this.check(),
      intervalMs: PERMISSION_INTERVAL_MS,
    });
  }

  start(): void {
    this.#polls.start(PERMISSION_INTERVAL_MS);
  }

  stop(): Promise<void> {
    return this.#polls.stop();
  }

  /** Why deposits are refused now. Asks the node again while they are. */
  async permissionProblem(): Promise<RangemakerError | undefined> {
    if (!this.#isRelayer) await this.check();
    return this.#isRelayer ? undefined : this.#refusal;
  }

  #check(): Promise<Readiness> {
    const { node, problem, relayer, chainId, onPermission } = this.#options;
    const account = node.getAccount(relayer);
    return runReadinessChecks({
      store: () => healthProblem(problem, "store"),
      node: async () =>
        await chainProblem(node, chainId) ?? await writeProblem(node) ??
          await healthProblem(problem, "node") ?? storageProblem(node, await account),
      relayer: async () => {
        const { permissions } = await account;
        this.#isRelayer = permissions.includes("relayer");
        onPermission(this.#isRelayer);
        if (this.#isRelayer) return undefined;
        const url = redactUrls(node.url);
        return `Core node at ${url} does not grant ${relayer} the relayer permission: deposits will fail`;
      },
    });
  }
}
