import type { Intent, IntentOutcome, NewIntent } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";

/** The intents of a store that have a reservation, oldest first: up to 1,000 intents. */
export async function reservedIntents(store: IntentStore): Promise<Intent[]> {
  return (await store.page(0, 1_000)).intents.filter(({ reserved }) => reserved);
}

/** An intent without a transaction, which a service records. */
export function newIntent(key: string, given: Partial<NewIntent> = {}): NewIntent {
  return {
    ...{ key, subject: "alice", payload: "{}", transaction: null },
    ...{ expiresAtMs: 2, createdAtMs: 1 },
    ...given,
  };
}

/** The end of an intent whose transaction was committed. */
export const COMMITTED: IntentOutcome = { state: "committed", receipt: null, failure: null };
