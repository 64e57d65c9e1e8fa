import { itemsOf } from "../../../lib/cli/option_kinds.ts";
import { UsageError } from "../../../lib/cli/options.ts";
import type { ProxyOptions } from "../options.ts";

/** Most read nodes: the id of a filter has two digits for its node. */
export const READ_NODES_MAX = 256;

/** The read nodes of the options, in their order. */
export interface ReadNodeUrls {
  urls: string[];
  wsUrls: string[];
  /** Names for logs, metrics and people. */
  names: string[];
}

/** The read nodes. @throws {UsageError} If there are too many, or one has no WebSocket URL. */
export function readNodeUrls({ readNodeUrl, readNodeWsUrl }: ProxyOptions): ReadNodeUrls {
  const urls = itemsOf(readNodeUrl);
  const wsUrls = readNodeWsUrl === undefined
    ? urls.map((url) => url.replace(/^http/i, "ws")) // most nodes answer both on one port
    : itemsOf(readNodeWsUrl);
  if (wsUrls.length !== urls.length) {
    throw new UsageError(
      `--read-node-ws-url must have a URL for each of --read-node-url: received ${wsUrls.length} ` +
        `and ${urls.length}`,
    );
  }
  if (urls.length > READ_NODES_MAX) {
    throw new UsageError(
      `--read-node-url may have ${READ_NODES_MAX} URLs: received ${urls.length}`,
    );
  }
  return { urls, wsUrls, names: namesOf(urls) };
}

/** Host and port of each node, without passwords; equal ones are numbered. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) => {
    const isUnique = hosts.every((other, at) => at === index || other !== host);
    return isUnique ? host : `${host} ${index + 1}`;
  });
}
