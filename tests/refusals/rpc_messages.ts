import type { Refused } from "./support.ts";

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
export function invalid(received: string, advice: string, names = "Invalid params") {
  return { code: "-32602", names, received, advice };
}

const malformed = { path: "", status: 400, code: "-32600", names: "Invalid request" };

/** Messages that are no calls, wherever they are sent. */
export function wrongMessages(batchMax: number): Refused[] {
  const call = callOf("eth_chainId", []);
  return [
    {
      ...{ path: "", body: "{oops", status: 400, code: "-32700", names: "Parse error" },
      ...{ received: '"{oops"', advice: "send a JSON-RPC 2.0 request" },
    },
    { ...malformed, body: 5, received: "5", advice: "Expected an object" },
    {
      ...malformed,
      body: { ...call, jsonrpc: "1.0" },
      received: '"1.0"',
      advice: 'Expected "2.0"',
    },
    { ...malformed, body: { ...call, method: 7 }, received: "7", advice: "Expected a method name" },
    { ...malformed, body: { ...call, params: 3 }, received: "3", advice: "an array or an object" },
    { ...malformed, body: [], received: "empty", advice: "send one call or more" },
    {
      ...{ ...malformed, body: call, headers: FOREIGN, status: 403 },
      ...{
        names: `Pages of ${FOREIGN.origin}`,
        advice: batchMax === 100 ? "use the proxy" : "--cors",
      },
    },
    { path: "/nothing", status: 404, code: "NOT_FOUND", names: "GET /nothing", advice: "GET /" },
    {
      ...{ path: "", headers: { upgrade: "websocket", connection: "Upgrade" }, status: 400 },
      ...{ code: "-32600", names: "sec-websocket-key", advice: "connect with a WebSocket client" },
    },
  ];
}
