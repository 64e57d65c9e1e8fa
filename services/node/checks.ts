/** The node's own checks for `rangemaker doctor`. */
import { z } from "zod";
import {
  BlockedError,
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceChecks,
  warn,
} from "../../lib/cli/checks/check.ts";
import { clockFinding } from "../../lib/cli/checks/node.ts";
import { getJson } from "../../lib/cli/checks/port.ts";
import { optionLabel, withDefaults } from "../../lib/cli/options.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { IN_MEMORY } from "../../lib/intents/database_url.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { options, ORACLE_SETTINGS } from "./options.ts";
import { oracleUrl } from "./oracle/oracle_client.ts";
import { type NodeSettings, resolveSettings } from "./settings.ts";
import { inspectDataDir } from "./store/open_database.ts";

/** Pulls of the oracle until one is quick enough. */
const PULLS_MAX = 10;

export const checks: ServiceChecks<typeof options> = {
  service: "node",
  options,
  settingsOfOtherServices: ORACLE_SETTINGS,
  health: z.object({ status: z.string(), blockNumber: z.number().optional() }),
  customChecks(values, context) {
    // A separate check reports options without a value.
    const given = withDefaults(options, values);
    const read = async () => resolveSettings(given, await readMarkets(values.markets));
    const withSettings =
      (check: (settings: NodeSettings) => Finding | Promise<Finding>) => async () =>
        await check(await read().catch(blockedIfWrong));
    return [
      optionalCheck("genesis", read, withSettings(genesisFinding)),
      optionalCheck("oracle", read, withSettings((settings) => checkOracle(settings, context))),
      optionalCheck("clock", read, withSettings((settings) => compareClocks(settings, context))),
      optionalCheck(
        "data dir",
        values.dataDir,
        (path) =>
          path === IN_MEMORY
            ? Promise.resolve(chainInMemory())
            : withSettings((settings) => checkDataDir(path, settings))(),
      ),
    ];
  },
};

/** The check of the markets reports a wrong file; other checks are blocked by it. */
function blockedIfWrong(thrown: unknown): never {
  if (!(thrown instanceof RangemakerError)) throw thrown;
  throw new BlockedError("the markets file is wrong", "the markets file");
}

function genesisFinding({ chainId, permissions, balances, isDevGenesis }: NodeSettings): Finding {
  const counts = [
    counted(permissions.relayers.length, "relayer"),
    counted(permissions.admins.length, "admin"),
    counted(balances?.size ?? 0, "balance"),
  ];
  const text = `Chain ${chainId}: ${counts.join(", ")}`;
  const remedy =
    "Give --relayers, --admins and --balances, or set them in [node] of the settings file";
  if (isDevGenesis) {
    return warn(`${text}, all development accounts, whose keys are publicly known`, remedy);
  }
  return permissions.relayers.length > 0 ? ok(text) : warn(`${text}: nobody can deposit`, remedy);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function getPrices({ oracleUrl: url }: NodeSettings, { timeoutMs }: CheckContext) {
  return getJson(`${oracleUrl(url)}/prices`, oraclePricesSchema, timeoutMs);
}

async function checkOracle(settings: NodeSettings, context: CheckContext): Promise<Finding> {
  const { oracleUrl: serviceUrl, oracleTimeoutMs: pullTimeoutMs } = settings;
  const first = await getPrices(settings, context);
  if ("problem" in first) {
    return fail(
      `${serviceUrl}: ${first.problem}`,
      `Start the oracle, or correct its URL: ${optionLabel(options.oracleUrl)}`,
    );
  }
  const missing = settings.markets.symbols
    .filter((symbol) => first.value.prices[symbol] === undefined);
  if (missing.length > 0) {
    return warn(
      `${serviceUrl} has no price of ${missing.join(", ")}`,
      "Run rangemaker doctor oracle on the oracle's machine",
    );
  }
  // Repeated over the open connection, as the node pulls: other checks may keep this process busy.
  for (let attempt = 1; attempt <= PULLS_MAX; attempt += 1) {
    const pull = await getPrices(settings, context);
    if ("value" in pull && pull.tookMs <= pullTimeoutMs) {
      return ok(`${serviceUrl} has all ${settings.markets.list.length} prices`);
    }
  }
  return warn(
    `${serviceUrl} took longer than the ${pullTimeoutMs} ms that a checkpoint waits, ${PULLS_MAX} times`,
    `Run the oracle nearby, or wait longer: ${optionLabel(options.oracleTimeoutMs)}`,
  );
}

async function compareClocks(settings: NodeSettings, context: CheckContext): Promise<Finding> {
  const answer = await getPrices(settings, context);
  if ("problem" in answer) throw new BlockedError("the oracle did not answer", "the oracle");
  const prices = Object.values(answer.value.prices);
  if (prices.length === 0) throw new BlockedError("the oracle has no price", "the oracle");
  const newestMs = Math.max(...prices.map(({ lastUpdate }) => lastUpdate));
  return clockFinding("the newest price of the oracle", context.clock.now() - newestMs);
}

function chainInMemory(): Finding {
  return warn(
    "The chain is lost with the process: databases of solver and bridge will not fit the next one",
    `Use a directory: ${optionLabel(options.dataDir)}`,
  );
}

function checkDataDir(path: string, settings: NodeSettings): Finding {
  try {
    const found = inspectDataDir(path, settings);
    if (found === undefined) return ok(`${path} is empty: the first start creates the chain`);
    const text = `${path} contains this chain, ${found.bytes} bytes`;
    return ok(found.isLocked ? `${text}; a running node has it open` : text);
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    const other = optionLabel(options.dataDir);
    return fail(messageOf(thrown), `Fix it, or use another directory: ${other}`);
  }
}
