import type { Logger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { cached } from "../net/cached.ts";
import { PollingLoop } from "../net/polling_loop.ts";
import { ChainMismatchError } from "./chain_guard.ts";
import { StoreError } from "./intent.ts";

/** How long the result of a check is cached. */
const CHECKED_MS = 1_000;

/** Time between two background checks. */
const INTERVAL_MS = 5_000;

/** Dependencies of a {@link StoreHealth}. */
export interface StoreHealthOptions {
  store: { check(): Promise<void> };
  guard: { require(): Promise<void> };
  clock: Clock;
  log: Logger;
}

/** Whether a service can use its store: the disk accepts writes, and the node has the store's chain. */
export class StoreHealth {
  /** Checks, or returns a result from the last second. @returns The problem, if there is one. */
  readonly problem: () => Promise<RangemakerError | undefined>;
  readonly #options: StoreHealthOptions;
  readonly #loop: PollingLoop;
  #isFailing = false;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
    const { clock } = options;
    this.problem = cached(() => this.#check(), CHECKED_MS, clock);
    const poll = async () => void await this.problem();
    this.#loop = new PollingLoop({ clock, poll, intervalMs: INTERVAL_MS, onFailure() {} });
  }

  /** Starts background checks, so that a failure is logged even without requests. */
  start(): void {
    this.#loop.start();
  }

  /** Stops; resolves when no check is in flight. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Logs once when it fails, and once when it works again. */
  async #check(): Promise<RangemakerError | undefined> {
    const { log } = this.#options;
    const problem = await this.#find();
    if (problem !== undefined && !this.#isFailing) {
      log.error("Nothing can be submitted ({code}): {reason}", {
        code: problem.code,
        reason: problem.message,
      });
    }
    if (problem === undefined && this.#isFailing) log.info("The store can be used again");
    this.#isFailing = problem !== undefined;
    return problem;
  }

  async #find(): Promise<RangemakerError | undefined> {
    const { store, guard } = this.#options;
    try {
      await store.check();
      await guard.require();
    } catch (thrown) {
      if (thrown instanceof StoreError || thrown instanceof ChainMismatchError) return thrown;
      // An unreachable node is not a failure of the store.
      if (!(thrown instanceof RangemakerError)) throw thrown;
    }
  }
}

/** The members of a health answer that name a problem. */
export function problemFields(problem: RangemakerError): { code: string; reason: string } {
  return { code: problem.code, reason: problem.message };
}
