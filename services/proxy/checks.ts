/** The proxy's own checks for `rangemaker doctor`. */
import { z } from "zod";
import {
  BlockedError,
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceChecks,
} from "../../lib/cli/checks/check.ts";
import { checkWrites } from "../../lib/cli/checks/node.ts";
import { itemsOf } from "../../lib/cli/option_kinds.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { options } from "./options.ts";

export const checks: ServiceChecks<typeof options> = {
  service: "proxy",
  options,
  // The status may be followed by a list of the read nodes out of rotation.
  health: z.string().startsWith("OK").transform(() => ({ status: "OK" })),
  resolve: (values) => ({
    ...values,
    readNodeWsUrl: values.readNodeWsUrl ?? values.readNodeUrl?.replace(/\bhttp(?=s?:)/g, "ws"),
  }),
  customChecks({ writeNodeUrl, readNodeUrl }, context) {
    const isOneUnknown = writeNodeUrl === undefined || readNodeUrl === undefined;
    const urls = isOneUnknown ? undefined : [writeNodeUrl, ...itemsOf(readNodeUrl)];
    return [
      optionalCheck(
        "writes",
        writeNodeUrl,
        (url) => checkWrites(url, options.writeNodeUrl, context),
      ),
      optionalCheck("chains", urls, (urls) => compareChains(urls, context)),
    ];
  },
};

async function compareChains(
  urls: readonly string[],
  { timeoutMs }: CheckContext,
): Promise<Finding> {
  const [write, ...reads] = await Promise.all(
    urls.map((url) => new CoreClient({ url, timeoutMs }).chainId()),
  ).catch(() => {
    throw new BlockedError("a node did not answer", "the nodes");
  });
  const read = reads.find((chain) => chain !== write);
  if (read === undefined) return ok(`All nodes have chain ${write}`);
  return fail(
    `The write node has chain ${write}, a read node chain ${read}`,
    "Use nodes of one chain: --write-node-url and --read-node-url",
  );
}
