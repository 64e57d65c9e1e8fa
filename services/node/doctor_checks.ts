import {
  type CheckOutcome,
  failure,
  passed,
  type ServiceChecks,
  warning,
} from "../../lib/cli/checks/check.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { IN_MEMORY } from "../../lib/database/database_url.ts";
import { startNode } from "./mod.ts";
import { type NodeSettings, options, resolveSettings } from "./options.ts";
import { inspectDataDir } from "./store/data_dir.ts";

/** What `rangemaker doctor` checks of the node besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "node",
  options,
  start: (nodeOptions) => startNode(nodeOptions),
  customChecks(nodeOptions) {
    const settings = async () =>
      resolveSettings(nodeOptions, await readMarkets(nodeOptions.markets));
    return [
      { subject: "genesis", run: async () => genesisFinding(await settings()) },
      { subject: "data dir", run: async () => checkDataDir(nodeOptions.dataDir, await settings()) },
    ];
  },
};

function genesisFinding({ chainId, permissions, isDevGenesis }: NodeSettings): CheckOutcome {
  const { relayers, admins } = permissions;
  const text = `Chain ${chainId} with relayers (${relayers.length}) and admins (${admins.length})`;
  const remedy = "Give --relayers and --admins, or set them in [node] of the settings file";
  if (isDevGenesis) return warning(`${text}, whose keys are publicly known`, remedy);
  return relayers.length > 0 ? passed(text) : warning(`${text}: nobody can deposit`, remedy);
}

function checkDataDir(path: string, settings: NodeSettings): CheckOutcome {
  if (path === IN_MEMORY) {
    return warning(
      "The chain is lost with the process: databases of solver and bridge will not fit the next one",
      `Use a directory: ${optionLabel(options.dataDir)}`,
    );
  }
  try {
    const found = inspectDataDir(path, settings);
    if (found === undefined) {
      return warning(
        `${path} is empty: a start creates a new chain`,
        "If it should have one, restore that first",
      );
    }
    const text = `${path} contains this chain, ${found.bytes} bytes`;
    return passed(found.isLocked ? `${text}; a running node has it open` : text);
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    return failure(
      messageOf(thrown),
      `Fix it, or use another directory: ${optionLabel(options.dataDir)}`,
    );
  }
}
