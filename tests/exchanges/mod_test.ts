import assert from "node:assert/strict";
import { parseOptions, withDefaults } from "../../lib/cli/options.ts";
import { options, startExchanges } from "../../services/exchanges/mod.ts";
import { TAPE_HEADER, TapeError } from "../../lib/prices/tape.ts";
import { eventually } from "../support/eventually.ts";
import { runProgram } from "../support/process.ts";

const text = { name: "exchanges", description: "", examples: [] };

/** Runs with stand-ins on a free port and ends them. */
async function withExchanges(
  given: Parameters<typeof withDefaults<typeof options>>[1],
  run: (exchanges: Awaited<ReturnType<typeof startExchanges>>) => Promise<void>,
): Promise<void> {
  await using exchanges = await startExchanges(withDefaults(options, { port: 0, ...given }));
  await run(exchanges);
}

/** Sends a request that `fetch` would not, and reads the answer. */
async function rawRequest(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const text = `${head}Host: ${hostname}\r\nConnection: upgrade, close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(text));
  const bytes = new Uint8Array(4_096);
  const length = await connection.read(bytes);
  return new TextDecoder().decode(bytes.subarray(0, length ?? 0));
}

Deno.test("Exchanges: a tape's trades come over the socket and are in the history", async () => {
  const tape = await Deno.makeTempFile({ suffix: ".csv" });
  await Deno.writeTextFile(tape, `${TAPE_HEADER}\n1000,1,buy,1666.8,1\n1040,2,sell,1666.79,2\n`);
  try {
    await withExchanges({ tape }, async ({ providerUrls, historyUrl }) => {
      assert.match(providerUrls.provider_a, /^ws:\/\/127\.0\.0\.1:\d+\/binance\/stream$/);
      const socket = new WebSocket(providerUrls.provider_a);
      const prices = new Set<string>();
      const closed = new Promise((resolve) => socket.onclose = resolve);
      socket.onopen = () =>
        socket.send('{"method":"SUBSCRIBE","params":["ethusdt@aggTrade"],"id":1}');
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.data !== undefined) prices.add(frame.data.p);
      };
      await eventually("both prices", () => prices.size === 2 || undefined);
      assert.deepEqual([...prices].sort(), ["1666.790000", "1666.800000"]);
      const response = await fetch(
        `${historyUrl}/api/v3/aggTrades?symbol=ETHUSDT&fromId=1&limit=2`,
      );
      assert.equal(response.status, 200);
      const history: { p: string; q: string }[] = await response.json();
      assert.deepEqual(history.map((trade) => [trade.p, trade.q]), [
        ["1666.800000", "1"],
        ["1666.790000", "2"],
      ]);
      socket.close();
      await closed;
    });
  } finally {
    await Deno.remove(tape);
  }
});

Deno.test("Exchanges: plain requests and unknown paths get 426 and 404", async () => {
  await withExchanges({}, async ({ url }) => {
    const plain = await fetch(`${url}/kraken/v2`);
    assert.equal(plain.status, 426);
    await plain.body?.cancel();
    const half = await rawRequest(url, "GET /coinbase HTTP/1.1\r\nUpgrade: websocket\r\n");
    assert.match(half, /^HTTP\/1\.1 400 /, "a handshake without its key");
    const missing = await fetch(`${url}/nothing`);
    assert.equal(missing.status, 404);
    assert.deepEqual(await missing.json(), {
      success: false,
      code: "NOT_FOUND",
      error: "NOT_FOUND: No route GET /nothing: GET / says where the endpoints are described",
      details: { method: "GET", path: "/nothing" },
    });
    const wrong = await fetch(`${url}/api/v3/aggTrades?symbol=NOPE`);
    assert.equal(wrong.status, 400);
    assert.equal((await wrong.json()).code, -1121);
  });
});

Deno.test("Exchanges: a client that sends bytes gets an error: text is expected", async () => {
  await withExchanges({}, async ({ providerUrls }) => {
    const socket = new WebSocket(providerUrls.provider_b);
    const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
    socket.onopen = () => socket.send(new Uint8Array([1, 2, 3]));
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [1003, "Expected text"]);
  });
});

Deno.test("Exchanges: connections and trades are counted", async () => {
  await withExchanges({}, async ({ url }) => {
    await eventually("trades in the metrics", async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, /exchanges_connections\{provider="provider_d"\} 0/);
      return /exchanges_trades_total\{provider="provider_a"\} [1-9]/.test(metrics) || undefined;
    });
  });
});

Deno.test("Exchanges: a bad tape is one clear line", async () => {
  const bad = withDefaults(options, { port: 0, tape: "no/such/tape.csv" });
  await assert.rejects(startExchanges(bad), TapeError);
  const tape = new URL("../../deno.json", import.meta.url).pathname;
  const { code, stdout, stderr } = await runProgram(["exchanges", "--port", "0", "--tape", tape]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^Tape \S+ cannot be used: Expected time_ms,.* in line 1: received "{"\n$/,
  );
});

Deno.test("Exchanges options: seed, rate, market and faults are checked", () => {
  const parse = (argv: string[]) => parseOptions(text, options, argv, () => undefined);
  assert.equal(parse([]).port, 8560);
  assert.deepEqual(parse(["--fault", "okx=stall", "--fault", "binance=gap@5"]).faults.length, 2);
  for (
    const argv of [["--seed", "-1"], ["--rate", "0"], ["--tape-market", "X"], ["--fault", "x"]]
  ) {
    assert.throws(() => parse(argv), /^UsageError: Invalid/);
  }
});
