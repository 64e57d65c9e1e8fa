import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { run } from "../../services/oracle/mod.ts";
import { probeProvider, probeTable } from "../../services/oracle/probe.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { recordedContext, runHere } from "../support/command_context.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNetwork } from "../support/fake_socket.ts";
import { runProgram } from "../support/process.ts";

const SYMBOLS = ["BTC/USDT", "ETH/USDT"];

function setUp() {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const result = probeProvider({
    provider: PROVIDERS.provider_d,
    url: "ws://venue",
    symbols: SYMBOLS,
    timeoutMs: 3_000,
    clock,
    connect: network.connect,
  });
  const ticker = (instId: string, last: string) =>
    JSON.stringify({
      arg: { channel: "tickers", instId },
      data: [{ instId, last, ts: String(clock.now()) }],
    });
  return { clock, socket: network.newest, result, ticker };
}

function acknowledge(instId: string): string {
  return JSON.stringify({ event: "subscribe", arg: { channel: "tickers", instId } });
}

Deno.test("probeProvider: ends as soon as every pair has a price, with the times it took", async () => {
  const { clock, socket, result, ticker } = setUp();
  clock.advance(40);
  socket.open();
  clock.advance(60);
  socket.deliver(acknowledge("BTC-USDT"));
  socket.deliver(acknowledge("ETH-USDT"));
  clock.advance(25);
  socket.deliver(ticker("BTC-USDT", "60000.1"));
  socket.deliver(ticker("BTC-USDT", "60000.2"));
  socket.deliver(ticker("ETH-USDT", "3000"));
  const { provider: _, ...rest } = await result;
  assert.deepEqual(rest, {
    connectedMs: 40,
    subscribedMs: 100,
    firstPriceMs: 125,
    prices: new Map([["BTC/USDT", 60_000_100_000n], ["ETH/USDT", 3_000_000_000n]]),
    problem: undefined,
  });
  assert(socket.closed);
  assert.equal(clock.pending, 0);
});

Deno.test("probeProvider: says what is missing when the time is over", async () => {
  const { clock, socket, result, ticker } = setUp();
  socket.open();
  socket.deliver(acknowledge("BTC-USDT"));
  socket.deliver(acknowledge("ETH-USDT"));
  socket.deliver(ticker("BTC-USDT", "60000"));
  clock.advance(3_000);
  assert.equal((await result).problem, "no price of ETH/USDT after 3000 ms");
});

Deno.test("probeProvider: connects once; the first loss ends it", async () => {
  const { clock, socket, result } = setUp();
  socket.fail("certificate expired");
  const { problem, connectedMs } = await result;
  assert.equal(problem, "certificate expired");
  assert.equal(connectedMs, undefined);
  assert.equal(clock.pending, 0);
});

Deno.test("probeProvider: a refusal is what went wrong first", async () => {
  const { clock, socket, result } = setUp();
  socket.open();
  socket.deliver('{"event":"error","code":"60018","msg":"wrong channel"}');
  clock.advance(3_000);
  assert.equal((await result).problem, "refused: 60018 wrong channel");
});

Deno.test("probeTable: one line a provider, columns in line", () => {
  const lines = probeTable([
    {
      provider: PROVIDERS.provider_a,
      connectedMs: 8,
      subscribedMs: 12,
      firstPriceMs: 20,
      prices: new Map([["BTC/USDT", 60_000_100_000n]]),
    },
    { provider: PROVIDERS.provider_d, prices: new Map(), problem: "no route" },
  ], SYMBOLS);
  assert.deepEqual(lines, [
    "provider    exchange  connected  subscribed  first price  BTC/USDT      ETH/USDT  problem",
    "provider_a  binance   8 ms       12 ms       20 ms        60000.100000  -",
    "provider_d  okx       no         no          no           -             -         no route",
  ]);
});

/** Runs the subcommand as the front door does. */
async function probe(argv: string[]): Promise<{ code: number; lines: string[] }> {
  const { context, printed: lines } = recordedContext();
  const code = await run(["probe", "--timeout-ms", "2000", ...argv], context);
  return { code, lines };
}

Deno.test("oracle probe: exit code 0 only if every pair reaches the minimum of sources", async () => {
  const exchanges = await startExchanges(withDefaults(exchangesOptions, { port: 0, rate: 50 }));
  try {
    exchanges.inject("provider_c", "close");
    const urls = Object.entries(exchanges.providerUrls)
      .flatMap(([name, url]) => ["--provider-url", `${name}=${url}`]);
    const enough = await probe(["-m", "3", ...urls]);
    assert.equal(enough.code, 0, enough.lines.join("\n"));
    assert.equal(enough.lines.length, 6);
    assert.match(enough.lines[3] ?? "", /^provider_c .* closed with /);
    const tooFew = await probe(["-m", "4", ...urls]);
    assert.equal(tooFew.code, 1);
    assert.deepEqual(tooFew.lines.slice(-4), [
      "BTC/USDT: 3 of 4 sources",
      "ETH/USDT: 3 of 4 sources",
      "SOL/USDT: 3 of 4 sources",
      "Not ready",
    ]);
  } finally {
    await exchanges.stop();
  }
});

Deno.test("oracle probe: as a program, ends by itself and says why it is not ready", async () => {
  // Nothing listens on port 1.
  const { code, stdout, stderr } = await runProgram(
    [
      "oracle",
      "probe",
      "-p",
      "okx",
      "--provider-url",
      "okx=ws://127.0.0.1:1/",
      "--log-level=error",
    ],
  );
  assert.equal(code, 1, stderr);
  assert.match(stdout, /^provider +exchange +connected .*\nprovider_d +okx +no .*\n/);
  assert.match(stdout, /Not ready\n$/);
  const wrong = await runHere(["oracle", "probe", "--min-sources", "2", "-p", "okx"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^Invalid --min-sources: .* See rangemaker oracle probe --help$/);
});
