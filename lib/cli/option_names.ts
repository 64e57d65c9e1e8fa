/**
 * Names of options outside the command line, computed from their flags: `--max-risk` of the solver
 * is the variable `RANGEMAKER_SOLVER_MAX_RISK` and the setting `max_risk` in section `[solver]`.
 */
import { didYouMean } from "./did_you_mean.ts";
import {
  type CommandText,
  type OptionRows,
  type OptionSpec,
  type OptionTable,
  optionTable,
  UsageError,
} from "./option_table.ts";
import { SHARED_OPTIONS } from "./shared_options.ts";

/** Start of every computed name. */
export const VARIABLE_PREFIX = "RANGEMAKER_";

/** End of the name of a variable with the path of a file that contains a secret. */
export const FILE_SUFFIX = "_FILE";

/** Every command of the program. Names of variables and sections begin with a command's words. */
export const COMMAND_NAMES = [
  "demo",
  "stack",
  "solver",
  "bridge",
  "proxy",
  "oracle",
  "node",
  "backfill",
  "console",
  "exchanges",
  "doctor",
  "key",
  "completion",
] as const;

export type CommandName = (typeof COMMAND_NAMES)[number];

/**
 * The options of one command, named after it. Options of another command keep that command's names.
 *
 * @param command Its words, such as `solver backtest`.
 */
export function optionsFor<T extends OptionRows>(command: string, rows: T) {
  const owned = Object.entries(rows).map(([key, row]) => [key, { command, ...row }]);
  return optionTable(Object.fromEntries(owned) as T); // each row has gained a field that its type allows
}

/**
 * The variables of an option: its own, the one shared by all services, and the one in the
 * specification. The first variable that is set counts.
 */
export function variablesOf({ env, shared, ...spec }: OptionSpec): string[] {
  const name = nameOf(spec);
  return [
    ...(spec.command === undefined ? [] : [variableNamed(`${spec.command} ${name}`)]),
    ...(shared ? [variableNamed(name)] : []),
    ...(env === undefined ? [] : [env]),
  ];
}

/** The keys of an option in a settings file; the first key that is set counts. */
export function settingsOf({ shared, setting, ...spec }: OptionSpec): string[][] {
  const name = snake(nameOf(spec));
  return [
    ...(spec.command === undefined ? [] : [[...spec.command.split(" "), name]]),
    ...(setting === undefined ? [] : [setting.split(".")]),
    ...(shared ? [[name]] : []),
  ];
}

/** The variable that error messages name for an option. */
export function variableOf(spec: OptionSpec): string | undefined {
  return spec.env ?? variablesOf(spec)[spec.shared && spec.command !== undefined ? 1 : 0];
}

function nameOf({ flags }: Pick<OptionSpec, "flags">): string {
  const [, name] = /--([a-z-]+)/.exec(flags) ?? [];
  if (name === undefined) throw new TypeError(`Option without a long flag: ${flags}`);
  return name;
}

/** A computed name: `RANGEMAKER_SOLVER_MAX_RISK` of `solver max-risk`. */
export function variableNamed(words: string): string {
  return VARIABLE_PREFIX + snake(words).toUpperCase();
}

function snake(words: string): string {
  return words.replace(/[ -]/g, "_");
}

/**
 * Checks that every variable with our prefix belongs to an option. Other commands check their own.
 *
 * @param names Names of variables; those without the prefix are ignored.
 * @throws {UsageError} With the first unknown name.
 */
export function requireKnownVariables(
  names: readonly string[],
  { name: command, subcommands = {} }: CommandText,
  table: OptionTable,
): void {
  const known = new Set([...Object.values(table), ...SHARED_OPTIONS].flatMap((spec) => {
    const names = variablesOf(spec);
    return spec.kind.secret ? [...names, ...names.map((name) => name + FILE_SUFFIX)] : names;
  }));
  const below = Object.keys(subcommands).map((name) => `${command} ${name}`);
  const prefixes = [command, ...below, ...COMMAND_NAMES].map((words) => `${variableNamed(words)}_`);
  for (const name of names) {
    if (!name.startsWith(VARIABLE_PREFIX) || known.has(name)) continue;
    const [owner] = prefixes.filter((prefix) => name.startsWith(prefix))
      .toSorted((a, b) => b.length - a.length);
    if (owner !== undefined && owner !== prefixes[0]) continue;
    const where = owner === undefined ? "the program" : command;
    const hint = didYouMean(name, known);
    throw new UsageError(`Unknown variable ${name}${hint}: ${where} has no such option`);
  }
}
