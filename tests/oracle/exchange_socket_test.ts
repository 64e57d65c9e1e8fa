import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { monotonicClock, systemClock } from "../../lib/clock.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import config from "../../deno.json" with { type: "json" };
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { ProviderConnection } from "../../services/oracle/provider_connection.ts";
import { binance } from "../../services/oracle/providers/binance.ts";
import { withCertificate } from "../support/certificate.ts";
import { hasProgram, type Launch, Program } from "../support/process.ts";

type Handlers = ConstructorParameters<typeof ProviderConnection>[0]["handlers"];

/** A connection to an exchange that sends messages as soon as it is open, none of them a trade. */
function connectTo(
  messages: readonly string[],
  handlers: Omit<Handlers, "onTrade">,
): { connection: ProviderConnection } & AsyncDisposable {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onopen = () => messages.forEach((message) => socket.send(message));
    return response;
  });
  const connection = new ProviderConnection({
    provider: binance,
    url: `ws://127.0.0.1:${server.addr.port}`,
    markets: MARKETS,
    clock: systemClock,
    random: Math.random,
    handlers: { onTrade: () => assert.fail("There is no trade"), ...handlers },
  });
  connection.start();
  return {
    connection,
    async [Symbol.asyncDispose]() {
      connection.stop();
      await server.shutdown();
    },
  };
}

Deno.test("ProviderConnection: a message of over 1 MiB closes the connection", async () => {
  const events: string[] = [];
  const { promise: isLost, resolve: onLost } = Promise.withResolvers<void>();
  await using exchange = connectTo([2 ** 20, 2 ** 20 + 1].map((bytes) => "x".repeat(bytes)), {
    onLost,
    onFault: (fault) => events.push(fault),
    onFrameDropped: (reason) => events.push(reason),
  });
  await isLost;
  exchange.connection.stop();
  assert.deepEqual(events, ["too_long", "closed"]);
  assert.match(exchange.connection.lastError?.text ?? "", /Max payload size exceeded/);
});

Deno.test("ProviderConnection: an exchange that sends many short messages leaves time between them", async () => {
  const messages = Array<string>(2_000).fill("x");
  let [received, inTurn, mostInTurn] = [0, 0, 0];
  const { promise: hasAll, resolve } = Promise.withResolvers<void>();
  await using _exchange = connectTo(messages, {
    onLost() {},
    onFrameDropped() {
      received += 1;
      mostInTurn = Math.max(mostInTurn, inTurn += 1);
      if (inTurn === 1) setImmediate(() => inTurn = 0);
      if (received === messages.length) resolve();
    },
  });
  await hasAll;
  assert(mostInTurn <= 2, `${mostInTurn} messages came in one turn`);
});

Deno.test("ProviderConnection: an exchange that sends many long messages has to pause between them", async () => {
  const messages = Array<string>(40).fill("x".repeat(32_768));
  let received = 0;
  let beganAtMs = 0;
  const { promise: hasAll, resolve } = Promise.withResolvers<void>();
  await using _exchange = connectTo(messages, {
    onLost() {},
    onFrameDropped() {
      if (received === 0) beganAtMs = monotonicClock.now();
      received += 1;
      if (received === messages.length) resolve();
    },
  });
  await hasAll;
  const tookMs = monotonicClock.now() - beganAtMs;
  assert(
    tookMs >= 200,
    `1.25 MiB took ${tookMs} ms, without 20 ms after each 64 KiB`,
  );
});

/** Forwards what each connection of a listener sends to a port, and back. */
async function relay(listener: Deno.Listener, port: number): Promise<void> {
  for await (const from of listener) {
    const to = await Deno.connect({ hostname: "127.0.0.1", port });
    // Either side ends the connection; a failed handshake ends it with an error.
    from.readable.pipeTo(to.writable).catch(() => {});
    to.readable.pipeTo(from.writable).catch(() => {});
  }
}

/** The program with the permissions of its task. */
const asTask: Launch = {
  command: Deno.execPath(),
  args: config.tasks.oracle.split(" ").slice(1, -1),
};

Deno.test(
  "Oracle: trusts an exchange by DENO_CERT alone",
  { ignore: !hasProgram("openssl", "version") },
  () =>
    withCertificate(async ({ authority, cert, key }) => {
      await using exchanges = await startExchanges(
        withDefaults(exchangesOptions, { port: 0, rate: 50 }),
      );
      using tls = Deno.listenTls({ hostname: "127.0.0.1", port: 0, cert, key });
      const { pathname, port } = new URL(exchanges.providerUrls.provider_c);
      void relay(tls, Number(port));
      const url = `provider_c=wss://localhost:${tls.addr.port}${pathname}`;
      const args = ["doctor", "oracle", "--port", "0", "-p", "provider_c", "--provider-url", url];
      for (const [env, code] of [[{ DENO_CERT: authority }, 0], [{}, 1]] as const) {
        const { code: got, stdout, stderr } = await new Program(args, env, asTask).finished();
        assert.equal(got, code, stdout + stderr);
        if (code !== 0) assert.match(stdout + stderr, /certificate/);
      }
    }),
);
