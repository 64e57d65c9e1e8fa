/** When a kept connection ends, when it does not, and what is then sent a second time. */
import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import {
  CONNECTIONS_MAX,
  HttpPool,
  ReplyTimeoutError,
} from "../../../services/proxy/node/http_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { echo, failed, play, READ, TIMEOUT_MS } from "./http_pool_scene.ts";

Deno.test("HttpPool: on a kept connection, an answer that breaks off is not asked for again", () => {
  let asked = 0;
  return play(({ response, text }) => {
    asked += 1;
    if (asked === 1) return response.end(text);
    response.writeHead(200, { "content-length": 9 }).write("cut");
    response.socket?.end();
  }, async ({ node }) => {
    await node.post("a", READ);
    await assert.rejects(node.post("b", READ), failed("sent", /closed the connection/));
    assert.equal(asked, 2);
  });
});

Deno.test("HttpPool: on a kept connection, an answer that is late is not asked for again", () => {
  const second = Promise.withResolvers<void>();
  let asked = 0;
  return play(({ response, text }) => {
    asked += 1;
    if (asked === 2) second.resolve();
    else response.end(text);
  }, async ({ node, server, clock }) => {
    await node.post("a", READ);
    const late = assert.rejects(node.post("b", READ), failed("kept", ReplyTimeoutError));
    await second.promise;
    clock.advance(TIMEOUT_MS);
    await late;
    assert.deepEqual([asked, server.opened], [2, 1]);
  });
});

Deno.test("HttpPool: a connection that could not be made is not tried a second time", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let accepted = 0;
  const serving = (async () => {
    for await (const connection of listener) {
      accepted += 1;
      await connection.read(new Uint8Array(1)); // it began to agree on keys
      connection.close();
    }
  })();
  const url = new URL(`https://127.0.0.1:${listener.addr.port}`);
  const node = new HttpPool({ url, clock: new FakeClock(), timeoutMs: TIMEOUT_MS });
  await assert.rejects(node.post("a", READ), failed("connecting", /./));
  assert.equal(accepted, 1);
  node.stop();
  listener.close();
  await serving;
});

Deno.test("HttpPool: once answered, a request's time limit no longer counts", () =>
  play(echo, async ({ node, server, clock }) => {
    await node.post("a", READ);
    clock.advance(TIMEOUT_MS);
    assert.equal((await node.post("b", READ)).body, "b");
    assert.equal(server.opened, 1);
  }));

Deno.test("HttpPool: requests that were answered do not count towards the bound", () =>
  play(echo, async ({ node }) => {
    await Promise.all(Array.from({ length: CONNECTIONS_MAX }, () => node.post("a", READ)));
    assert.equal((await node.post("b", READ)).body, "b");
  }));

Deno.test("HttpPool: a connection on which the node spoke unasked is not used again", () =>
  play(({ response, text }) => response.end(`answer to ${text}`), async ({ node, server }) => {
    await node.post("a", READ);
    const unasked = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nunasked";
    for (const socket of server.sockets) socket.write(unasked);
    await eventually("its end", () => server.sockets.size === 0 || undefined);
    assert.equal((await node.post("b", READ)).body, "answer to b");
    assert.equal(server.opened, 2);
  }));

/** Does something with each connection that is made meanwhile, once it stands. */
async function withClientSockets(
  use: (socket: Socket) => void,
  play: () => Promise<void>,
): Promise<void> {
  const clientSockets = channel("net.client.socket");
  const made = (message: unknown) => {
    const { socket } = message as { socket: Socket }; // what node:net documents
    socket.once("connect", () => use(socket));
  };
  clientSockets.subscribe(made);
  try {
    await play();
  } finally {
    clientSockets.unsubscribe(made);
  }
}

Deno.test("HttpPool: a request at the moment when a resting connection ends gets another one", () =>
  play(echo, async ({ node, server }) => {
    const second = Promise.withResolvers<string>();
    const post = () => node.post("b", READ).then(({ body }) => second.resolve(body), second.reject);
    await withClientSockets((socket) => socket.once("end", post), async () => {
      await node.post("a", READ);
      for (const socket of server.sockets) socket.end();
      assert.equal(await second.promise, "b");
      assert.equal(server.opened, 2);
    });
  }));
