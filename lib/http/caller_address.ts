/** The addresses behind a request. */
export interface CallerAddress {
  /** The caller, for limits and logs. */
  caller: string;
  /** The other end of the connection: a proxy in front, or the caller itself. */
  connection: string;
  /** Value of `X-Forwarded-For` for the next hop. */
  forwardedFor: string;
}

/**
 * Finds the caller of a request. Only the last entry of `X-Forwarded-For` was written by the proxy in
 * front; a caller can forge those before it, or all of them if it connects directly.
 *
 * @param connection Address of the other end of the connection.
 * @param trustProxy Whether to use `X-Forwarded-For`; otherwise the header is dropped.
 */
export function callerAddress(
  headers: Headers,
  connection: string,
  trustProxy: boolean,
): CallerAddress {
  const forwarded = trustProxy ? headers.get("x-forwarded-for")?.trim() : undefined;
  if (!forwarded) return { caller: connection, connection, forwardedFor: connection };
  const caller = forwarded.slice(forwarded.lastIndexOf(",") + 1).trim() || connection;
  return { caller, connection, forwardedFor: `${forwarded}, ${connection}` };
}
