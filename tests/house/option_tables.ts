import { loadCommand, type RunnableCommand } from "../../lib/cli/command.ts";
import { type Environment, type OptionTable, parseOptions } from "../../lib/cli/options.ts";
import { commands } from "../../main.ts";
import { options as bridge } from "../../services/bridge/mod.ts";
import { options as console } from "../../services/console/mod.ts";
import { options as exchanges } from "../../services/exchanges/mod.ts";
import { options as backfill } from "../../services/backfill/mod.ts";
import { options as node } from "../../services/node/mod.ts";
import { options as oracle } from "../../services/oracle/mod.ts";
import { options as proxy } from "../../services/proxy/mod.ts";
import { options as solver } from "../../services/solver/mod.ts";

export const OPTION_TABLES: Record<string, OptionTable> = {
  solver,
  bridge,
  proxy,
  oracle,
  node,
  backfill,
  console,
  exchanges,
};

/**
 * Parses the words behind `rangemaker` with the options of the command that they name.
 *
 * @throws {UsageError} On an unknown command or option, then on a wrong or missing value.
 */
export async function parseCommandLine(
  [name = "", ...words]: readonly string[],
  env: Environment,
): Promise<void> {
  let run: RunnableCommand = await loadCommand(commands, name);
  const flagsAt = words.findIndex((word) => word.startsWith("-"));
  const names = words.splice(0, flagsAt < 0 ? words.length : flagsAt);
  for (const word of names) run = await loadCommand(run.subcommands, word);
  parseOptions(run.definition, run.definition.options, words, env);
}
