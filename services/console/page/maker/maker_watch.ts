import { type Signal, signal } from "@preact/signals";
import { z } from "zod";
import { isRangemakerError, type Thesis } from "../../../../lib/client/mod.ts";
import type { Clock } from "../../../../lib/clock.ts";
import { callJson } from "../../../../lib/net/call_json.ts";
import { CoreClient } from "../../../../lib/net/core_client.ts";
import { PollingLoop } from "../../../../lib/net/polling_loop.ts";
import type { Account } from "../../../../lib/protocol/account.ts";
import { addressSchema } from "../../../../lib/protocol/scalars.ts";
import type { PageConfig } from "../../page_config.ts";
import { ThesesBook } from "./theses_book.ts";

/** Between two passes. */
const POLL_MS = 1_500;

/** The parts of the solver's `GET /info` that are shown. */
const infoSchema = z.object({
  address: addressSchema,
  dryRun: z.boolean(),
  pricing: z.string(),
});

/** What is known of the solver and its bets. */
export interface MakerState {
  info: z.output<typeof infoSchema>;
  account: Account;
  /** Oldest first. */
  theses: readonly Thesis[];
}

/** Follows a solver's account and bets while it is started. */
export class MakerWatch {
  /** Undefined before the first answers. */
  readonly state: Signal<MakerState | undefined> = signal(undefined);
  /** Why the state is not the newest; undefined if it is. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  readonly #solverUrl: string;
  readonly #node: CoreClient;
  readonly #loop: PollingLoop;
  #book: ThesesBook | undefined;

  constructor({ urls }: PageConfig, clock: Clock) {
    this.#solverUrl = urls.solver.replace(/\/+$/, "");
    this.#node = new CoreClient({ url: urls.proxy });
    this.#loop = new PollingLoop({
      clock,
      intervalMs: POLL_MS,
      poll: (signal) => this.#read(signal),
      onFailure() {},
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.pause();
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      const known = this.state.value?.info;
      // The bets are known without the solver, once its address is.
      const info = await callJson(`${this.#solverUrl}/info`, infoSchema, undefined, { signal })
        .catch((thrown) => known ?? Promise.reject(thrown));
      if (known?.address !== info.address) this.#book = undefined;
      this.#book ??= new ThesesBook(this.#node, info.address);
      await this.#book.refresh();
      const account = await this.#node.getAccount(info.address);
      if (signal.aborted) return;
      this.state.value = { info, account, theses: this.#book.theses };
      this.problem.value = undefined;
    } catch (thrown) {
      if (!signal.aborted && isRangemakerError(thrown)) this.problem.value = thrown.message;
      throw thrown;
    }
  }
}
