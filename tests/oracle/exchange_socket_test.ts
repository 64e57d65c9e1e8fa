import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { BoundedSocket } from "../../lib/net/bounded_socket.ts";
import config from "../../deno.json" with { type: "json" };
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { connectToExchange } from "../../services/oracle/provider_connection.ts";
import { withCertificate } from "../support/certificate.ts";
import { hasProgram, type Launch, Program } from "../support/process.ts";

Deno.test("connectToExchange: unread data is bounded, except through an HTTP proxy, which only the runtime supports", () => {
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

/** Forwards what each connection of a listener sends, after `begin` had the connection. */
function relay(
  listener: Deno.Listener,
  port: number,
  begin: (from: Deno.Conn) => Promise<unknown> = () => Promise.resolve(),
): void {
  const pass = async (from: Deno.Conn) => {
    await begin(from);
    const to = await Deno.connect({ hostname: "127.0.0.1", port });
    // Either side ends the connection; a failed handshake ends it with an error.
    from.readable.pipeTo(to.writable).catch(() => {});
    to.readable.pipeTo(from.writable).catch(() => {});
  };
  (async () => {
    for await (const from of listener) pass(from).catch(() => {});
  })();
}

function portOf({ addr }: Deno.Listener): number {
  return addr.transport === "tcp" ? addr.port : assert.fail("It listens on TCP");
}

/** The program with the permissions of its task. */
const asTask: Launch = {
  command: Deno.execPath(),
  args: config.tasks.oracle.split(" ").slice(1, -1),
};

Deno.test(
  "Oracle: trusts an exchange by DENO_CERT alone, and reaches it through HTTPS_PROXY",
  { ignore: !hasProgram("openssl", "version") },
  () =>
    withCertificate(async ({ authority, cert, key }) => {
      await using exchanges = await startExchanges(
        withDefaults(exchangesOptions, { port: 0, rate: 50 }),
      );
      const address = { hostname: "127.0.0.1", port: 0 };
      using tls = Deno.listenTls({ ...address, cert, key });
      using proxy = Deno.listen(address);
      const { pathname, port } = new URL(exchanges.providerUrls.provider_c ?? assert.fail());
      relay(tls, Number(port));
      let proxied = 0;
      relay(proxy, portOf(tls), async (from) => {
        await from.read(new Uint8Array(4_096)); // CONNECT
        await from.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
        proxied += 1;
      });
      const url = `provider_c=wss://localhost:${portOf(tls)}${pathname}`;
      const args = ["doctor", "oracle", "--port", "0", "-p", "provider_c", "--provider-url", url];
      const trusted = { DENO_CERT: authority };
      const httpsProxy = { HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}` };
      const rows: [env: Record<string, string>, code: number, isProxied: boolean][] = [
        [trusted, 0, false],
        [{}, 1, false],
        [{ ...trusted, ...httpsProxy }, 0, true],
      ];
      for (const [env, code, isProxied] of rows) {
        proxied = 0;
        const { code: got, stdout, stderr } = await new Program(args, env, asTask).finished();
        assert.deepEqual([got, proxied > 0], [code, isProxied], stdout + stderr);
        if (code !== 0) assert.match(stdout + stderr, /certificate/);
      }
    }),
);
