import assert from "node:assert/strict";
import { probeProvider } from "../../services/oracle/probe.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNetwork } from "../support/fake_socket.ts";

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
