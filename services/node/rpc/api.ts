import { Hono } from "hono";
import { type Clock, systemClock } from "../../../lib/clock.ts";
import type { Cors } from "../../../lib/http/cors.ts";
import { allowReadsFrom, handleErrors, readInTime } from "../../../lib/http/json_api.ts";
import { RpcCode, rpcFailure } from "../../../lib/protocol/jsonrpc.ts";
import { FORWARDED_FOR, limitKeys, remoteOf } from "../../../lib/http/caller_address.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** The largest body of a request: a `BackfillOracle` of 6,000 prices needs a seventh of it. */
const RPC_BODY_BYTES_MAX = 1024 * 1024;

const TOO_LARGE = rpcFailure(
  null,
  RpcCode.limitExceeded,
  `Body may have ${RPC_BODY_BYTES_MAX} bytes, in few pieces: send less at once`,
);

/**
 * Refuses web pages of other origins: browsers send some calls without a preflight request, and
 * WebSockets always. Only browsers send an origin.
 */
export function refuseCrossOrigin(
  request: Request,
  cors: Pick<Cors, "allows">,
): Response | undefined {
  const origin = request.headers.get("origin");
  if (cors.allows(origin)) return undefined;
  return invalidRequest(403, `Pages of ${origin} may not call this node: use the proxy`);
}

/** The refusal of a request without a call. */
export function invalidRequest(status: number, message: string): Response {
  return Response.json(rpcFailure(null, RpcCode.invalidRequest, message), { status });
}

/**
 * JSON-RPC over HTTP: `POST /`.
 *
 * @param corsOrigins Origins of the web pages that may read health and metrics.
 * @param clock Bounds the time in which a body arrives.
 */
export function createNodeApi(
  dispatcher: Pick<Dispatcher, "handle">,
  isReadOnly: boolean,
  corsOrigins: readonly string[] = [],
  clock: Clock = systemClock,
): Hono {
  const app = new Hono();
  allowReadsFrom(app, corsOrigins);
  app.post("/", async (c) => {
    // Read now: headers cannot be read once the caller has hung up.
    const forwardedFor = c.req.raw.headers.get(FORWARDED_FOR);
    const groups = () => callerGroups(forwardedFor, remoteOf(c));
    const body = await readInTime(c, RPC_BODY_BYTES_MAX, clock);
    if (body === undefined) return c.json(TOO_LARGE, 413);
    const { text, isMalformed } = await dispatcher.handle(body, { isReadOnly, groups });
    if (text === undefined) return c.body(null, 204);
    return c.body(text, isMalformed ? 400 : 200, { "content-type": "application/json" });
  });
  handleErrors(app, "node");
  return app;
}

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
  const peer = limitKeys(remote).key;
  if (forwardedFor === null) return [peer];
  const groups = [`via ${peer}`];
  const nearestFirst = forwardedFor.slice(-END_CHARS).split(",").slice(-2).reverse();
  for (const entry of nearestFirst) groups.push(`${limitKeys(entry.trim()).key} ${groups.at(-1)}`);
  return groups;
}
