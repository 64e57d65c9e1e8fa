import type { CommandContext } from "../../lib/cli/command.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { rangemaker } from "../../main.ts";

/** A context for a command run in this process, without terminal and signals, and its output. */
export function recordedContext(env: Record<string, string> = {}, clock: Clock = systemClock) {
  const printed: string[] = [];
  const errors: string[] = [];
  const context: CommandContext = {
    clock,
    env: (name) => env[name],
    variables: () => Object.keys(env),
    deleteVariable: (name) => void delete env[name],
    print: (line) => printed.push(line),
    printError: (line) => errors.push(line),
    untilSignal: () => new Promise(() => {}),
    askSecret: () => Promise.reject(new Error("Nobody can be asked")),
    readSecret: () => Promise.reject(new Error("Nothing is on standard input")),
    progress: () => {},
    color: false,
    printsColor: false,
    columns: 0,
  };
  return { context, printed, errors };
}

/** Runs a command line in this process, which saves the start of another one. */
export async function runHere(
  args: readonly string[],
  env: Record<string, string> = {},
  clock?: Clock,
) {
  const { context, printed, errors } = recordedContext(env, clock);
  const code = await rangemaker(args, context);
  return { code, stdout: printed.join("\n"), stderr: errors.join("\n") };
}
