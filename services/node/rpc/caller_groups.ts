import { addressKey } from "../../../lib/http/caller_address.ts";

/** Where the last two entries of `X-Forwarded-For` are: addresses with ports are shorter. */
const END_CHARS = 160;

/** The header that names who is behind a proxy. */
export const FORWARDED_FOR = "x-forwarded-for";

/**
 * Whose shares a request counts against, from the widest to the narrowest: the peer of the connection;
 * or, behind a proxy, everybody for whom this peer forwards, then the last two addresses that
 * it names. The last one may be a load balancer in front of the proxy, which names its client before
 * itself. A forwarded address gets only a part of the share of whoever reported it, so a forged one
 * gains nothing and takes nothing from its owner: for `1.1.1.1, 9.9.9.9` from 10.0.0.1, the groups are
 * `via 10.0.0.1`, `9.9.9.9 via 10.0.0.1` and `1.1.1.1 9.9.9.9 via 10.0.0.1`.
 *
 * @param forwardedFor The header {@link FORWARDED_FOR}; null if there is none.
 */
export function callerGroups(forwardedFor: string | null, remote: string): readonly string[] {
  const peer = addressKey(remote);
  if (forwardedFor === null) return [peer];
  const groups = [`via ${peer}`];
  const nearestFirst = forwardedFor.slice(-END_CHARS).split(",").slice(-2).reverse();
  for (const entry of nearestFirst) groups.push(`${addressKey(entry.trim())} ${groups.at(-1)}`);
  return groups;
}
