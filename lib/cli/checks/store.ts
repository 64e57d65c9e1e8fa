import { dirname } from "node:path";
import { messageOf } from "../../errors.ts";
import { StoreError } from "../../intents/intent.ts";
import { inspectStore, POSTGRES_URL } from "../../intents/open.ts";
import type { OptionSpec } from "../options.ts";
import { type Check, type CheckContext, fail, ok, optionLabel, warn } from "./check.ts";
import { addressOf, type Needs } from "./permissions.ts";

/** An intent that has been unfinished for longer is waiting for something that does not come by itself. */
const STUCK_AFTER_MS = 300_000;

/** The store of a service can be used, and holds no intents that do not come to an end. */
export function storeCheck(
  database: string,
  service: string,
  option: OptionSpec,
  { clock }: CheckContext,
): Check {
  return {
    subject: "store",
    async run() {
      try {
        const found = await inspectStore(database, service, clock.now() - STUCK_AFTER_MS);
        if (found === "memory") {
          return warn(
            `${database} keeps nothing: what is under way is lost with the process`,
            `Give a file with ${optionLabel(option)}`,
          );
        }
        if (found === "new") return ok(`${database} holds nothing yet: the first start makes it`);
        const { version, latestVersion, unfinished, stuck } = found;
        const text = `${database} has version ${version} of ${latestVersion}, ` +
          `${unfinished} unfinished intents, ${stuck} of them for over ${
            STUCK_AFTER_MS / 60_000
          } minutes`;
        if (stuck === 0) return ok(text);
        return warn(
          text,
          "Start the service, and look in its log why they stay unfinished: it tries them again and again",
        );
      } catch (thrown) {
        if (!(thrown instanceof StoreError)) throw thrown;
        return fail(messageOf(thrown), `Mend it, or give another one with ${optionLabel(option)}`);
      }
    },
  };
}

/** What a service has to be granted for its store. */
export function needsOfStore(database: string | undefined): Needs {
  if (database === undefined || database === ":memory:") return {};
  if (POSTGRES_URL.test(database)) return { net: [addressOf(database)], env: ["PGPASSWORD"] };
  const folder = dirname(database);
  return { read: [folder], write: [folder] };
}
