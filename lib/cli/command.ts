import { messageOf, RangemakerError } from "../errors.ts";
import { describePortOwner, ListenError } from "../http/listener.ts";
import { configureLogging, jsonErrorLine, type LoggingOptions } from "../log/logging.ts";
import type { RunningService } from "../http/service.ts";
import { type Clock, withinMs } from "../clock.ts";
import { redactUrls } from "../redact.ts";
import { didYouMean } from "./did_you_mean.ts";
import { restrictFileAccess } from "./permissions.ts";
import { listedWithOr } from "./option_kinds.ts";
import {
  type CommandText,
  type Environment,
  HelpRequest,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  secretVariables,
  UsageError,
  USER_FOLDER_VARIABLE,
} from "./options.ts";
import type { ShowProgress } from "./terminal.ts";
import { configOption, loggingOptions } from "./shared_options.ts";
import { checkOption, checkStart, READY_TIMEOUT_MS } from "./start_check.ts";
import {
  type CommandName,
  optionsFor,
  requireKnownVariables,
  variablesOf,
} from "./option_names.ts";

/**
 * Exit codes of every command: success, failure, wrong arguments, and a second signal that ended
 * the process before it had stopped (128 plus the number of SIGINT, by shell convention).
 */
export const ExitCode = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/**
 * How long a service may take to stop before the process exits anyway. Open requests get 3 s to
 * end, and an attempt that one of them began waits up to 5 s for a slow node. Less than the 10 s
 * after which Docker and systemd kill a process.
 */
const STOP_DEADLINE_MS = 9_000;

/** How long a start may take to end after a signal, so that it can be stopped. */
const START_GRACE_MS = 1_000;

export interface CommandContext {
  clock: Clock;
  env: Environment;
  /** Names of the variables that this process may read. */
  variables(): string[];
  deleteVariable(variable: string): void;
  /** Prints one line of results to standard output. */
  print(line: string): void;
  /** Prints one line about an error to standard error. */
  printError(line: string): void;
  /** Resolves when the user asks the process to end (SIGINT, SIGTERM). */
  untilSignal(): Promise<void>;
  /** Asks on the terminal and hides the answer. @throws {UsageError} If there is no terminal. */
  askSecret(question: string): Promise<string>;
  /** Reads all of standard input; on a terminal it asks, as {@link askSecret}. */
  readSecret(question: string): Promise<string>;
  /** Shows progress on a terminal; does nothing elsewhere. */
  progress: ShowProgress;
  color: boolean;
  /** Colours may be used in results. */
  printsColor: boolean;
  /** The width of the terminal that shows results; 0 if there is none. */
  columns: number;
}

interface Command<T extends OptionTable = OptionTable, L = void> extends CommandText {
  options: T;
  /** Reads files of the program itself, before file access is limited to the options' paths. */
  load?: () => Promise<L>;
  /** @returns The exit code. A command without it only has subcommands. */
  run?(options: OptionsOf<T>, context: CommandContext, loaded: L): Promise<number>;
  defaultLogLevel?: "info" | "warning";
  /** Subcommands, run by naming one first. */
  subcommands?: CommandEntries;
}

/** A command ready for `main.ts`, which does not know its options. */
export interface RunnableCommand {
  (argv: readonly string[], context: CommandContext): Promise<number>;
  /** The parts of its help: name, examples and all options. */
  readonly definition: CommandText & { options: OptionTable };
  readonly subcommands: CommandEntries;
}

/** A command in a list of commands: its line in the help, and how to load it. */
export interface CommandEntry {
  summary: string;
  /** Loads this command only. */
  load(): Promise<{ run: RunnableCommand }>;
}

export type CommandEntries = Readonly<Record<string, CommandEntry>>;

/** An entry for a command that is already loaded. */
export function loadedEntry(summary: string, run: RunnableCommand): CommandEntry {
  return { summary, load: () => Promise.resolve({ run }) };
}

export type ProgramCommands = Readonly<Record<CommandName, CommandEntry>>;

/** A subcommand that runs a service until a signal or, with `--check`, until it is ready. */
export function createServiceCommand<T extends OptionTable, L = void>(
  text: Omit<Command<T, L>, "run">,
  start: (options: OptionsOf<T>, loaded: L) => Promise<RunningService>,
): RunnableCommand {
  return createCommand<T, L>({
    ...text,
    options: { ...text.options, check: checkOption },
    async run(options, context, loaded) {
      // Parsed by the row above; the generic type hides its type.
      const { check } = options as { check?: boolean };
      if (check) {
        const started = (harmless: OptionsOf<T>) => start(harmless, loaded);
        return await printStartProblems(text, options, started, context);
      }
      // Listen before starting, so that no signal is lost while the service starts.
      const signal = context.untilSignal();
      const starting = Promise.try(start, options, loaded).catch(withPortOwner);
      await Promise.race([starting, signal]);
      await signal;
      // A start that waits for its database has no open work: the process ends without it.
      const service = await withinMs(starting, START_GRACE_MS, undefined, context.clock);
      if (service === undefined) return ExitCode.ok;
      return await stopInTime(service, context) ? ExitCode.ok : ExitCode.failed;
    },
  });
}

/** Prints what keeps a service from being ready. @returns The exit code. */
async function printStartProblems<T extends OptionTable>(
  { name, options: table }: Pick<Command<T>, "name" | "options">,
  options: OptionsOf<T>,
  start: (options: OptionsOf<T>) => Promise<RunningService>,
  { clock, print }: CommandContext,
): Promise<number> {
  const timeoutMs = READY_TIMEOUT_MS;
  const problems = await checkStart({ table, options, start, clock, timeoutMs });
  if (problems.length === 0) print(`${name} is ready`);
  else problems.forEach(print);
  return problems.length === 0 ? ExitCode.ok : ExitCode.failed;
}

/** Adds the name of the port's owner to a {@link ListenError} of a taken port. */
async function withPortOwner(thrown: unknown): Promise<never> {
  if (!(thrown instanceof ListenError && thrown.isTaken)) throw thrown;
  const { host, port, cause, portFlag } = thrown;
  throw new ListenError(host, port, cause, portFlag, await describePortOwner(host, port));
}

/**
 * Makes a command runnable. Wrong arguments print one line and exit with 2, any other expected
 * error prints one line (JSON with `--json-logs`) and exits with 1; a stack trace means a bug.
 */
export function createCommand<T extends OptionTable, L = void>(
  definition: Command<T, L>,
): RunnableCommand {
  const { subcommands = {}, defaultLogLevel } = definition;
  const logging = defaultLogLevel === undefined ? loggingOptions : {
    ...loggingOptions,
    logLevel: { ...loggingOptions.logLevel, default: defaultLogLevel },
  };
  const options = optionsFor(definition.name, {
    ...definition.options,
    config: configOption,
    ...logging,
  });
  const command = { ...definition, options };
  const runOrSubcommand = (argv: readonly string[], outer: CommandContext): Promise<number> => {
    const context = reportingContext(definition.name, outer);
    // Until the options are parsed: they may be what is wrong.
    context.reportsJson = argv.includes("--json-logs") ||
      variablesOf(options.jsonLogs).some((name) => outer.env(name) === "true");
    return reportErrors(definition.name, context, async () => {
      const [first = "-", ...rest] = argv;
      // A command with subcommands takes no other arguments, so any word must be a subcommand.
      const isWord = Object.keys(subcommands).length > 0 && !first.startsWith("-");
      if (!isWord) return await parseAndRun<T, L>(command, argv, context);
      // The subcommand reports under its own name.
      return await (await loadCommand(subcommands, first))(rest, outer);
    });
  };
  return Object.assign(runOrSubcommand, { definition: command, subcommands });
}

async function parseAndRun<T extends OptionTable, L>(
  command: Command<T & typeof loggingOptions, L>,
  argv: readonly string[],
  context: ReportingContext,
): Promise<number> {
  const { name, options, subcommands = {} } = command;
  const values = parseOptions(command, options, argv, context.env, context.columns);
  if (command.run === undefined) {
    const names = listedWithOr(Object.keys(subcommands));
    throw new UsageError(`Missing command: expected ${names}`);
  }
  requireKnownVariables(context.variables(), command, options);
  // Code that is loaded later, such as a strategy, must not find secrets in the environment.
  secretVariables(options).forEach(context.deleteVariable);
  // Parsed by the logging rows of the table; the generic type hides their types.
  const { jsonLogs, logLevel } = values as Omit<LoggingOptions, "color">;
  context.reportsJson = jsonLogs;
  await configureLogging({ jsonLogs, logLevel, color: context.color });
  // Without a loader, L is void.
  const loaded = await command.load?.() as L;
  restrictFileAccess(name, options, values);
  return await command.run(values, context, loaded);
}

interface ReportingContext extends CommandContext {
  /** Whether errors are JSON lines, like those of the log. */
  reportsJson: boolean;
}

function reportingContext(name: string, program: CommandContext): ReportingContext {
  const { clock, printError } = program;
  const context: ReportingContext = {
    ...program,
    reportsJson: false,
    printError: (line) =>
      printError(context.reportsJson ? jsonErrorLine(name, line, clock.now()) : line),
  };
  return context;
}

/** Runs a command and prints the errors that it throws on purpose. @returns The exit code. */
export async function reportErrors(
  name: string,
  context: CommandContext,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (thrown) {
    context.progress("");
    if (thrown instanceof HelpRequest) {
      context.print(withTaskNames(thrown.message.trimEnd(), context));
      return ExitCode.ok;
    }
    if (thrown instanceof UsageError) {
      const help = ["See rangemaker", name].join(" ").trim();
      context.printError(`${thrown.message}. ${withTaskNames(help, context)} --help`);
      return ExitCode.usage;
    }
    if (thrown instanceof RangemakerError) {
      // Any error may quote a URL, and a URL may contain a password or an API key.
      context.printError(redactUrls(messageOf(thrown)));
      return ExitCode.failed;
    }
    if (thrown instanceof Deno.errors.NotCapable) {
      // Deno's advice is dropped: commands do not accept Deno's flags.
      const [what = ""] = thrown.message.split(", run again");
      context.printError(
        `${what}, which this process lacks: use another file or address, or deno task ${name}`,
      );
      return ExitCode.failed;
    }
    throw thrown;
  }
}

/** Writes commands as `deno task …` if a task started this process: tasks set INIT_CWD. */
export function withTaskNames(text: string, { env }: Pick<CommandContext, "env">): string {
  if (Deno.build.standalone || env(USER_FOLDER_VARIABLE) === undefined) return text;
  return text.replaceAll(/(?<=^ {2}|^Usage: |\b[Ss]ee |\()rangemaker (?=\w)/gm, "deno task ");
}

/** Loads a command by name. @throws {UsageError} If it is unknown, with the closest name. */
export async function loadCommand(
  commands: CommandEntries,
  name: string,
): Promise<RunnableCommand> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) throw unknownCommand(name, Object.keys(commands));
  return (await entry.load()).run;
}

/** Most names that an error lists if none is close to the typed name. */
const NAMES_LISTED_MAX = 6;

function unknownCommand(name: string, known: readonly string[]): UsageError {
  const list = known.length <= NAMES_LISTED_MAX ? `: expected ${listedWithOr(known)}` : "";
  return new UsageError(`Unknown command '${name}'${didYouMean(name, known) || list}`);
}

/** Stops a service. @returns False, and prints an error, after {@link STOP_DEADLINE_MS}. */
export async function stopInTime(
  service: Pick<RunningService, "stop">,
  { clock, printError }: Pick<CommandContext, "clock" | "printError">,
): Promise<boolean> {
  const stopping = service.stop().then(() => true);
  const stopped = await withinMs(stopping, STOP_DEADLINE_MS, false, clock);
  if (!stopped) printError(`Not stopped within ${STOP_DEADLINE_MS} ms: open work is cut off`);
  return stopped;
}
