import config from "./deno.json" with { type: "json" };
import type { CommandContext, RunnableCommand } from "./lib/service/command.ts";

/** One subcommand: its line in the help, and where it is. Nothing else of it is loaded. */
interface Door {
  summary: string;
  open: () => Promise<{ run: RunnableCommand }>;
}

const doors: Record<string, Door> = {
  demo: {
    summary: "play one whole bet against a fresh stack, then exit",
    open: () => import("./services/stack/demo.ts"),
  },
  stack: {
    summary: "run all services in one process on their default ports",
    open: () => import("./services/stack/mod.ts"),
  },
  solver: {
    summary: "market maker: signs quotes, submits theses",
    open: () => import("./services/solver/mod.ts"),
  },
  bridge: {
    summary: "turns signed deposit requests into deposit transactions",
    open: () => import("./services/bridge/mod.ts"),
  },
  proxy: {
    summary: "routes JSON-RPC, fans one upstream WebSocket out to many clients",
    open: () => import("./services/proxy/mod.ts"),
  },
  oracle: {
    summary: "one trusted price per pair from four exchanges",
    open: () => import("./services/oracle/mod.ts"),
  },
  node: {
    summary: "development core node: ledger, checkpoints, settlement",
    open: () => import("./services/node/mod.ts"),
  },
  backfill: {
    summary: "fills price history that the node missed, from an exchange's trades",
    open: () => import("./services/node/backfill.ts"),
  },
  exchanges: {
    summary: "stand-ins for the exchanges, in their own wire formats",
    open: () => import("./services/exchanges/mod.ts"),
  },
};

function helpText(): string {
  const rows = Object.entries(doors).map(([name, door]) => `  ${name.padEnd(10)} ${door.summary}`);
  return [
    `rangemaker ${config.version}: everything around the core node of an RFQ chain`,
    "",
    "Usage: rangemaker <command> [options]      with Deno: deno task <command> [options]",
    "",
    "Commands:",
    ...rows,
    "",
    "Options:",
    "  -h, --help     show this help; after a command, the help of that command",
    "  -V, --version  show the version",
    "",
    "Start with: deno task demo",
  ].join("\n");
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = () => {
      if (asked) Deno.exit(130);
      asked = true;
      resolve();
    };
    Deno.addSignalListener("SIGINT", onSignal);
    Deno.addSignalListener("SIGTERM", onSignal);
  });
}

const context: CommandContext = {
  env: (name) => Deno.env.get(name),
  print: (line) => console.log(line),
  untilSignal,
  color: Deno.stderr.isTerminal() && !Deno.noColor,
};

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    console.error(helpText());
    return 2;
  }
  if (name === "-h" || name === "--help" || name === "help") {
    console.log(helpText());
    return 0;
  }
  if (name === "-V" || name === "--version") {
    console.log(`rangemaker ${config.version}`);
    return 0;
  }
  const door = Object.hasOwn(doors, name) ? doors[name] : undefined;
  if (door === undefined) {
    console.error(`Unknown command ${JSON.stringify(name)}. See rangemaker --help`);
    return 2;
  }
  const { run } = await door.open();
  return await run(rest, context);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
