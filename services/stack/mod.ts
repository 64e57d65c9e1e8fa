import { getLogger } from "@logtape/logtape";
import { command, ExitCode, stopInTime } from "../../lib/cli/command.ts";
import { LOG_ROOT } from "../../lib/http/logging.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { priceOptions } from "./options.ts";
import { describeStack, SPEC_PORTS, startStack } from "./stack.ts";

const options = {
  ...priceOptions,
  live: {
    flags: "--live",
    kind: kinds.flag,
    description: "take prices from the real exchanges",
    default: "false",
  },
} satisfies OptionTable;

/** Logs that the keys in use are publicly known. */
export function warnOfDevelopmentKeys(): void {
  getLogger([LOG_ROOT, "stack"]).warning(
    "Development keys only: the accounts are publicly known, anyone can spend from them",
  );
}

/** `stack`: everything in one process on the spec's default ports, until a signal. */
export const run = command({
  name: "stack",
  description:
    "Runs exchanges, oracle, node, proxy, bridge and solver in one process on their default ports. " +
    "Only the bridge moves, to 3001: the solver uses 3000.",
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
    context.print("Stop it with Ctrl-C.");
    await signal;
    return await stopInTime(stack, context) ? ExitCode.ok : ExitCode.failed;
  },
});
