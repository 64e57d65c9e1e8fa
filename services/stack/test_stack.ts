/**
 * The program behind `startChain` of the package `@rangemaker/testing`: a stack on free ports. It
 * prints one line of JSON when it is up, and ends with its standard input, so that it never outlives
 * the test that started it.
 */
import { messageOf } from "../../lib/errors.ts";
import { configureLogging } from "../../lib/log/logging.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { chainIdOption } from "../../lib/cli/shared_options.ts";
import { FREE_PORTS, startStack } from "./stack.ts";

await configureLogging({ jsonLogs: false, logLevel: "warning", color: false });
try {
  // Pages under test have origins of their own.
  const { urls } = await startStack({ ports: FREE_PORTS, seed: 1, corsOrigins: ["*"] });
  const solver = DEV_ACCOUNTS.solver.address;
  console.log(JSON.stringify({ urls, chainId: Number(chainIdOption.default), solver }));
  for await (const _ of Deno.stdin.readable);
  // All of it is in memory: there is nothing to finish, and no need to wait for open connections.
  Deno.exit(0);
} catch (thrown) {
  console.error(messageOf(thrown));
  Deno.exit(1);
}
