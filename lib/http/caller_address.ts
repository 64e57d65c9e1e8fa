import { isIP } from "node:net";
import type { Context } from "hono";

/** The addresses behind a request. */
export interface CallerAddress {
  display: string;
  /** Value of `X-Forwarded-For` for the next hop. */
  forwardedFor: string;
  /** The key of the caller's limits: its address, for IPv6 its /64 network. */
  key: string;
  /**
   * The /56 and /48 networks of an IPv6 caller, which limits count too: one customer may own all of
   * it. Empty for IPv4.
   */
  networks: readonly string[];
  /** The key of the connection's peer; behind a load balancer, the peer is not the caller. */
  peerKey: string;
}

/** The header with the addresses behind a proxy. */
export const FORWARDED_FOR = "x-forwarded-for";

/** The longest `X-Forwarded-For` that is passed on: twenty IPv6 addresses. */
const FORWARDED_FOR_LENGTH_MAX = 800;

/** The longest text that can be an IP address with a port. */
const ADDRESS_LENGTH_MAX = 64;

/** The address of a connection. The listener sets it; a request without one comes from a test. */
export function remoteOf(c: Context): string {
  const { remote = "unknown" }: { remote?: string } = c.env ?? {};
  return remote;
}

/**
 * Finds the caller of a request. Only the last entry of `X-Forwarded-For` was written by the proxy
 * in front; a caller can forge the earlier ones, or all of them if it connects directly.
 *
 * @param remote Address of the peer of the connection.
 * @param trusted Whether the peer is our own load balancer, so that its `X-Forwarded-For` is true.
 *   If not, the header is dropped.
 */
export function callerAddress(headers: Headers, remote: string, trusted: boolean): CallerAddress {
  const header = trusted ? headers.get(FORWARDED_FOR)?.trim() : undefined;
  const { key: peerKey, networks } = limitKeys(remote);
  if (header === undefined || header === "") {
    return { display: remote, forwardedFor: remote, key: peerKey, networks, peerKey };
  }
  const path = nearestHops(header);
  const nearest = path.slice(path.lastIndexOf(",") + 1).trim();
  const keys = keysOf(nearest); // not cached: that would evict the peer's
  return {
    display: nearest.slice(0, ADDRESS_LENGTH_MAX) || remote,
    forwardedFor: path === "" ? remote : `${path}, ${remote}`,
    // The peer is part of the key: a forged address must not use up the limits of its owner.
    key: `${keys.key} via ${peerKey}`,
    networks: keys.networks.map((network) => `${network} via ${peerKey}`),
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

type LimitKeys = Pick<CallerAddress, "key" | "networks">;

/** Cache of the last address and its keys: one connection or load balancer sends many requests. */
let last: { address: string; keys: LimitKeys } = {
  address: "",
  keys: { key: "unknown", networks: [] },
};

/** The keys of an address in limits. All texts that are not an address share one key. */
export function limitKeys(text: string): LimitKeys {
  if (last.address !== text) last = { address: text, keys: keysOf(text) };
  return last.keys;
}

function keysOf(text: string): LimitKeys {
  const address = withoutPort(text);
  const version = isIP(address);
  if (version === 4) return { key: address, networks: [] };
  if (version === 0) return { key: "unknown", networks: [] };
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped === undefined ? networksOf(address) : { key: mapped, networks: [] };
}

function withoutPort(text: string): string {
  return /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ??
    /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ??
    text;
}

/**
 * The networks of an IPv6 address: a customer has a /64, a home a /56, a company a /48 (RIPE-690).
 */
function networksOf(address: string): LimitKeys {
  const [before = "", after = ""] = address.replace(/%.*$/, "").split("::");
  const groups = before === "" ? [] : before.split(":");
  const rest = after === "" ? [] : after.split(":");
  // An IPv4 address at the end takes the place of two groups.
  const written = groups.length + rest.length + (address.includes(".") ? 1 : 0);
  groups.push(...new Array(Math.max(0, 8 - written)).fill("0"), ...rest);
  const [a, b, c, d = 0] = groups.map((group) => parseInt(group, 16));
  const hex = (...parts: (number | undefined)[]) =>
    parts.map((part) => part?.toString(16)).join(":");
  return {
    key: `${hex(a, b, c, d)}::/64`,
    networks: [`${hex(a, b, c, d & 0xff00)}::/56`, `${hex(a, b, c)}::/48`],
  };
}
