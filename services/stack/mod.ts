import { getLogger } from "@logtape/logtape";
import { command, ExitCode, stopInTime } from "../../lib/cli/command.ts";
import { LOG_ROOT } from "../../lib/http/logging.ts";
import { switchSchema } from "../../lib/cli/option_types.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { priceOptions } from "./options.ts";
import { describeStack, SPEC_PORTS, startStack } from "./stack.ts";

const options = {
  ...priceOptions,
  live: {
    flags: "--live",
    description: "take prices from the real exchanges",
    schema: switchSchema,
    default: "false",
  },
} satisfies OptionTable;

/** Says in the log that the keys in use are everybody's. */
export function warnOfDevelopmentKeys(): void {
  getLogger([LOG_ROOT, "stack"]).warning(
    "Development keys only: the accounts are publicly known, anyone can spend from them",
  );
}

/** `stack`: everything in one process on the spec's default ports, until a signal. */
export const run = command({
  name: "stack",
  description:
    "Runs exchanges, oracle, node, proxy, bridge and solver in one process on their default ports, " +
    "but for the bridge: that is on 3001, since the solver has 3000.",
  examples: [
    ["rangemaker stack", "simulated prices, the same every time"],
    ["rangemaker stack --tape trades.csv", "recorded ETH/USDT trades"],
    ["rangemaker stack --live", "prices from the real exchanges"],
  ],
  options,
  async run({ seed, tape, live }, context) {
    const signal = context.untilSignal();
    const stack = await startStack({ ports: SPEC_PORTS, seed, tape, live });
    warnOfDevelopmentKeys();
    context.print("rangemaker stack is up:");
    describeStack(stack.urls).forEach(context.print);
    context.print("Ctrl-C ends it.");
    await signal;
    return await stopInTime(stack, context) ? ExitCode.ok : ExitCode.failed;
  },
});
