/** What an operator runs after the node was restored from a backup. */
import { createRegistry } from "../http/metrics.ts";
import type { Intent } from "./intent.ts";
import { IntentService, type IntentServiceOptions } from "./intent_service.ts";

/** What became of one committed intent: the node has it, it was repaired, or that failed. */
export type Repair = "present" | "repaired" | { failed: string };

/** How many intents ended in which way. */
export interface RepairReport {
  present: number;
  repaired: number;
  failed: number;
}

/**
 * Goes through the committed intents of a store, oldest first. If none failed, the store accepts the
 * node's chain as it is now, and its service submits again.
 *
 * @param repair Brings an intent and the chain into line. It may run again for the same intent.
 * @throws {ChainError} If the node has another chain.
 */
export async function repairCommitted(
  options: Omit<IntentServiceOptions, "registry" | "retain">,
  repair: (intents: IntentService, intent: Intent) => Promise<Repair>,
  print: (line: string) => void,
): Promise<RepairReport> {
  const report = { present: 0, repaired: 0, failed: 0 };
  const intents = await IntentService.open({
    ...options,
    ...{ registry: createRegistry(0), retain: Number.POSITIVE_INFINITY },
  });
  try {
    await intents.requireGenesis();
    for await (const intent of intents.store.committed()) {
      const result = await repair(intents, intent);
      if (typeof result === "string") report[result] += 1;
      else {
        report.failed += 1;
        print(`${intent.key} failed: ${result.failed}`);
      }
    }
    report.failed += intents.damagedRows;
    if (report.failed > 0) return report;
    await intents.store.remember({ resetBlock: await intents.requireGenesis() });
    return report;
  } finally {
    await intents.close();
  }
}
