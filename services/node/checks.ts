/** What `rangemaker doctor` tries for the node. */
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

/** Gives the settings; throws where the settings file is wrong. */
type Settings = () => Promise<NodeSettings>;

const healthSchema = z.object({ status: z.string(), blockNumber: z.number().optional() });

/** Everything that the node is told to use. */
export function checks(given: Given, context: CheckContext): Check[] {
  const { host, port, readPort, config, dataDir } = given;
  // What a settings file says is not known before it is read.
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

/** The settings that the node would run with, read once. */
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
          `Mend the file, or give another one with ${optionLabel(options.config)}`,
        );
      }
    },
  };
}

/** A check that needs the settings; where they are wrong, their own check says so. */
function withSettings(subject: string, find: (settings: NodeSettings) => ReturnType<Check["run"]>) {
  return (settings: Settings): Check => ({
    subject,
    async run() {
      let known: NodeSettings;
      try {
        known = await settings();
      } catch (thrown) {
        if (!(thrown instanceof RangemakerError)) throw thrown;
        return warn("Not known: the settings file is wrong", "Mend the settings file first");
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
  const remedy = "Give --relayers, --admins and --balances, or [genesis] in a settings file";
  if (isDevGenesis) {
    return Promise.resolve(
      warn(`${text}, all of the development accounts: everybody has their keys`, remedy),
    );
  }
  if (relayers.length > 0) return Promise.resolve(ok(text));
  return Promise.resolve(warn(`${text}: nobody could deposit anything`, remedy));
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
        `Start the oracle, or give its URL with ${optionLabel(options.oracleUrl)}`,
      );
    }
    const missing = MARKETS.map(({ symbol }) => symbol)
      .filter((symbol) => first.value.prices[symbol] === undefined);
    if (missing.length > 0) {
      return warn(
        `${serviceUrl} has no price of ${missing.join(", ")}`,
        "Run rangemaker doctor oracle where the oracle runs",
      );
    }
    // Once more, over the connection that now stands, as the node pulls.
    const second = await pricesOf(known, timeoutMs);
    if ("value" in second && second.tookMs <= pullTimeoutMs) {
      return ok(`${serviceUrl} has all ${MARKETS.length} prices`);
    }
    return warn(
      `${serviceUrl} took longer than the ${pullTimeoutMs} ms that a checkpoint waits`,
      `Bring the oracle nearer, or wait longer with ${optionLabel(options.oracleTimeoutMs)}`,
    );
  })(settings);
}

function oracleClockCheck(settings: Settings, { clock, timeoutMs }: CheckContext): Check {
  return withSettings("clock", async (known) => {
    const answer = await pricesOf(known, timeoutMs);
    if ("problem" in answer) return warn("Not known: the oracle did not answer", "Mend it first");
    const newestMs = Math.max(
      0,
      ...Object.values(answer.value.prices).map((price) => price.lastUpdate),
    );
    if (newestMs === 0) return warn("Not known: the oracle has no price", "Mend it first");
    return judgeClocks("the newest price of the oracle", clock.now() - newestMs);
  })(settings);
}

function dataDirCheck(path: string, settings: Settings): Check {
  return withSettings("data dir", ({ chainId, genesis, oracle: { ringBufferSize: ringSlots } }) => {
    try {
      const found = inspectDataDir(path, { chainId, genesis, ringSlots });
      if (found === undefined) return Promise.resolve(ok(`${path}: the chain begins there`));
      const { isHeld, journalBytes } = found;
      const text = `${path} holds this chain, ${journalBytes} bytes of journal`;
      return Promise.resolve(ok(isHeld ? `${text}; a node that runs has it open` : text));
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      const ways = optionLabel(options.dataDir);
      return Promise.resolve(fail(messageOf(thrown), `Mend it, or give another one with ${ways}`));
    }
  })(settings);
}
