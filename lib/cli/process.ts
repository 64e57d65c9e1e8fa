/** What commands use of the process: its environment, terminal, signals and exit code. */
import { systemClock, waitMs } from "../clock.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import { type CommandContext, ExitCode, reportErrors } from "./command.ts";
import { requireDeno } from "./deno_version.ts";
import { USER_FOLDER_VARIABLE } from "./options.ts";
import { askSecret, printable, progressOn } from "./terminal.ts";

/**
 * A second signal within this time is a copy of the first: a terminal sends Ctrl-C to all its
 * processes, and `deno task` forwards it again.
 */
const SIGNAL_COPY_MS = 500;

/** The process stays for this long after a signal: a copy that found it exiting would kill it. */
const SIGNAL_COPY_ARRIVAL_MS = 200;

/** When the first signal came, in the time of the monotonic clock. */
let firstSignalAtMs: number | undefined;

/** Resolves on the first SIGINT or SIGTERM; a second one ends the process at once. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      const nowMs = performance.now();
      firstSignalAtMs ??= nowMs;
      if (nowMs - firstSignalAtMs >= SIGNAL_COPY_MS) Deno.exit(ExitCode.interrupted);
      resolve();
    };
    Deno.addSignalListener("SIGINT", onSignal);
    Deno.addSignalListener("SIGTERM", onSignal);
  });
}

/** Reads a variable, if this process may: only a command's task is sure to grant INIT_CWD. */
function readVariable(name: string): string | undefined {
  const mayRead = name !== USER_FOLDER_VARIABLE ||
    Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
  return mayRead ? Deno.env.get(name) : undefined;
}

/**
 * The names of all variables that this process may read. Tasks ignore the others; a caller without
 * a task may grant only some.
 */
function readableVariables(): string[] {
  try {
    return Object.keys(Deno.env.toObject());
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) return [];
    throw thrown;
  }
}

/** The {@link CommandContext} of this process. */
function processContext(): CommandContext {
  const progress = progressOn(Deno.stderr, () => Deno.consoleSize().columns);
  return {
    clock: systemClock,
    env: readVariable,
    variables: readableVariables,
    deleteVariable(variable) {
      const { state } = Deno.permissions.querySync({ name: "env", variable });
      if (state === "granted") Deno.env.delete(variable);
    },
    print(line) {
      progress("");
      try {
        console.log(printable(line));
      } catch (cause) { // such as a full disk
        const message = `Standard output cannot be written: ${messageOf(cause)}`;
        throw new RangemakerError("OUTPUT_FAILED", message, { cause });
      }
    },
    printError(line) {
      progress("");
      console.error(printable(line));
    },
    untilSignal,
    askSecret: (question) => askSecret(question, Deno.stdin, Deno.stderr),
    readSecret: (question) =>
      Deno.stdin.isTerminal()
        ? askSecret(question, Deno.stdin, Deno.stderr)
        : new Response(Deno.stdin.readable).text(),
    progress,
    color: Deno.stderr.isTerminal() && !Deno.noColor,
    printsColor: Deno.stdout.isTerminal() && !Deno.noColor,
    columns: Deno.stdout.isTerminal() ? Deno.consoleSize().columns : 0,
  };
}

/** Runs a program, and ends the process with the exit code that it returns. */
export async function runProcess(
  program: (context: CommandContext) => Promise<number> | number,
): Promise<never> {
  const context = processContext();
  const code = await reportErrors("", context, async () => {
    requireDeno();
    return await program(context);
  });
  const sinceMs = performance.now() - (firstSignalAtMs ?? -Infinity);
  await waitMs(systemClock, Math.max(0, SIGNAL_COPY_ARRIVAL_MS - sinceMs));
  Deno.exit(code);
}
