/** Checks of `rangemaker doctor` for the node. */
import { z } from "zod";
import {
  type Check,
  type CheckContext,
  fail,
  ok,
  optionLabel,
  warn,
} from "../../lib/cli/checks/check.ts";
import { judgeClocks } from "../../lib/cli/checks/core_node.ts";
import { getJson } from "../../lib/cli/checks/http.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/cli/checks/permissions.ts";
import { portCheck } from "../../lib/cli/checks/port.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import { inspectDataDir } from "./storage/data_dir.ts";
import { options } from "./options.ts";
import { oracleUrl } from "./oracle/oracle_client.ts";
import {
  DEFAULTS,
  type GivenSettings,
  type NodeSettings,
  readSettingsFile,
  resolveSettings,
} from "./settings.ts";

export { options };

type Given = Partial<OptionsOf<typeof options>>;

/** Reads the settings; throws if the settings file is invalid. */
type Settings = () => Promise<NodeSettings>;

const healthSchema = z.object({ status: z.string(), blockNumber: z.number().optional() });

/** Checks everything that the node is configured to use. */
export function checks(given: Given, context: CheckContext): Check[] {
  const { host, port, readPort, config, dataDir } = given;
  // The settings file is not read yet.
  const serviceUrl = given.oracleUrl ?? (config === undefined ? DEFAULTS.oracleUrl : undefined);
  const settings = settingsOf(given);
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfPort(host, readPort),
      needsOfUrls(serviceUrl && oracleUrl(serviceUrl)),
      { read: [config, dataDir].filter((path) => path !== undefined) },
      { write: dataDir === undefined ? [] : [dataDir] },
    ),
  ];
  if (config !== undefined) all.push(settingsCheck(config, settings));
  all.push(
    genesisCheck(settings),
    oracleCheck(settings, context),
    oracleClockCheck(settings, context),
  );
  if (dataDir !== undefined) all.push(dataDirCheck(dataDir, settings));
  if (host !== undefined) {
    const health = healthSchema;
    if (port !== undefined) {
      all.push(portCheck("port", { host, port, option: options.port, health }, context));
    }
    if (readPort !== undefined) {
      const target = { host, port: readPort, option: options.readPort, health };
      all.push(portCheck("read port", target, context));
    }
  }
  return all;
}

/** The settings that the node would use, read once. */
function settingsOf(given: Given): Settings {
  let file: Promise<GivenSettings> | undefined;
  return async () => {
    file ??= given.config === undefined ? Promise.resolve({}) : readSettingsFile(given.config);
    return resolveSettings(given, await file);
  };
}

function settingsCheck(config: string, settings: Settings): Check {
  return {
    subject: "settings",
    async run() {
      try {
        await settings();
        return ok(`${config} is a settings file`);
      } catch (thrown) {
        if (!(thrown instanceof RangemakerError)) throw thrown;
        return fail(
          thrown.message,
          `Fix the file, or choose another one with ${optionLabel(options.config)}`,
        );
      }
    },
  };
}

/** A check that needs the settings. If they are invalid, their own check reports it. */
function withSettings(subject: string, find: (settings: NodeSettings) => ReturnType<Check["run"]>) {
  return (settings: Settings): Check => ({
    subject,
    async run() {
      let known: NodeSettings;
      try {
        known = await settings();
      } catch (thrown) {
        if (!(thrown instanceof RangemakerError)) throw thrown;
        return warn("Not checked: the settings file is invalid", "Fix the settings file first");
      }
      return await find(known);
    },
  });
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

const genesisCheck = withSettings("genesis", ({ chainId, genesis, isDevGenesis }) => {
  const { relayers, admins, balances } = genesis;
  const counts = [
    counted(relayers.length, "relayer"),
    counted(admins.length, "admin"),
    counted(balances.size, "balance"),
  ];
  const text = `Chain ${chainId}: ${counts.join(", ")}`;
  const remedy = "Set --relayers, --admins and --balances, or [genesis] in a settings file";
  if (isDevGenesis) {
    return Promise.resolve(
      warn(`${text}, all of development accounts, whose keys are public`, remedy),
    );
  }
  if (relayers.length > 0) return Promise.resolve(ok(text));
  return Promise.resolve(warn(`${text}: nobody can deposit`, remedy));
});

function pricesOf({ oracle }: NodeSettings, timeoutMs: number) {
  return getJson(`${oracleUrl(oracle.serviceUrl)}/prices`, oraclePricesSchema, timeoutMs);
}

function oracleCheck(settings: Settings, { timeoutMs }: CheckContext): Check {
  return withSettings("oracle", async (known) => {
    const { serviceUrl, timeoutMs: pullTimeoutMs } = known.oracle;
    const first = await pricesOf(known, timeoutMs);
    if ("problem" in first) {
      return fail(
        `${serviceUrl}: ${first.problem}`,
        `Start the oracle, or set its URL with ${optionLabel(options.oracleUrl)}`,
      );
    }
    const missing = MARKETS.map(({ symbol }) => symbol)
      .filter((symbol) => first.value.prices[symbol] === undefined);
    if (missing.length > 0) {
      return warn(
        `${serviceUrl} has no price of ${missing.join(", ")}`,
        "Run rangemaker doctor oracle on the oracle's machine",
      );
    }
    // Again, over the connection that is now open, as the node pulls.
    const second = await pricesOf(known, timeoutMs);
    if ("value" in second && second.tookMs <= pullTimeoutMs) {
      return ok(`${serviceUrl} has all ${MARKETS.length} prices`);
    }
    return warn(
      `${serviceUrl} took longer than the ${pullTimeoutMs} ms that a checkpoint waits`,
      `Move the oracle closer, or raise the timeout with ${optionLabel(options.oracleTimeoutMs)}`,
    );
  })(settings);
}

function oracleClockCheck(settings: Settings, { clock, timeoutMs }: CheckContext): Check {
  return withSettings("clock", async (known) => {
    const answer = await pricesOf(known, timeoutMs);
    if ("problem" in answer) {
      return warn("Not checked: the oracle did not answer", "Fix that first");
    }
    const newestMs = Math.max(
      0,
      ...Object.values(answer.value.prices).map((price) => price.lastUpdate),
    );
    if (newestMs === 0) return warn("Not checked: the oracle has no price", "Fix that first");
    return judgeClocks("the newest price of the oracle", clock.now() - newestMs);
  })(settings);
}

function dataDirCheck(path: string, settings: Settings): Check {
  return withSettings("data dir", ({ chainId, genesis, oracle: { ringBufferSize: ringSlots } }) => {
    try {
      const found = inspectDataDir(path, { chainId, genesis, ringSlots });
      if (found === undefined) return Promise.resolve(ok(`${path}: a new chain starts there`));
      const { isHeld, journalBytes } = found;
      const text = `${path} contains this chain, with ${journalBytes} bytes of journal`;
      return Promise.resolve(ok(isHeld ? `${text}; a running node has it open` : text));
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      const ways = optionLabel(options.dataDir);
      return Promise.resolve(fail(messageOf(thrown), `Fix it, or choose another one with ${ways}`));
    }
  })(settings);
}
