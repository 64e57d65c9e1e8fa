/** What callers and nodes receive when something breaks in the middle of a call. */
import assert from "node:assert/strict";
import { withCertificate } from "../support/certificate.ts";
import { hasProgram, Program } from "../support/process.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, connectReads, post, withProxy } from "./support.ts";

/** A node that handles each complete POST as the test says; it can speak TLS. */
class RawNode {
  readonly requests: string[] = [];
  readonly #listener: Deno.Listener;
  readonly #serving: Promise<void>;

  /** @param answer The body, with the id of the call for `ID`; undefined ends the connection. */
  constructor(
    answer: (count: number) => string | undefined,
    listener: Deno.Listener = Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  ) {
    this.#listener = listener;
    this.#serving = this.#serve(answer);
  }

  get port(): number {
    const { addr } = this.#listener;
    return addr.transport === "tcp" ? addr.port : assert.fail("It listens on TCP");
  }

  async stop(): Promise<void> {
    this.#listener.close();
    await this.#serving;
  }

  async #serve(answer: (count: number) => string | undefined): Promise<void> {
    const open: Promise<void>[] = [];
    for await (const connection of this.#listener) {
      open.push(this.#converse(connection, answer));
    }
    await Promise.all(open);
  }

  async #converse(
    connection: Deno.Conn,
    answer: (count: number) => string | undefined,
  ): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const length = await connection.read(buffer);
        if (length === null) return;
        const request = new TextDecoder().decode(buffer.subarray(0, length));
        if (!request.startsWith("POST")) return; // it takes no WebSocket
        this.requests.push(request);
        const body = answer(this.requests.length)?.replace(
          "ID",
          /"id":(\d+)/.exec(request)?.[1] ?? "",
        );
        if (body === undefined) return;
        const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
        await connection.write(new TextEncoder().encode(head + body));
      }
    } catch {
      // The proxy ended it first.
    } finally {
      connection.close();
    }
  }
}

const RESULT = '{"jsonrpc":"2.0","id":ID,"result":1}';

Deno.test("Proxy, faults: a frame of the node that is not JSON affects no call or subscription", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const late = async (text: string) => {
    const { id, method } = JSON.parse(text);
    if (method !== "net_version") await promise;
    return Response.json({ jsonrpc: "2.0", id, result: 1 });
  };
  await withProxy(async ({ url, wsUrl, read }) => {
    await connectReads({ url, read });
    const client = await RpcSocket.open(wsUrl);
    const open = post(url, call(5, "eth_chainId"));
    await read.until(() => read.requests.length === 1);
    for (const frame of ['{"jsonrpc":"2.0","params\\', '{"i\\x":1}', "[", '{"id":"1', ""]) {
      read.sendRaw(frame);
    }
    resolve();
    assert.deepEqual(await (await open).json(), { jsonrpc: "2.0", id: 5, result: 1 });
    await client.close();
  }, { read: { answer: late } });
});

Deno.test(
  "Proxy, faults: a node behind TLS gets the caller's address, is trusted by --cert alone, and gets a write once",
  {
    ignore: !hasProgram("openssl", "version"),
  },
  () =>
    withCertificate(async ({ authority, cert, key }) => {
      const node = new RawNode(
        (count) => count === 2 ? undefined : RESULT,
        Deno.listenTls({
          hostname: "127.0.0.1",
          port: 0,
          cert,
          key,
        }),
      );
      for (const host of ["localhost", "127.0.0.1"]) {
        for (const trusted of [true, false]) {
          const nodeUrl = `https://${host}:${node.port}`;
          const urls = ["--read-node-url", nodeUrl, "--write-node-url", nodeUrl];
          const env: Record<string, string> = trusted ? { DENO_CERT: authority } : {};
          const program = new Program(["proxy", "--port", "0", ...urls], env);
          const listening = /Listening on "?(http:\/\/[\d.]+:\d+)/;
          await program.until(({ stderr }) => listening.test(stderr));
          const url = listening.exec(program.stderr)?.[1] ?? assert.fail();
          node.requests.length = 0;
          const statuses: number[] = [];
          for (let n = 0; n < 3; n += 1) {
            const answer = await post(url, call(1, "core_settleThesis", [n]));
            await answer.text();
            statuses.push(answer.status);
          }
          assert.deepEqual(statuses, trusted ? [200, 502, 200] : [502, 502, 502], host);
          assert.equal(node.requests.length, trusted ? 3 : 0);
          program.kill("SIGTERM");
          await program.finished();
        }
      }
      await node.stop();
    }),
);
