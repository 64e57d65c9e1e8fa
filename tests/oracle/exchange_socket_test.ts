import assert from "node:assert/strict";
import { BoundedSocket } from "../../lib/net/bounded_socket.ts";
import { connectToExchange } from "../../services/oracle/exchange_socket.ts";

Deno.test("connectToExchange: memory is bounded, except behind an HTTP proxy, which only the runtime knows", () => {
  const rows: [url: string, variables: Record<string, string>, isBounded: boolean][] = [
    ["wss://127.0.0.1:1", {}, true],
    ["wss://127.0.0.1:1", { HTTPS_PROXY: "" }, true],
    ["wss://127.0.0.1:1", { HTTPS_PROXY: "http://127.0.0.1:2" }, false],
    ["wss://127.0.0.1:1", { all_proxy: "http://127.0.0.1:2" }, false],
    ["ws://127.0.0.1:1", { HTTPS_PROXY: "http://127.0.0.1:2" }, true],
  ];
  for (const [url, variables, isBounded] of rows) {
    const socket = connectToExchange(url, (name) => variables[name]);
    socket.onerror = () => {}; // nothing listens there
    socket.close();
    assert.equal(socket instanceof BoundedSocket, isBounded, url);
  }
});
