import { addressKey } from "../../../lib/http/caller_address.ts";

/** The last two entries of `X-Forwarded-For`, addresses with ports, fit in this many characters. */
const END_CHARS = 160;

/**
 * The groups whose shares a request counts against, the widest first. Without a proxy, the only
 * group is the peer of the connection. Behind a proxy, the groups are all callers that this peer
 * forwards, then the last address of the header, then the last two. The last address may be a load
 * balancer in front of the proxy; the one before it is then the client. A forwarded address gets
 * only a part of the share of the peer that reported it, so a forged address gains nothing and
 * takes nothing from its owner.
 *
 * Example: for `1.1.1.1, 9.9.9.9` from 10.0.0.1, the groups are
 * `via 10.0.0.1`, `9.9.9.9 via 10.0.0.1` and `1.1.1.1 9.9.9.9 via 10.0.0.1`.
 *
 * @param forwardedFor The header `X-Forwarded-For`; null if there is none.
 */
export function callerGroups(forwardedFor: string | null, remote: string): readonly string[] {
  const peer = addressKey(remote);
  if (forwardedFor === null) return [peer];
  const groups = [`via ${peer}`];
  const nearestFirst = forwardedFor.slice(-END_CHARS).split(",").slice(-2).reverse();
  for (const entry of nearestFirst) groups.push(`${addressKey(entry.trim())} ${groups.at(-1)}`);
  return groups;
}
