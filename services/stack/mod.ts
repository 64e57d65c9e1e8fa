import { createCommand, ExitCode, stopInTime, withTaskNames } from "../../lib/cli/command.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { loadPage } from "../console/mod.ts";
import { waitForQuotes } from "./bet.ts";
import { options } from "./options.ts";
import { portsAt } from "./ports.ts";
import { greetingOf, STACK_PRICING, startStack, warnOfDevelopmentKeys } from "./stack.ts";

export { options };

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
    const missing = await Promise.race([waitForQuotes(stack.urls, context.clock), signal]);
    context.progress("");
    warnOfDevelopmentKeys();
    for (const line of greetingOf(stack.urls, dataDir)) context.print(withTaskNames(line, context));
    if (missing) serviceLog("stack").warn("No bet can be priced yet: {missing}", { missing });
    await signal;
    return await stopInTime(stack, context) ? ExitCode.ok : ExitCode.failed;
  },
});
