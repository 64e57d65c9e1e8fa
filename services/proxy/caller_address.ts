import { isIP, isIPv6 } from "node:net";

/** Who sent a request, as far as the proxy believes it. */
export interface CallerAddress {
  /** The address that logs show. */
  shown: string;
  /** Value of `X-Forwarded-For` for the node: the path of the request. */
  forwardedFor: string;
  /** What limits count by: the caller's address, for IPv6 its /64 network. */
  key: string;
  /** The same for the peer of the connection, which is not the caller behind a load balancer. */
  peerKey: string;
}

/** The longest `X-Forwarded-For` that is passed on: twenty IPv6 addresses. Nodes bound headers. */
const FORWARDED_FOR_LENGTH_MAX = 800;

/** The longest text that can be an IP address with a port. */
const ADDRESS_LENGTH_MAX = 64;

/**
 * Addresses that a trusted `X-Forwarded-For` names are only as reliable as the peer that wrote it. A
 * peer that invents them is bounded itself: it leaves a tenth of every limit to all others.
 */
export const PEER_SHARE = 0.9;

/**
 * The address of a caller.
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
  const first = path.split(",", 1)[0]?.trim() ?? remote;
  // The last entry is the one that the trusted peer added itself.
  const nearest = path.slice(path.lastIndexOf(",") + 1).trim();
  return {
    shown: first.slice(0, ADDRESS_LENGTH_MAX),
    forwardedFor: path === "" ? remote : `${path}, ${remote}`,
    key: addressKey(nearest),
    peerKey,
  };
}

/** The last entries of a header that is too long: those nearest to the proxy are reliable. */
function nearestHops(header: string): string {
  if (header.length <= FORWARDED_FOR_LENGTH_MAX) return header;
  const end = header.slice(-FORWARDED_FOR_LENGTH_MAX);
  const comma = end.indexOf(",");
  return comma === -1 ? "" : end.slice(comma + 1).trim();
}

/** The last address and its key: a connection, or a load balancer, sends many requests. */
let last = { address: "", key: "unknown" };

/** What limits count an address by. All texts that are no address share one key. */
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

/** How many of something each address has, and each peer whose header names the addresses. */
export class AddressCounts {
  readonly #perAddress: number;
  readonly #perPeer: number;
  // Bounded by what is counted: an entry goes with its last one.
  readonly #counts = new Map<string, number>();
  readonly #peerCounts = new Map<string, number>();

  constructor(perAddress: number, perPeer: number) {
    this.#perAddress = perAddress;
    this.#perPeer = perPeer;
  }

  /** Counts one more. @returns False if the address or its peer is at its limit. */
  tryAdd(address: CallerAddress): boolean {
    if (!this.hasRoom(address)) return false;
    this.add(address);
    return true;
  }

  /** Whether one more is within the limits. */
  hasRoom({ key, peerKey }: CallerAddress): boolean {
    if ((this.#counts.get(key) ?? 0) >= this.#perAddress) return false;
    return key === peerKey || (this.#peerCounts.get(peerKey) ?? 0) < this.#perPeer;
  }

  /** Counts one more, limit or not. */
  add({ key, peerKey }: CallerAddress): void {
    change(this.#counts, key, 1);
    if (key !== peerKey) change(this.#peerCounts, peerKey, 1);
  }

  /** Counts one less. */
  remove({ key, peerKey }: CallerAddress): void {
    change(this.#counts, key, -1);
    if (key !== peerKey) change(this.#peerCounts, peerKey, -1);
  }
}

function change(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
