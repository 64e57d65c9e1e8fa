import { type Expected, type Refused, says } from "./support.ts";

/** A page that may call nothing. */
const FOREIGN = { origin: "https://other.example" };

/** A JSON-RPC call. */
export const callOf = (method: string, params: unknown[]) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});

/** The error of a call with wrong parameters. */
export function invalid(...words: [names: string, received: string, advice: string]): Expected {
  return says("200 -32602", ...words);
}

/** Messages that are no calls, wherever they are sent. */
export function wrongMessages(batchMax: number): Refused[] {
  const call = callOf("eth_chainId", []);
  const malformed = (body: unknown, received: string, advice: string): Refused => ({
    ...{ path: "", body },
    ...says("400 -32600", "Invalid request", received, advice),
  });
  const handshake = { upgrade: "websocket", connection: "Upgrade" };
  return [
    { path: "", body: "{oops", ...says("400 -32700", "Parse error", '"{oops"', "send a JSON-RPC") },
    malformed(5, "5", "Expected an object"),
    malformed({ ...call, jsonrpc: "1.0" }, '"1.0"', 'Expected "2.0"'),
    malformed({ ...call, method: 7 }, "7", "Expected a method name"),
    malformed({ ...call, params: 3 }, "3", "an array or an object"),
    malformed([], "empty", "send one call or more"),
    {
      ...{ path: "", body: call, headers: FOREIGN },
      ...says("403 -32600", FOREIGN.origin, batchMax === 100 ? "use the proxy" : "--cors"),
    },
    { path: "/nothing", ...says("404 NOT_FOUND", "GET /nothing", "GET /") },
    {
      ...{ path: "", headers: handshake },
      ...says("400 -32600", "sec-websocket-key", "connect with a WebSocket client"),
    },
  ];
}
