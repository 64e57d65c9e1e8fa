import { messageOf, RangemakerError } from "../errors.ts";
import { configureLogging, loggingOptions } from "../http/logging.ts";
import type { ShowProgress } from "./progress.ts";
import {
  type CommandText,
  type Environment,
  HelpRequest,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  UsageError,
} from "./options.ts";
import { unknownCommand } from "./unknown_command.ts";
import type { RunningService } from "../http/service.ts";

/**
 * Exit codes of every command: it did what it should, it failed, its arguments are wrong, a second
 * signal ended it before it had ended by itself (128 and the number of SIGINT, as shells have it).
 */
export const ExitCode = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** A service that has not stopped by then is left behind. */
export const STOP_DEADLINE_MS = 5_000;

/** What a command sees of the process it runs in. */
export interface CommandContext {
  env: Environment;
  /** Prints one line of results to standard output. */
  print(line: string): void;
  /** Prints one line of what went wrong to standard error. */
  complain(line: string): void;
  /** Resolves when the user asks the process to end (SIGINT, SIGTERM). */
  untilSignal(): Promise<void>;
  /** Draws what one waits for; nothing where nobody watches. */
  progress: ShowProgress;
  /** Colours may be used in logs. */
  color: boolean;
  /** Colours may be used in results. */
  printsColor: boolean;
}

/** A subcommand: its option table, and what it does with the options. */
export interface Command<T extends OptionTable = OptionTable> extends CommandText {
  options: T;
  /** @returns The exit code. */
  run(options: OptionsOf<T>, context: CommandContext): Promise<number>;
  /** Level of logs unless told otherwise. */
  defaultLogLevel?: "info" | "warning";
  /** Commands of its own, run by naming one first. */
  subcommands?: CommandEntries;
}

/** A command ready for `main.ts`, which knows nothing of its options. */
export interface RunnableCommand {
  (argv: readonly string[], context: CommandContext): Promise<number>;
  /** What its help is made of: name, examples, and all options that it takes. */
  readonly definition: CommandText & { options: OptionTable };
  readonly subcommands: CommandEntries;
}

/** A command as a list of commands knows it: its line in the help, and where it is. */
export interface CommandEntry {
  summary: string;
  /** Loads the command, and nothing of the others. */
  open(): Promise<{ run: RunnableCommand }>;
}

/** Commands by their names. */
export type CommandEntries = Readonly<Record<string, CommandEntry>>;

/** A subcommand that starts a service and runs it until a signal. */
export function serviceCommand<T extends OptionTable>(
  text: Omit<Command<T>, "run">,
  start: (options: OptionsOf<T>) => Promise<RunningService>,
): RunnableCommand {
  return command({
    ...text,
    async run(options, context) {
      // Listened for before the start, so that none is lost while the service comes up.
      const signal = context.untilSignal();
      const service = await start(options);
      await signal;
      return await stopInTime(service, context) ? ExitCode.ok : ExitCode.failed;
    },
  });
}

/**
 * Makes a command runnable. Wrong arguments end it with one line and exit code 2, any other expected
 * error with one line and exit code 1; a stack trace means a bug.
 */
export function command<T extends OptionTable>(definition: Command<T>): RunnableCommand {
  const { subcommands = {}, defaultLogLevel } = definition;
  const logging = defaultLogLevel === undefined ? loggingOptions : {
    ...loggingOptions,
    logLevel: { ...loggingOptions.logLevel, default: defaultLogLevel },
  };
  const options = { ...definition.options, ...logging };
  const start = async (argv: readonly string[], context: CommandContext): Promise<number> => {
    const values = parseOptions(definition, options, argv, context.env);
    await configureLogging({
      // The logging rows of the table just parsed; a generic table hides their types.
      jsonLogs: values.jsonLogs as boolean,
      logLevel: values.logLevel as "debug" | "info" | "warning" | "error",
      color: context.color,
    });
    return await definition.run(values, context);
  };
  const run = (argv: readonly string[], context: CommandContext): Promise<number> =>
    told(definition.name, context, async () => {
      const [first = "-", ...rest] = argv;
      // A command with subcommands takes no other words, so any word is meant to be one.
      const isWord = Object.keys(subcommands).length > 0 && !first.startsWith("-");
      if (!isWord) return await start(argv, context);
      return await (await openCommand(subcommands, first))(rest, context);
    });
  return Object.assign(run, { definition: { ...definition, options }, subcommands });
}

/** Runs a command and tells the user of what it throws on purpose. @returns The exit code. */
export async function told(
  name: string,
  context: CommandContext,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (thrown) {
    context.progress("");
    if (thrown instanceof HelpRequest) {
      context.print(thrown.message.trimEnd());
      return ExitCode.ok;
    }
    if (thrown instanceof UsageError) {
      context.complain(`${thrown.message}. See ${["rangemaker", name].join(" ").trim()} --help`);
      return ExitCode.usage;
    }
    if (thrown instanceof RangemakerError) {
      context.complain(messageOf(thrown));
      return ExitCode.failed;
    }
    throw thrown;
  }
}

/** Loads the command of a name. @throws {UsageError} If there is none, with the name nearest to it. */
export async function openCommand(
  commands: CommandEntries,
  name: string,
): Promise<RunnableCommand> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) throw unknownCommand(name, Object.keys(commands));
  return (await entry.open()).run;
}

/** Stops a service. @returns False if it did not end within {@link STOP_DEADLINE_MS}, which is said. */
export async function stopInTime(
  service: Pick<RunningService, "stop">,
  { complain }: Pick<CommandContext, "complain">,
): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), STOP_DEADLINE_MS);
  });
  try {
    const stopped = await Promise.race([service.stop().then(() => true), late]);
    if (!stopped) complain(`Not all has ended within ${STOP_DEADLINE_MS} ms: the rest is cut off`);
    return stopped;
  } finally {
    clearTimeout(timer);
  }
}
