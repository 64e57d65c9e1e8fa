import { Command as Parser, CommanderError, Option } from "commander";
import type { z } from "zod";
import { RangemakerError } from "../errors.ts";
import { redact } from "../redact.ts";

/** One row of a service's option table. */
export interface OptionSpec<S extends z.ZodType = z.ZodType> {
  /** As in the help text: `-p, --port <port>`, or `--dry-run` for a switch. */
  flags: string;
  /** Environment variable read where the flag is not given. */
  env?: string;
  description: string;
  /** Turns the text (or `true` of a switch) into the value, or says what is wrong with it. */
  schema: S;
  /** Text used where neither flag nor variable is given. */
  default?: string;
  /** Default shown in the help where the service itself fills it in, as after a settings file. */
  shownDefault?: string;
  /**
   * A secret's value never appears in help, errors or logs. Nor does what is wrong where the flags
   * ask for a URL: it may hold a password, and is no URL out of which that could be taken.
   */
  secret?: boolean;
  /** A switch that is on by default also takes `--no-…` and `=false`. */
  negatable?: boolean;
  /** May be given several times; the variable takes a comma-separated list. */
  repeatable?: boolean;
}

/**
 * The options of one command, keyed by the camel-case name of their long flag; a repeatable option's
 * key may be that name's plural, with an s.
 */
export type OptionTable = Record<string, OptionSpec>;

/** What the options of a table are after parsing. */
export type OptionsOf<T extends OptionTable> = { [K in keyof T]: z.output<T[K]["schema"]> };

/** Looks up an environment variable. */
export type Environment = (name: string) => string | undefined;

/** Wrong arguments: one line for the user, without keys and passwords, exit code 2. */
export class UsageError extends RangemakerError {
  constructor(message: string) {
    super("USAGE", redact(message));
  }
}

/** Help was asked for: `message` is the text to print. */
export class HelpRequest extends RangemakerError {
  constructor(text: string) {
    super("HELP", text);
  }
}

/** What the help text says beside the options. */
export interface CommandText {
  name: string;
  description: string;
  /** Command lines, each with what it does: shown below the options. */
  examples: readonly (readonly [commandLine: string, meaning: string])[];
  /** What may stand between the name and the options, as in `[service...]`. */
  operands?: string;
  /** Commands of its own, each with its line in the help. */
  subcommands?: Readonly<Record<string, { readonly summary: string }>>;
}

const HELP_WIDTH = 100;

/** What came of reading options: the values that are as they must be, and what is wrong with the rest. */
export interface OptionReading<T extends OptionTable> {
  values: Partial<OptionsOf<T>>;
  /** By the key of the option. */
  problems: ReadonlyMap<string, UsageError>;
}

/**
 * Reads arguments and environment by a table: flag first, then variable, then default.
 *
 * @throws {UsageError} On the first thing wrong, naming the option and its rule.
 * @throws {HelpRequest} On `--help`.
 */
export function parseOptions<T extends OptionTable>(
  text: CommandText,
  table: T,
  argv: readonly string[],
  env: Environment,
): OptionsOf<T> {
  const { values, problems } = readOptions(text, table, argv, env);
  for (const problem of problems.values()) throw problem;
  // Without a problem there is a value for every key.
  return values as OptionsOf<T>;
}

/**
 * Reads options as {@link parseOptions} does, but to the end: a value that is wrong or missing is
 * told of, and the others are there all the same.
 *
 * @throws {UsageError} If the arguments name what is no option.
 * @throws {HelpRequest} On `--help`.
 */
export function readOptions<T extends OptionTable>(
  text: CommandText,
  table: T,
  argv: readonly string[],
  env: Environment,
): OptionReading<T> {
  const flags = readFlags(text, table, argv);
  const values: Record<string, unknown> = {};
  const problems = new Map<string, UsageError>();
  for (const [key, spec] of Object.entries(table)) {
    try {
      values[key] = readOption(spec, flags[attributeOf(spec)], env);
    } catch (thrown) {
      if (!(thrown instanceof UsageError)) throw thrown;
      problems.set(key, thrown);
    }
  }
  // Each value came out of the schema of its own key.
  return { values: values as Partial<OptionsOf<T>>, problems };
}

/**
 * Options for a service that another program starts: what is given, and the defaults of the table for
 * the rest. Neither arguments nor environment are read.
 *
 * @throws {UsageError} If an option that has no default is not given.
 */
export function withDefaults<T extends OptionTable>(
  table: T,
  given: Partial<OptionsOf<T>>,
): OptionsOf<T> {
  const values: Record<string, unknown> = { ...given };
  for (const [key, spec] of Object.entries(table)) {
    values[key] ??= readOption(spec, undefined, () => undefined);
  }
  // Each value is given with the type of its key or came out of the schema of its own key.
  return values as OptionsOf<T>;
}

function readFlags(
  text: CommandText,
  table: OptionTable,
  argv: readonly string[],
): Record<string, unknown> {
  let help = "";
  const parser = new Parser(`rangemaker ${text.name}`)
    .description(text.description)
    .helpOption("-h, --help", "show this help")
    .usage(usageOf(text))
    .addHelpText("after", subcommandsText(text) + examplesText(text))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (chunk) => help += chunk,
      writeErr: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  for (const [key, spec] of Object.entries(table)) addOption(parser, key, spec);
  try {
    parser.parse([...argv], { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.code === "commander.helpDisplayed") throw new HelpRequest(help);
    throw new UsageError(oneLine(thrown.message));
  }
  return parser.opts();
}

function addOption(parser: Parser, key: string, spec: OptionSpec): void {
  const notes = [
    defaultNote(spec.default ?? spec.shownDefault),
    spec.env === undefined ? "" : `env: ${spec.env}`,
  ].filter((note) => note !== "");
  const suffix = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
  const option = new Option(spec.flags, spec.description + suffix);
  const attribute = option.attributeName();
  if (key !== attribute && !(spec.repeatable && key === `${attribute}s`)) {
    throw new TypeError(`Option table: key ${key} does not match flags ${spec.flags}`);
  }
  if (spec.repeatable) {
    option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
  }
  parser.addOption(option);
  if (spec.negatable) {
    parser.addOption(new Option(`--no-${option.name()}`, `same as --${option.name()}=false`));
    // Without this, commander takes the presence of --no-… as a default of true.
    parser.setOptionValue(attribute, undefined);
  }
}

function attributeOf(spec: OptionSpec): string {
  return new Option(spec.flags).attributeName();
}

function defaultNote(text: string | undefined): string {
  return text === undefined ? "" : `default: ${text}`;
}

function readOption(spec: OptionSpec, flag: unknown, env: Environment): unknown {
  const variable = spec.env === undefined ? undefined : env(spec.env);
  let source = spec.flags.replace(/^-\w, /, "").replace(/[ =].*$/, "");
  let value: unknown = flag;
  if (value === undefined && variable !== undefined && variable !== "") {
    source = spec.env ?? source;
    value = spec.repeatable ? variable.split(",") : variable;
  }
  value ??= spec.repeatable ? spec.default?.split(",") : spec.default;
  const parsed = spec.schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (value === undefined) {
    throw new UsageError(
      `Missing ${source}${spec.env === undefined ? "" : ` (or ${spec.env} in the environment)`}`,
    );
  }
  // Where in the value it is would be a place in what the schema made of it.
  const rule = parsed.error.issues[0]?.message ?? "Invalid value";
  const received = mayHoldSecret(spec) ? "" : `: received ${JSON.stringify(value)}`;
  throw new UsageError(`Invalid ${source}: ${rule}${received}`);
}

function mayHoldSecret({ secret = false, flags }: OptionSpec): boolean {
  return secret || /<.*\burl\b.*>/.test(flags);
}

function examplesText(text: CommandText): string {
  if (text.examples.length === 0) return "";
  const rows = text.examples.map(([line, meaning]) => `  ${line}\n      ${meaning}`);
  return `\nExamples:\n${rows.join("\n")}`;
}

function usageOf({ operands, subcommands = {} }: CommandText): string {
  const words = operands ?? (Object.keys(subcommands).length > 0 ? "[command]" : undefined);
  return words === undefined ? "[options]" : `${words} [options]`;
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

/** What commander says of wrong arguments, in the house's wording. */
export function oneLine(message: string): string {
  // What stands behind the = of an option that there is not may be a secret.
  const line = message.replace(/^error: /, "").replace(/^(unknown option '[^=]*)=.*'/s, "$1'")
    .replace(/\n\(Did/, " (did").trim()
    .replace(/\.$/, "");
  return line.charAt(0).toUpperCase() + line.slice(1);
}
