import { messageOf } from "../../../lib/errors.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { OracleFeed } from "./oracle_feed.ts";
import type { Pull } from "./oracle_pull.ts";
import type { OracleStatus, PullOutcome } from "./oracle_status.ts";
import type { PriceWatch } from "./price_watch.ts";

/** What a {@link PricePuller} works with. */
export interface PricePullerParts {
  pull: Pull;
  feed: OracleFeed;
  status: OracleStatus;
  watch: PriceWatch;
  clock: Clock;
  onPull(outcome: PullOutcome): void;
}

/** Pulls prices into the feed, one pull at a time, and takes note of how it went. */
export class PricePuller {
  readonly #parts: PricePullerParts;

  constructor(parts: PricePullerParts) {
    this.#parts = parts;
  }

  /** Pulls once. Never rejects: on failure the feed keeps the last known prices. */
  async run(): Promise<void> {
    const { pull, feed, status, watch, clock, onPull } = this.#parts;
    const result = await pull();
    const nowMs = clock.now();
    let outcome: PullOutcome = "ok";
    let reason = "";
    if ("failure" in result) {
      outcome = result.failure;
      reason = result.reason;
    } else {
      try {
        feed.update(result.body, nowMs);
      } catch (thrown) {
        outcome = "invalid";
        reason = messageOf(thrown);
      }
    }
    status.record(outcome, reason, nowMs);
    onPull(outcome);
    watch.look(nowMs);
  }
}
