import type { Intent } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";

/** The intents of a store that have a reservation, oldest first: up to 1,000 intents. */
export async function reservedIntents(store: IntentStore): Promise<Intent[]> {
  return (await store.page(0, 1_000)).intents.filter(({ reserved }) => reserved);
}
