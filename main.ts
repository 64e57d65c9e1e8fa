import config from "./deno.json" with { type: "json" };
import {
  type CommandContext,
  ExitCode,
  loadCommand,
  type ProgramCommands,
  reportErrors,
} from "./lib/cli/command.ts";
import { systemClock, waitMs } from "./lib/clock.ts";
import { askSecret, progressOn } from "./lib/cli/terminal.ts";

/** Every command of the program. Each is loaded on demand. */
export const commands: ProgramCommands = {
  demo: {
    summary: "play one whole bet against a fresh stack, then exit",
    load: () => import("./services/stack/demo.ts"),
  },
  stack: {
    summary: "run all services in one process",
    load: () => import("./services/stack/mod.ts"),
  },
  solver: {
    summary: "market maker: signs quotes, submits theses",
    load: () => import("./services/solver/mod.ts"),
  },
  bridge: {
    summary: "turns signed deposit requests into deposit transactions",
    load: () => import("./services/bridge/mod.ts"),
  },
  proxy: {
    summary: "routes JSON-RPC, fans one upstream WebSocket out to many clients",
    load: () => import("./services/proxy/mod.ts"),
  },
  oracle: {
    summary: "one trusted price per pair from four exchanges",
    load: () => import("./services/oracle/mod.ts"),
  },
  node: {
    summary: "development core node: ledger, checkpoints, settlement",
    load: () => import("./services/node/mod.ts"),
  },
  backfill: {
    summary: "fills price history that the node missed, from an exchange's trades",
    load: () => import("./services/backfill/mod.ts"),
  },
  console: {
    summary: "a page to see the market, draw a box and bet on it",
    load: () => import("./services/console/mod.ts"),
  },
  exchanges: {
    summary: "simulated exchanges with the wire formats of the real ones",
    load: () => import("./services/exchanges/mod.ts"),
  },
  doctor: {
    summary:
      "checks what services are configured to use, starts each, and shows how to fix problems",
    load: () => import("./services/stack/doctor.ts"),
  },
  key: {
    summary: "makes and reads encrypted keystores",
    load: () => import("./lib/cli/key_command.ts"),
  },
  completion: {
    summary: "prints completion scripts for bash, zsh and fish",
    load: () => import("./lib/cli/completion.ts"),
  },
};

function helpText(): string {
  const rows = Object.entries(commands).map(([name, { summary }]) =>
    `  ${name.padEnd(10)} ${summary}`
  );
  return [
    `rangemaker ${config.version}: everything around the core node of an RFQ chain`,
    "",
    "Usage: rangemaker <command> [options]      in a checkout: deno task <command> [options]",
    "",
    "Commands:",
    ...rows,
    "",
    "Options:",
    "  -h, --help     show this help; after a command, the help of that command",
    "  -V, --version  show the version",
    "",
    "Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted by a second signal",
    "",
    "Start with: rangemaker demo      in a checkout: deno task demo",
  ].join("\n");
}

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

/** Runs a command line. @returns The exit code. */
export function rangemaker(
  [name, ...rest]: readonly string[],
  context: CommandContext,
): Promise<number> | number {
  if (name === "help" && rest.length > 0) return rangemaker([...rest, "--help"], context);
  if (name === undefined) {
    context.printError(helpText());
    return ExitCode.usage;
  }
  if (name === "-h" || name === "--help" || name === "help") {
    context.print(helpText());
    return ExitCode.ok;
  }
  if (name === "-V" || name === "--version") {
    context.print(`rangemaker ${config.version}`);
    return ExitCode.ok;
  }
  if (name === "complete") { // run by the completion scripts
    return import("./lib/cli/completion.ts").then(async ({ completions }) => {
      for (const row of await completions(commands, rest)) context.print(row);
      return ExitCode.ok;
    });
  }
  return reportErrors(
    "",
    context,
    async () => await (await loadCommand(commands, name))(rest, context),
  );
}

/** Reads a variable, if this process may: only a command's task is sure to grant INIT_CWD. */
function readVariable(name: string): string | undefined {
  const mayRead = name !== "INIT_CWD" ||
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
      console.log(line);
    },
    printError(line) {
      progress("");
      console.error(line);
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
  };
}

if (import.meta.main) {
  const code = await rangemaker(Deno.args, processContext());
  const sinceMs = performance.now() - (firstSignalAtMs ?? -Infinity);
  await waitMs(systemClock, Math.max(0, SIGNAL_COPY_ARRIVAL_MS - sinceMs));
  Deno.exit(code);
}
