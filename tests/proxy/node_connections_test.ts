/** What the proxy promises of its HTTP connections to nodes, beside nodes that end or misuse them. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { call, post, withProxy } from "./support.ts";

interface RawServer {
  url: string;
  /** Requests of each connection, in the order of the connections. */
  requests: string[][];
  stop(): Promise<void>;
}

const head = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
const answerWith = (result: string, id: string | undefined) => {
  const body = `{"jsonrpc":"2.0","id":${id},"result":"${result}"}`;
  return head(body) + body;
};

/** A server that gets each request in one piece. */
async function serve(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const requests: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const own: string[] = [];
    requests.push(own);
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      own.push(String(data));
      answer(socket, String(data));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const idOf = (request: string) => /"id":(\d+)/.exec(request)?.[1];
const paramOf = (request: string) => /"params":\["(\w+)"\]/.exec(request)?.[1] ?? "";

Deno.test("Node connections: an unsolicited answer is dropped, and reads still get theirs", async () => {
  let asked = 0;
  const node = await serve((socket, request) => {
    if (!request.startsWith("POST")) return socket.end(); // it has no WebSocket
    socket.write(answerWith(paramOf(request), idOf(request)));
    if ((asked += 1) % 3 !== 0) return;
    setTimeout(() => socket.write(answerWith("smuggled", "1")), Math.random() * 3);
  });
  await withProxy(async ({ url }) => {
    const outcomes: Record<string, number> = {};
    const read = async (worker: number) => {
      for (let n = 0; n < 50; n += 1) {
        const param = `w${worker}n${n}`;
        const { result, error } = await (await post(url, call(1, "eth_getBalance", [param])))
          .json();
        const outcome = result === param ? "own" : result ?? `${error.code}`;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
    };
    await Promise.all([1, 2, 3, 4].map(read));
    assert.deepEqual(outcomes, { own: 200 });
  }, { proxy: { readNodeUrl: node.url, reads: "http" }, connections: 0 });
  await node.stop();
});

Deno.test("Node connections: an answer with both a length and a transfer encoding is rejected", async () => {
  const node = await serve((socket, request) => {
    const body = `{"jsonrpc":"2.0","id":${idOf(request)},"result":1}`;
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
    );
  });
  await withProxy(async ({ url }) => {
    const answer = await post(url, call(1, "core_settleThesis", ["a"]));
    assert.equal(answer.status, 502, await answer.text());
  }, { proxy: { writeNodeUrl: node.url } });
  await node.stop();
});
