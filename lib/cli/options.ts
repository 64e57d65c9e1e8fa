import { Command as Parser, CommanderError, Option } from "commander";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { messageOf } from "../errors.ts";
import { IN_MEMORY, POSTGRES_URL, withPassword } from "../database/database_url.ts";
import { EXCESS_ARGUMENTS, UNKNOWN_OPTION } from "../library_messages.ts";
import type { OptionKind } from "./option_kinds.ts";
import { SettingsFile } from "./settings_file.ts";
import {
  type CommandText,
  HelpRequest,
  type OptionsOf,
  type OptionSpec,
  type OptionTable,
  optionTable,
  UsageError,
} from "./option_table.ts";
import { FILE_SUFFIX, optionsFor, variableNamed, variableOf, variablesOf } from "./option_names.ts";

export type { CommandText, OptionsOf, OptionSpec, OptionTable } from "./option_table.ts";
export { HelpRequest, optionTable, UsageError };

export type Environment = (name: string) => string | undefined;

/** Where values come from besides the command line. */
interface Sources {
  env: Environment;
  file?: SettingsFile | undefined;
}

/** The width of the help, however narrow or wide the terminal is. */
const HELP_WIDTH = { min: 80, max: 100 };

/**
 * Parses arguments, environment and settings file by a table: flag, variable, file, default.
 *
 * @param columns The width of the terminal that shows the help; 0 if there is none.
 * @throws {UsageError} On the first error, naming the option and its rule.
 * @throws {HelpRequest} On `--help`.
 */
export function parseOptions<T extends OptionTable>(
  text: CommandText,
  table: T,
  argv: readonly string[],
  env: Environment,
  columns = 0,
): OptionsOf<T> {
  const { min, max } = HELP_WIDTH;
  const flags = readFlags(text, table, argv, Math.min(Math.max(columns || max, min), max));
  const values: Record<string, unknown> = {};
  const sources: Sources = { env };
  const named = optionsFor(text.target ?? text.name, table);
  // `--config` is read first: its file may contain the values of all other options.
  const ordered = Object.entries(named)
    .toSorted(([a], [b]) => Number(b === FILE_KEY) - Number(a === FILE_KEY));
  for (const [key, spec] of ordered) {
    const value = values[key] = parseOption(spec, flags[optionOf(spec).attributeName()], sources);
    if (key === FILE_KEY && typeof value === "string") {
      sources.file = SettingsFile.read(value);
      sources.file.requireKnown(text, named);
    }
  }
  // Each value was parsed by the schema of its own key.
  return values as OptionsOf<T>;
}

/**
 * Options for a service started by another program: the given ones, and the table's defaults for
 * the rest. Neither arguments nor environment are read.
 *
 * @throws {UsageError} If a required option is missing.
 */
export function withDefaults<T extends OptionTable>(
  table: T,
  values: Partial<OptionsOf<T>>,
): OptionsOf<T> {
  const completed: Record<string, unknown> = { ...values };
  for (const [key, spec] of Object.entries(table)) {
    completed[key] ??= parseOption(spec, undefined, { env: () => undefined });
  }
  // Each value is given with the type of its key or parsed by the schema of its key.
  return completed as OptionsOf<T>;
}

function readFlags(
  text: CommandText,
  table: OptionTable,
  argv: readonly string[],
  helpWidth: number,
): Record<string, unknown> {
  let help = "";
  const parser = new Parser(`rangemaker ${text.name}`)
    .description(text.description)
    .helpOption("-h, --help", "show this help")
    .usage(usageOf(text))
    .addHelpText("after", subcommandsText(text) + variablesText(text) + examplesText(text))
    .allowExcessArguments(false)
    .exitOverride()
    .configureHelp({ minWidthToWrap: 30 }) // the proxy's flags leave less than the usual 40 of 80
    .configureOutput({
      writeOut: (chunk) => help += chunk,
      writeErr: () => {},
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  for (const [key, spec] of Object.entries(table)) addOption(parser, key, spec);
  try {
    parser.parse([...argv], { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === "commander.helpDisplayed") throw new HelpRequest(help);
    throw new UsageError(describeMisuse(thrown, table));
  }
  return parser.opts();
}

function examplesText(text: CommandText): string {
  const rows = text.examples.map(([line, meaning]) => `  ${line}\n      ${meaning}`);
  return `\nExamples:\n${rows.join("\n")}`;
}

function usageOf({ subcommands = {} }: CommandText): string {
  return Object.keys(subcommands).length > 0 ? "[command] [options]" : "[options]";
}

function subcommandsText({ name, subcommands = {} }: CommandText): string {
  const rows = Object.entries(subcommands);
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([command]) => command.length));
  const lines = rows.map(([command, { summary }]) => `  ${command.padEnd(width)}  ${summary}`);
  return `\nCommands, each with its own --help (rangemaker ${name} <command>):\n${
    lines.join("\n")
  }\n`;
}

function variablesText({ name, target = name }: CommandText): string {
  const prefix = variableNamed(target);
  return `\nWithout its flag an option is read from its variable, ${prefix}_…, or from section ` +
    `[${target.replaceAll(" ", ".")}]\nof the settings file.\n`;
}

export function addOption(parser: Parser, key: string, spec: OptionSpec): void {
  const notes = [
    ...(spec.default ? [`default: ${spec.default}`] : []),
    ...(spec.env === undefined ? [] : [`env: ${spec.env}`]),
  ];
  const option = optionOf(spec, notes.length === 0 ? "" : ` (${notes.join(", ")})`);
  const attribute = option.attributeName();
  if (key !== attribute && !(spec.repeatable && key === `${attribute}s`)) {
    throw new TypeError(`Option table: key ${key} does not match flags ${spec.flags}`);
  }
  if (spec.repeatable) {
    option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
  }
  parser.addOption(option);
  if (spec.kind.negatable) {
    parser.addOption(new Option(`--no-${option.name()}`, `same as --${option.name()}=false`));
  }
}

/** How the help shows an option: `-p, --port <port>`. */
export function flagsOf({ flags, kind: { placeholder, negatable } }: OptionSpec): string {
  if (placeholder === undefined || /[<[]/.test(flags)) return flags;
  return `${flags} ${negatable ? `[${placeholder}]` : `<${placeholder}>`}`;
}

/** Name of an option in errors and fixes: `--rpc-url or KAIZEN_RPC_URL`. */
export function optionLabel(spec: OptionSpec): string {
  return [optionOf(spec).long, variableOf(spec)].filter((name) => name !== undefined).join(" or ");
}

export function optionOf(spec: OptionSpec, notes = ""): Option {
  return new Option(flagsOf(spec), spec.description + notes);
}

/** The text of a variable or a default, split if the option is repeatable. */
function valueIn(text: string | undefined, { repeatable }: OptionSpec): unknown {
  if (!repeatable) return text;
  return text === "" ? [] : text?.split(",");
}

/** The value of an option from outside the command line, and its source. */
function givenValue(spec: OptionSpec, { env, file }: Sources) {
  for (const name of variablesOf(spec)) {
    const text = spec.kind.secret ? readSecretVariable(name, env) : env(name);
    if (text !== undefined && text !== "") return { source: name, value: valueIn(text, spec) };
  }
  return file?.find(spec);
}

/** Reads a secret from a variable, or from the file named by the variable with `_FILE`. */
function readSecretVariable(name: string, env: Environment): string | undefined {
  const [text, path] = [env(name), env(name + FILE_SUFFIX)];
  if (!path) return text;
  if (text) throw new UsageError(`Two values: expected ${name} or ${name}${FILE_SUFFIX}, not both`);
  try {
    const secret = Deno.readTextFileSync(inUserFolder(path, env)).trim();
    // A default, such as a local database, would take its place.
    if (secret === "") throw new Error("it is empty");
    return secret;
  } catch (thrown) {
    throw new UsageError(`Invalid ${name}${FILE_SUFFIX}: ${path}: ${messageOf(thrown)}`);
  }
}

function parseOption(spec: OptionSpec, flag: unknown, sources: Sources): unknown {
  const name = `${optionOf(spec).long}`;
  const input = flag === undefined ? givenValue(spec, sources) : { source: name, value: flag };
  const value = input?.value ?? valueIn(spec.default, spec);
  if (value === undefined) {
    if (spec.required) throw missingOption(spec);
    return undefined;
  }
  const parsed = z.safeParse(spec.kind.schema, value);
  if (parsed.success) return resolveValue(parsed.data, spec.kind, sources.env);
  // The issue's path is left out: it points into the schema's parsed form of the text.
  const rule = parsed.error.issues[0]?.message ?? "Invalid value";
  const received = spec.kind.secret ? "" : `: received ${JSON.stringify(String(value))}`;
  throw new UsageError(`Invalid ${input?.source ?? name}: ${rule}${received}`);
}

function missingOption(spec: OptionSpec): UsageError {
  const variable = variableOf(spec);
  const alternative = variable === undefined ? "" : ` (or ${variable} in the environment)`;
  return new UsageError(`Missing ${optionOf(spec).long}${alternative}`);
}

/** Key of the option that names the settings file. */
const FILE_KEY = "config";

/** The password of a PostgreSQL database whose URL has none. */
const PASSWORD_VARIABLE = "PGPASSWORD";

/** The variables of a table that hold keys, passwords, or URLs that may hold them. */
export function secretVariables(table: OptionTable): string[] {
  const own = Object.values(table).flatMap((spec) => spec.kind.secret ? variablesOf(spec) : []);
  return [...own, PASSWORD_VARIABLE];
}

/** The user's folder: `deno task` runs commands in the folder of deno.json. */
export const USER_FOLDER_VARIABLE = "INIT_CWD";

/** Resolves a path from the user's folder, and adds the password to a database's URL. */
function resolveValue(value: unknown, { access, completes }: OptionKind, env: Environment) {
  if (typeof value !== "string" || value === IN_MEMORY) return value;
  switch (access) {
    case "read":
    case "write":
    case "readWrite":
      return inUserFolder(value, env);
    case "modules":
      // A word that the shell completes is the name of something built in.
      return completes?.includes(value) ? value : inUserFolder(value, env);
    case "database":
      if (!POSTGRES_URL.test(value)) return inUserFolder(value, env);
      return withPassword(value, readSecretVariable(PASSWORD_VARIABLE, env));
    default:
      return value;
  }
}

function inUserFolder(path: string, env: Environment): string {
  const folder = env(USER_FOLDER_VARIABLE);
  return isAbsolute(path) || folder === undefined || folder === "" ? path : join(folder, path);
}

function describeMisuse({ code, message }: CommanderError, table: OptionTable): string {
  if (code === "commander.excessArguments") {
    const [, words] = EXCESS_ARGUMENTS.exec(message) ?? [];
    return `Unexpected argument '${words}'`;
  }
  // The text after the = may be a secret.
  const [, name = ""] = UNKNOWN_OPTION.exec(message) ?? [];
  if (name === "-") return "A flag of one letter takes no value: leave out '=' and what follows it";
  const names = Object.values(table).map((spec) => `${optionOf(spec).long}`);
  if (names.includes(name)) return `Option '${name}' takes no value`;
  const longer = names.filter((each) => name.length > 3 && each.startsWith(name));
  if (longer.length === 0) return oneLine(message);
  return `Unknown option '${name}' (did you mean ${longer.join(" or ")}?)`;
}

/** Commander's message about wrong arguments as one line in our wording. */
function oneLine(message: string): string {
  // The text after the = of an unknown option may be a secret.
  const line = message.replace(/^error: /, "").replace(/^(unknown option '[^=]*)=.*'/s, "$1'")
    .replace(/\n\(Did/, " (did").trim()
    .replace(/\.$/, "");
  return line.charAt(0).toUpperCase() + line.slice(1);
}
