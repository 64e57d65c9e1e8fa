import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../lib/clock.ts";
import { ClockComparison } from "../../lib/intents/clock_comparison.ts";
import {
  acceptedIntent,
  type Intent,
  type IntentOutcome,
  type NewIntent,
} from "../../lib/intents/intent.ts";
import { insertStatement } from "../../lib/intents/intent_rows.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { SubmitterOptions } from "../../lib/intents/submitter.ts";

/** The intents of a store that have a reservation, oldest first: up to 1,000 intents. */
export async function reservedIntents(store: IntentStore): Promise<Intent[]> {
  return (await store.readPage(0, 1_000)).intents.filter(({ reserved }) => reserved);
}

/** Records an intent with a reservation, about which nothing is decided. */
export async function insertReserved(store: IntentStore, intent: NewIntent): Promise<Intent> {
  const { sql, values } = insertStatement(store.service, acceptedIntent(intent, 0, true));
  await store.db.write(sql, values);
  return await store.get(intent.key);
}

/** An intent without a transaction, which a service records. */
export function newIntent(key: string, overrides: Partial<NewIntent> = {}): NewIntent {
  return {
    key,
    user: "alice",
    payload: "{}",
    transaction: null,
    expiresAtMs: 2,
    createdAtMs: 1,
    ...overrides,
  };
}

export function onlyChain(clock: Pick<Clock, "now">): SubmitterOptions["guard"] {
  const clocks = new ClockComparison(getLogger("test"));
  return {
    async requireChain() {
      await Promise.resolve();
      clocks.observe({ number: 0, timestampMs: clock.now() }, clock.now());
    },
    onCommitted() {},
    clocks,
  };
}

/** The end of an intent whose transaction was committed. */
export const COMMITTED: IntentOutcome = { state: "committed", receipt: null, failure: null };
