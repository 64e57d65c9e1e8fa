import { isIP, isIPv6 } from "node:net";

/** The addresses behind a request. */
export interface CallerAddress {
  /** The caller's address, for logs. */
  shown: string;
  /** Value of `X-Forwarded-For` for the next hop. */
  forwardedFor: string;
  /** The key of the caller's limits: its address, for IPv6 its /64 network. */
  key: string;
  /** The same for the peer of the connection, which is not the caller behind a load balancer. */
  peerKey: string;
}

/** The longest `X-Forwarded-For` that is passed on: twenty IPv6 addresses. Nodes bound headers. */
const FORWARDED_FOR_LENGTH_MAX = 800;

/** The longest text that can be an IP address with a port. */
const ADDRESS_LENGTH_MAX = 64;

/**
 * Finds the caller of a request. Only the last entry of `X-Forwarded-For` was written by the proxy in
 * front; a caller can forge the earlier ones, or all of them if it connects directly.
 *
 * @param remote Address of the peer of the connection.
 * @param trusted Whether the peer is our own load balancer, so that its `X-Forwarded-For` is true. If
 *   not, the header is dropped.
 */
export function callerAddress(headers: Headers, remote: string, trusted: boolean): CallerAddress {
  const header = trusted ? headers.get("x-forwarded-for")?.trim() : undefined;
  const peerKey = addressKey(remote);
  if (header === undefined || header === "") {
    return { shown: remote, forwardedFor: remote, key: peerKey, peerKey };
  }
  const path = nearestHops(header);
  const nearest = path.slice(path.lastIndexOf(",") + 1).trim();
  return {
    shown: nearest.slice(0, ADDRESS_LENGTH_MAX) || remote,
    forwardedFor: path === "" ? remote : `${path}, ${remote}`,
    // The peer is part of the key: a forged address must not use up the limits of its owner.
    key: `${addressKey(nearest)} via ${peerKey}`,
    peerKey,
  };
}

/** The last entries of a header that is too long: the proxy wrote the last ones. */
function nearestHops(header: string): string {
  if (header.length <= FORWARDED_FOR_LENGTH_MAX) return header;
  const end = header.slice(-FORWARDED_FOR_LENGTH_MAX);
  const comma = end.indexOf(",");
  return comma === -1 ? "" : end.slice(comma + 1).trim();
}

/** The last address and its key: a connection, or a load balancer, sends many requests. */
let last = { address: "", key: "unknown" };

/** The key of an address in limits. All texts that are not an address share one key. */
export function addressKey(text: string): string {
  if (last.address !== text) last = { address: text, key: keyOf(text) };
  return last.key;
}

function keyOf(text: string): string {
  const address = withoutPort(text);
  if (isIP(address) === 4) return address;
  if (!isIPv6(address)) return "unknown";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? networkOf(address);
}

function withoutPort(text: string): string {
  return /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ??
    /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ??
    text;
}

/** The /64 network of an IPv6 address: one customer usually has all addresses of it. */
function networkOf(address: string): string {
  const [before = "", after] = address.replace(/%.*$/, "").split("::");
  const groups = before === "" ? [] : before.split(":");
  const rest = after === undefined || after === "" ? [] : after.split(":");
  // An IPv4 address at the end takes the place of two groups.
  const written = groups.length + rest.length + (address.includes(".") ? 1 : 0);
  if (after !== undefined) groups.push(...new Array(Math.max(0, 8 - written)).fill("0"), ...rest);
  const network = groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
