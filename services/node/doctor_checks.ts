import { IN_MEMORY } from "../../lib/database/database_url.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import {
  type CheckOutcome,
  passed,
  type ServiceChecks,
  warning,
} from "../../lib/cli/service_checks.ts";
import { startNode } from "./mod.ts";
import { type NodeOptions, options, resolveSettings } from "./options.ts";
import { inspectDataDir } from "./store/data_dir.ts";

/** What `rangemaker doctor` checks of the node besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "node",
  options,
  customChecks: (values) => [{
    subject: "data dir",
    remedy: "Fix it, or use another directory: --data-dir",
    run: () => checkDataDir(values),
  }],
  start: (values) => startNode(values),
};

async function checkDataDir(values: NodeOptions): Promise<CheckOutcome> {
  const { dataDir } = values;
  if (dataDir === IN_MEMORY) {
    return warning(
      "The chain is lost with the process: databases of solver and bridge will not fit the next one",
      "Use a directory: --data-dir",
    );
  }
  const found = inspectDataDir(dataDir, resolveSettings(values, await readMarkets(values.markets)));
  if (found === undefined) {
    return warning(
      `${dataDir} is empty: a start creates a new chain`,
      "If it should have one, restore that first",
    );
  }
  const text = `${dataDir} contains this chain, ${found.bytes} bytes`;
  return passed(found.isLocked ? `${text}; a running node has it open` : text);
}
