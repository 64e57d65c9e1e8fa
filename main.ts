import {
  type CommandContext,
  ExitCode,
  loadCommand,
  type ProgramCommands,
  reportErrors,
} from "./lib/cli/command.ts";
import { didYouMean } from "./lib/cli/did_you_mean.ts";
import { UsageError } from "./lib/cli/options.ts";
import { runProcess } from "./lib/cli/process.ts";
import config from "./deno.json" with { type: "json" };

/** Every command of the program. Each is loaded on demand. */
export const commands: ProgramCommands = {
  demo: {
    summary: "plays one whole bet against a fresh stack, then exits",
    load: () => import("./services/stack/demo.ts"),
  },
  stack: {
    summary: "all services in one process (the bridge on port 3001)",
    load: () => import("./services/stack/mod.ts"),
  },
  solver: {
    summary: "market maker: signs quotes, executes them by submitting the bet to the node",
    load: () => import("./services/solver/mod.ts"),
  },
  bridge: {
    summary: "turns a signed deposit request into one deposit transaction, exactly once",
    load: () => import("./services/bridge/mod.ts"),
  },
  proxy: {
    summary: "routes JSON-RPC to a write node and read nodes, fans one WebSocket out to many",
    load: () => import("./services/proxy/mod.ts"),
  },
  oracle: {
    summary: "one trusted price per market from four exchanges, served in under 10 ms",
    load: () => import("./services/oracle/mod.ts"),
  },
  node: {
    summary: "chain for development or one operator: ledger, price history, settlement",
    load: () => import("./services/node/mod.ts"),
  },
  backfill: {
    summary: "fills prices that the node missed, from an exchange, so that bets can settle",
    load: () => import("./services/backfill/mod.ts"),
  },
  console: {
    summary: "a page to bet from, to see a market maker's risk, and every service's state",
    load: () => import("./services/console/mod.ts"),
  },
  exchanges: {
    summary: "stand-ins for the four exchanges, in their own wire formats, with faults",
    load: () => import("./services/exchanges/mod.ts"),
  },
  doctor: {
    summary: "checks what services are set to use, and whether each starts and gets ready",
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
    `rangemaker ${config.version}: range bets: market maker, bridge, proxy, oracle, console, and a chain for them`,
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
  return reportErrors("", context, async () => {
    if (name.startsWith("-")) throw unknownOption(name);
    return await (await loadCommand(commands, name))(rest, context);
  });
}

/** The error for an option in place of a command. The text after its = may be a secret. */
function unknownOption(typed: string): UsageError {
  const name = typed.replace(/=.*/s, "");
  const meant = didYouMean(name, ["--help", "--version"]);
  return new UsageError(`Unknown option '${name}'${meant || ": options follow the command"}`);
}

if (import.meta.main) await runProcess((context) => rangemaker(Deno.args, context));
