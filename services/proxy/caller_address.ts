/** Who sent a request, as far as the proxy believes it. */
export interface CallerAddress {
  /** The address that logs show. */
  shown: string;
  /** Value of `X-Forwarded-For` for the node: the way that the request came. */
  forwardedFor: string;
}

/**
 * The address of a caller.
 *
 * @param remote Address of the peer of the connection.
 * @param trusted Whether the peer is a proxy of ours, whose `X-Forwarded-For` holds; otherwise what a
 *   caller writes there is dropped.
 */
export function callerAddress(headers: Headers, remote: string, trusted: boolean): CallerAddress {
  const said = trusted ? headers.get("x-forwarded-for")?.trim() : undefined;
  if (said === undefined || said === "") return { shown: remote, forwardedFor: remote };
  const first = said.split(",", 1)[0]?.trim() ?? remote;
  return { shown: first, forwardedFor: `${said}, ${remote}` };
}
