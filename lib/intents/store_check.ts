import { type Check, type CheckContext, failure, passed, warning } from "../cli/service_checks.ts";
import type { Address } from "../protocol/scalars.ts";
import { inspectStore } from "./open_store.ts";

/** An intent that is unfinished for longer will not finish without help. */
const STUCK_AFTER_MS = 300_000;

/**
 * Checks that the store of a service opens, and that no intent is stuck.
 *
 * @param address The account that the store has to belong to; any by default.
 */
export function storeCheck(
  service: string,
  database: string,
  { clock, timeoutMs }: CheckContext,
  address?: Address,
): Check {
  return {
    subject: "store",
    remedy: "Fix it, or use another one: --database",
    async run() {
      const stuckBeforeMs = clock.now() - STUCK_AFTER_MS;
      const found = await inspectStore(database, service, stuckBeforeMs, timeoutMs);
      if (found === "memory") {
        return warning(
          `${database} is lost with the process, and so is unfinished work`,
          "Use a file: --database",
        );
      }
      if (found === "new") {
        return passed(`${database} has no tables of rangemaker: the first start creates them`);
      }
      const { owner, version, latestVersion, unfinished, stuck, hasCommitted } = found;
      if (address !== undefined && owner !== null && owner !== address) {
        return failure(
          `${database} belongs to the ${service} with the key of ${owner}, not of ${address}`,
          "Use that key, or another database: --database",
        );
      }
      const text = `${database} has version ${version} of ${latestVersion}, ${unfinished} ` +
        `unfinished intents, ${stuck} of them for over ${STUCK_AFTER_MS / 60_000} minutes` +
        (hasCommitted ? "" : "; none is committed, so a node that was restored is not noticed");
      if (stuck === 0) return passed(text);
      return warning(
        text,
        "Start the service, which retries them, and see its log for why they do not finish",
      );
    },
  };
}
