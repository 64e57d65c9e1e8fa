import { failure, passed, type ServiceChecks, warning } from "../cli/checks/check.ts";
import { optionLabel } from "../cli/options.ts";
import { messageOf } from "../errors.ts";
import { StoreError } from "./errors.ts";
import { inspectStore } from "./open_store.ts";

/** An intent that is unfinished for longer will not finish without help. */
const STUCK_AFTER_MS = 300_000;

/**
 * Checks that the store of a service opens, is that of the service's key, and that no intent is
 * stuck.
 *
 * @param belongsToKey Its database belongs to one key.
 */
export function storeCheck(
  service: string,
  { belongsToKey }: { belongsToKey: boolean },
): NonNullable<ServiceChecks["checkStore"]> {
  return async (database, option, { clock, timeoutMs, signer }) => {
    try {
      const stuckBeforeMs = clock.now() - STUCK_AFTER_MS;
      const found = await inspectStore(database, service, stuckBeforeMs, timeoutMs);
      if (found === "memory") {
        return warning(
          `${database} is lost with the process, and so is unfinished work`,
          `Use a file: ${optionLabel(option)}`,
        );
      }
      if (found === "new") {
        return passed(`${database} is empty: the first start creates its tables`);
      }
      const { owner, version, latestVersion, unfinished, stuck, hasCommitted } = found;
      // Without a key, its own check fails.
      const { address } = await signer().catch(() => ({ address: owner }));
      if (belongsToKey && owner !== null && owner !== address) {
        return failure(
          `${database} belongs to the ${service} with the key of ${owner}, not of ${address}`,
          `Use that key, or another database: ${optionLabel(option)}`,
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
    } catch (thrown) {
      if (!(thrown instanceof StoreError)) throw thrown;
      return failure(messageOf(thrown), `Fix it, or use another database: ${optionLabel(option)}`);
    }
  };
}
