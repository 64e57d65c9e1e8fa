import { messageOf, RangemakerError } from "../errors.ts";
import { configureLogging, loggingOptions } from "./logging.ts";
import {
  type CommandText,
  type Environment,
  HelpRequest,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  UsageError,
} from "./options.ts";
import type { RunningService } from "./service.ts";

/** Exit codes of every command. */
export const ExitCode = { ok: 0, failed: 1, usage: 2 } as const;

/** A service that has not stopped by then is left behind. */
export const STOP_DEADLINE_MS = 5_000;

/** What a command sees of the process it runs in. */
export interface CommandContext {
  env: Environment;
  /** Prints one line of results to standard output. */
  print(line: string): void;
  /** Resolves when the user asks the process to end (SIGINT, SIGTERM). */
  untilSignal(): Promise<void>;
  /** Colours may be used in logs. */
  color: boolean;
}

/** A subcommand: its option table, and what it does with the options. */
export interface Command<T extends OptionTable = OptionTable> extends CommandText {
  options: T;
  /** @returns The exit code. */
  run(options: OptionsOf<T>, context: CommandContext): Promise<number>;
  /** Level of logs unless told otherwise. */
  defaultLogLevel?: "info" | "warning";
}

/** A command ready for `main.ts`: its option table is known to nobody but itself. */
export type RunnableCommand = (
  argv: readonly string[],
  context: CommandContext,
) => Promise<number>;

/** A subcommand that starts a service and runs it until a signal. */
export function serviceCommand<T extends OptionTable>(
  text: CommandText & { options: T },
  start: (options: OptionsOf<T>) => Promise<RunningService>,
): RunnableCommand {
  return command({
    ...text,
    async run(options, context) {
      // Listened for before the start, so that none is lost while the service comes up.
      const signal = context.untilSignal();
      const service = await start(options);
      await signal;
      return await stopInTime(service) ? ExitCode.ok : ExitCode.failed;
    },
  });
}

/**
 * Makes a command runnable. Wrong arguments end it with one line and exit code 2, any other expected
 * error with one line and exit code 1; a stack trace means a bug.
 */
export function command<T extends OptionTable>(definition: Command<T>): RunnableCommand {
  const logging = definition.defaultLogLevel === undefined ? loggingOptions : {
    ...loggingOptions,
    logLevel: { ...loggingOptions.logLevel, default: definition.defaultLogLevel },
  };
  return async (argv, context) => {
    try {
      const table = { ...definition.options, ...logging };
      const options = parseOptions(definition, table, argv, context.env);
      await configureLogging({
        // The logging rows of the table just parsed; a generic table hides their types.
        jsonLogs: options.jsonLogs as boolean,
        logLevel: options.logLevel as "debug" | "info" | "warning" | "error",
        color: context.color,
      });
      return await definition.run(options, context);
    } catch (thrown) {
      if (thrown instanceof HelpRequest) {
        context.print(thrown.message.trimEnd());
        return ExitCode.ok;
      }
      if (thrown instanceof UsageError) {
        console.error(`${thrown.message}. See rangemaker ${definition.name} --help`);
        return ExitCode.usage;
      }
      if (thrown instanceof RangemakerError) {
        console.error(messageOf(thrown));
        return ExitCode.failed;
      }
      throw thrown;
    }
  };
}

/** Stops a service. @returns False if it did not end within {@link STOP_DEADLINE_MS}. */
export async function stopInTime(service: Pick<RunningService, "stop">): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), STOP_DEADLINE_MS);
  });
  try {
    return await Promise.race([service.stop().then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
