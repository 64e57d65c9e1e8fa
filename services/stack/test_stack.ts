/**
 * The program behind `startChain` of the package `@rangemaker/testing`: a stack on free ports. It
 * prints one line of JSON when it is up. It exits when its standard input ends, so that it never
 * outlives the test that started it.
 */
import { messageOf } from "../../lib/errors.ts";
import { configureLogging } from "../../lib/log/logging.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { chainIdOption } from "../../lib/cli/shared_options.ts";
import { FREE_PORTS } from "./ports.ts";
import { startStack } from "./stack.ts";

await configureLogging({ jsonLogs: false, logLevel: "warning", color: false });
try {
  // Pages under test have other origins.
  const { urls } = await startStack({ ports: FREE_PORTS, seed: 1, corsOrigins: ["*"] });
  const solver = DEV_ACCOUNTS.solver.address;
  console.log(JSON.stringify({ urls, chainId: Number(chainIdOption.default), solver }));
  for await (const _ of Deno.stdin.readable);
  // All data is in memory, so there is nothing to finish, and no need to wait for open connections.
  Deno.exit(0);
} catch (thrown) {
  console.error(messageOf(thrown));
  Deno.exit(1);
}
