import { createCommand, ExitCode, stopInTime } from "../../lib/cli/command.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { optionTable } from "../../lib/cli/options.ts";
import { listenOptions, marketsOption } from "../../lib/cli/shared_options.ts";
import { loadPage } from "../console/mod.ts";
import { pricingOptions } from "../solver/pricing/options.ts";
import { waitForQuotes } from "./bet.ts";
import { PORT_OFFSET_MAX, portsAt } from "./ports.ts";
import { greetingOf, STACK_PRICING, startStack } from "./stack.ts";

/** Options of both the stack and the demo: the source of prices. */
export const priceOptions = optionTable({
  seed: {
    kind: kinds.seed,
    description: "seed of the simulated prices",
    default: "1",
  },
  tape: {
    kind: kinds.file,
    description: "replay recorded ETH/USDT trades (CSV time_ms,trade_id,side,price,amount)",
  },
});

export const options = optionTable({
  ...priceOptions,
  live: {
    kind: kinds.flag,
    description: "take prices from the real exchanges",
    default: "false",
  },
  portOffset: {
    kind: kinds.integer(0, PORT_OFFSET_MAX),
    description:
      "added to every port, so that several stacks can run side by side; refused if browsers " +
      "refuse one of the ports",
    default: "0",
  },
  ...listenOptions,
  markets: marketsOption,
  corsOrigins: {
    kind: kinds.origins,
    description: "web pages besides the console that may call solver, bridge and proxy, " +
      "comma-separated; * for all; none by default",
  },
  dataDir: {
    flags: "-d, --data-dir",
    kind: kinds.directory,
    description: "directory of node, bridge and solver, which then survive a restart; in memory " +
      "by default",
  },
  ...pricingOptions,
  pricing: { ...pricingOptions.pricing, default: STACK_PRICING.pricing },
  userLeadMs: {
    flags: pricingOptions.userLeadMs.flags,
    kind: pricingOptions.userLeadMs.kind,
    description: pricingOptions.userLeadMs.description,
    shownDefault: `${STACK_PRICING.userLeadMs}; with --live ${pricingOptions.userLeadMs.default}`,
  },
  volatilityHistoryMs: {
    ...pricingOptions.volatilityHistoryMs,
    default: String(STACK_PRICING.volatilityHistoryMs),
  },
});

export function warnOfDevelopmentKeys(): void {
  serviceLog("stack").warn(
    "Development keys only: the accounts are publicly known, anyone can spend from them",
  );
}

/** `stack`: everything in one process on the spec's default ports, until a signal. */
export const run = createCommand({
  name: "stack",
  description:
    "Runs console, exchanges, oracle, node, proxy, bridge and solver in one process on their default " +
    "ports. " +
    "Only the bridge moves, to 3001: the solver uses 3000. " +
    "For tests, core_faucet, core_snapshot, core_revert and core_advance at the proxy give money, " +
    "save and restore the chain, and move its time (docs/protocol.md).",
  examples: [
    ["rangemaker stack", "simulated prices, the same every time"],
    ["rangemaker stack --tape trades.csv", "recorded ETH/USDT trades"],
    ["rangemaker stack --live", "prices from the real exchanges"],
    ["rangemaker stack --data-dir data/stack", "balances and bets survive a restart"],
    ["rangemaker stack --port-offset 100", "a second stack: the solver on 3100, and so on"],
    ["rangemaker stack --cors-origins http://localhost:5173", "for a front end of your own"],
  ],
  options,
  load: loadPage,
  async run(options, context, page) {
    const {
      portOffset,
      seed,
      tape,
      live,
      host,
      allowedHosts,
      markets,
      corsOrigins,
      dataDir,
      userLeadMs = live ? undefined : STACK_PRICING.userLeadMs,
      ...pricing
    } = options;
    const signal = context.untilSignal();
    const stack = await startStack({
      ports: portsAt(portOffset),
      host,
      allowedHosts,
      seed,
      tape,
      live,
      markets,
      corsOrigins,
      dataDir,
      pricing: { ...pricing, ...(userLeadMs !== undefined && { userLeadMs }) },
      page,
    });
    context.progress("Waiting for prices …");
    await Promise.race([waitForQuotes(stack.urls, context.clock), signal]);
    context.progress("");
    warnOfDevelopmentKeys();
    greetingOf(stack.urls, dataDir).forEach(context.print);
    await signal;
    return await stopInTime(stack, context) ? ExitCode.ok : ExitCode.failed;
  },
});
