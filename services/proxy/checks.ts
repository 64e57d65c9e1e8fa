/** What `rangemaker doctor` checks for the proxy. */
import { z } from "zod";
import { type Check, type CheckContext, fail, ok, warn } from "../../lib/cli/checks/check.ts";
import { nodeCheck } from "../../lib/cli/checks/core_node.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/cli/checks/permissions.ts";
import { portCheck } from "../../lib/cli/checks/port.ts";
import { socketCheck } from "../../lib/cli/checks/socket.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { options, type ProxyOptions } from "./options.ts";

export { options };

const healthSchema = z.literal("OK").transform((status) => ({ status }));

/** Checks of every URL and port that the proxy uses. */
export function checks(given: Partial<ProxyOptions>, context: CheckContext): Check[] {
  const { host, port, wsPort, writeNodeUrl, readNodeUrl } = given;
  const readNodeWsUrl = given.readNodeWsUrl ?? readNodeUrl?.replace(/^http/, "ws");
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfPort(host, wsPort),
      needsOfUrls(writeNodeUrl, readNodeUrl, readNodeWsUrl),
    ),
  ];
  if (writeNodeUrl !== undefined) {
    const node = { url: writeNodeUrl, option: options.writeNodeUrl };
    all.push(nodeCheck("write node", node, context));
  }
  if (readNodeUrl !== undefined) {
    const node = { url: readNodeUrl, option: options.readNodeUrl };
    all.push(nodeCheck("read node", node, context));
  }
  if (writeNodeUrl !== undefined && readNodeUrl !== undefined) {
    all.push(sameChainCheck(writeNodeUrl, readNodeUrl, context));
  }
  if (readNodeWsUrl !== undefined) {
    all.push(socketCheck(readNodeWsUrl, options.readNodeWsUrl, context));
  }
  if (host !== undefined) {
    const health = healthSchema;
    if (port !== undefined) {
      all.push(portCheck("port", { host, port, option: options.port, health }, context));
    }
    if (wsPort !== undefined) {
      const target = { host, port: wsPort, option: options.wsPort, health };
      all.push(portCheck("ws port", target, context));
    }
  }
  return all;
}

/** Both nodes are of one chain; if one is down, its own check says so. */
function sameChainCheck(writeUrl: string, readUrl: string, { timeoutMs }: CheckContext): Check {
  return {
    subject: "chains",
    async run() {
      const [write, read] = await Promise.all([writeUrl, readUrl].map((url) => {
        return new CoreClient({ url, timeoutMs }).chainId().catch(() => undefined);
      }));
      if (write === undefined || read === undefined) {
        return warn("Not known: a node did not answer", "Fix the nodes first");
      }
      if (write === read) return ok(`Both nodes are of chain ${write}`);
      return fail(
        `The write node is of chain ${write}, the read node of chain ${read}`,
        "Give two nodes of one chain with --write-node-url and --read-node-url",
      );
    },
  };
}
