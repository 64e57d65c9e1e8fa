import { messageOf } from "../../lib/errors.ts";
import { createCommand, ExitCode, stopInTime, withTaskNames } from "../../lib/cli/command.ts";
import { playBet } from "./bet.ts";
import { demoOptions as options } from "./options.ts";
import { FREE_PORTS } from "./ports.ts";
import { greetingOf, STACK_PRICING, startStack, warnOfDevelopmentKeys } from "./stack.ts";

/** `demo`: starts a stack on free ports and plays one bet; exit code 0 if every check passed. */
export const run = createCommand({
  name: "demo",
  description: "Starts everything on free ports and plays one bet from deposit to payout.",
  examples: [
    ["rangemaker demo", "one bet on simulated prices"],
    ["rangemaker demo --tape trades.csv", "one bet on recorded ETH/USDT trades"],
    ["rangemaker demo --keep", "keep everything running afterwards"],
  ],
  options,
  defaultLogLevel: "warning",
  async run({ seed, tape, keep }, context) {
    const startedAtMs = performance.now();
    context.progress("Starting everything …");
    const stack = await startStack({ ports: FREE_PORTS, seed, tape, pricing: STACK_PRICING });
    context.progress("");
    warnOfDevelopmentKeys();
    let exitCode: number = ExitCode.ok;
    try {
      const bet = await playBet(stack.urls, context.clock, context.print, context.progress);
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
      context.print(`Bet ${bet.thesis.status} by the user, end to end in ${seconds} s`);
    } catch (thrown) {
      context.printError(`Demo failed: ${messageOf(thrown)}`);
      exitCode = ExitCode.failed;
    }
    if (keep) {
      for (const line of greetingOf(stack.urls)) context.print(withTaskNames(line, context));
      await context.untilSignal();
    }
    return await stopInTime(stack, context) ? exitCode : ExitCode.failed;
  },
});
