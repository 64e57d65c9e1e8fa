import {
  type CheckContext,
  type CheckOutcome,
  failure,
  passed,
  type ServiceChecks,
} from "../../lib/cli/service_checks.ts";
import { itemsOf } from "../../lib/cli/option_kinds.ts";
import { findWriteProblem } from "../../lib/http/readiness.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { redactUrls } from "../../lib/redact.ts";
import { options, type ProxyOptions, startProxy } from "./mod.ts";

const URLS = "--write-node-url and --read-node-url";
const REMEDY = `Correct ${URLS}`;

/** What `rangemaker doctor` checks of the proxy besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "proxy",
  options,
  customChecks: (values, context) => [{
    subject: "nodes",
    remedy: `Start the nodes, or correct ${URLS}`,
    run: () => checkNodes(values, context),
  }],
  start: startProxy,
};

/** The proxy itself serves reads whatever becomes of the write node: its `/ready` ignores it. */
async function checkNodes(
  { writeNodeUrl, readNodeUrl }: ProxyOptions,
  { timeoutMs }: CheckContext,
): Promise<CheckOutcome> {
  const writeNode = new CoreClient({ url: writeNodeUrl, timeoutMs });
  const chain = await writeNode.getChainId();
  for (const url of itemsOf(readNodeUrl)) {
    const actual = await new CoreClient({ url, timeoutMs }).getChainId();
    if (actual === chain) continue;
    const expected = `expected ${chain}, as the write node has`;
    return failure(`Read node at ${redactUrls(url)} has chain id ${actual}: ${expected}`, REMEDY);
  }
  const problem = await findWriteProblem(writeNode);
  return problem === undefined ? passed(`All have chain ${chain}`) : failure(problem, REMEDY);
}
