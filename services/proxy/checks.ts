/** What `rangemaker doctor` checks for the proxy. */
import { z } from "zod";
import {
  BlockedError,
  check,
  type CheckContext,
  fail,
  type Finding,
  ok,
  type ServiceChecks,
} from "../../lib/cli/checks/check.ts";
import { tryWrites } from "../../lib/cli/checks/node.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "proxy",
  options,
  health: z.literal("OK").transform((status) => ({ status })),
  resolve: (values) => ({
    ...values,
    readNodeWsUrl: values.readNodeWsUrl ?? values.readNodeUrl?.replace(/^http/, "ws"),
  }),
  special({ writeNodeUrl, readNodeUrl }, context) {
    const isOneUnknown = writeNodeUrl === undefined || readNodeUrl === undefined;
    const urls = isOneUnknown ? undefined : [writeNodeUrl, readNodeUrl];
    return [
      check("writes", writeNodeUrl, (url) => tryWrites(url, options.writeNodeUrl, context)),
      check("chains", urls, (urls) => compareChains(urls, context)),
    ];
  },
};

async function compareChains(
  urls: readonly string[],
  { timeoutMs }: CheckContext,
): Promise<Finding> {
  const [write, read] = await Promise.all(
    urls.map((url) => new CoreClient({ url, timeoutMs }).chainId()),
  ).catch(() => {
    throw new BlockedError("a node did not answer", "the nodes");
  });
  if (write === read) return ok(`Both nodes have chain ${write}`);
  return fail(
    `The write node has chain ${write}, the read node chain ${read}`,
    "Use two nodes of one chain: --write-node-url and --read-node-url",
  );
}
