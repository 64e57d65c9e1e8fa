import assert from "node:assert/strict";
import { Stream } from "../../services/oracle/stream.ts";
import type { Print } from "../../services/oracle/provider.ts";

const T = 1_700_000_000_000;
const MISSED_AFTER_MS = 2_000;
const STUCK_TIME_MS = 10_000;

function print(sequence: number | undefined, exchangeTimeMs: number): Print {
  return { symbol: "X", price: 1n, exchangeTimeMs, sequence };
}

Deno.test("Stream: numbers that rise by one are in order, a hole is a gap", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  assert.equal(stream.add(print(10, T), T), "next");
  assert.equal(stream.add(print(11, T), T), "next");
  assert.equal(stream.add(print(13, T), T), "gap");
  assert.equal(stream.add(print(14, T), T), "next");
});

Deno.test("Stream: numbers that only rise have no gaps", () => {
  const stream = new Stream("BTC/USDT", "rising");
  assert.equal(stream.add(print(10, T), T), "next");
  assert.equal(stream.add(print(90, T), T), "next");
  assert.equal(stream.add(print(90, T), T), "late");
});

Deno.test("Stream: a repeated print is late and does not show that the stream is alive", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  stream.add(print(10, T), T);
  assert.equal(stream.add(print(10, T), T + 50), "late");
  assert.equal(stream.add(print(9, T - 5), T + 60), "late");
  assert.equal(stream.add(print(9, T), T + 65), "late");
  assert.equal(stream.lastPrintAtMs, T);
  assert.equal(stream.add(print(11, T + 1), T + 70), "next");
});

Deno.test("Stream: a number that falls while time goes on is a restart", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  stream.add(print(1_000, T), T);
  assert.equal(stream.add(print(1, T + 1), T + 1), "restart");
  assert.equal(stream.add(print(2, T + 2), T + 2), "next");
});

Deno.test("Stream: without numbers the time says what is late", () => {
  const stream = new Stream("BTC/USDT", "none");
  assert.equal(stream.add(print(undefined, T), T), "next");
  assert.equal(stream.add(print(undefined, T), T), "next");
  assert.equal(stream.add(print(undefined, T - 1), T), "late");
});

Deno.test("Stream: a time that stands still while prints come is stuck, a pause is not", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  stream.add(print(1, T), T);
  stream.add(print(2, T), T + 60_000);
  assert(!stream.stuck(T + 60_000), "one print after a pause proves nothing");
  stream.add(print(3, T), T + 60_000 + STUCK_TIME_MS - 1);
  assert(!stream.stuck(T + 60_000 + STUCK_TIME_MS - 1));
  stream.add(print(4, T), T + 60_000 + STUCK_TIME_MS);
  assert(stream.stuck(T + 60_000 + STUCK_TIME_MS));
  stream.add(print(5, T + 1), T + 60_001 + STUCK_TIME_MS);
  assert(!stream.stuck(T + 60_001 + STUCK_TIME_MS));
});

Deno.test("Stream: a trade that a heartbeat announces and that never arrives is lost, once", () => {
  const stream = new Stream("BTC/USDT", "rising");
  stream.add(print(5, T), T);
  assert(!stream.missed(5, T));
  assert(!stream.missed(7, T + 1_000));
  assert(!stream.missed(7, T + 1_000 + MISSED_AFTER_MS - 1));
  assert(stream.missed(7, T + 1_000 + MISSED_AFTER_MS));
  assert(!stream.missed(7, T + 9_000));
  assert(!stream.missed(8, T + 10_000));
  stream.add(print(8, T + 10_001), T + 10_001);
  assert(!stream.missed(8, T + 20_000), "it came in time");
});

Deno.test("Stream: silence counts from the last print, or from the subscription", () => {
  const stream = new Stream("BTC/USDT", "none");
  assert.equal(stream.silentMs(T), undefined);
  assert(!stream.answered);
  stream.acknowledge(T);
  stream.acknowledge(T + 500);
  assert(stream.answered);
  assert.equal(stream.silentMs(T + 1_000), 1_000);
  stream.add(print(undefined, T), T + 2_000);
  assert.equal(stream.silentMs(T + 2_500), 500);
});

Deno.test("Stream: the same number again is late, even with a newer time", () => {
  for (const sequencing of ["by_one", "rising"] as const) {
    const stream = new Stream("BTC/USDT", sequencing);
    stream.add(print(10, T), T);
    assert.equal(stream.add(print(10, T + 5), T + 5), "late");
    assert.equal(stream.lastPrintAtMs, T);
  }
});

Deno.test("Stream: after a restart the new count is the one that goes on", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  stream.add(print(1_000, T), T);
  stream.add(print(1, T + 1), T + 1);
  assert.equal(stream.add(print(1_001, T + 2), T + 2), "gap");
  assert.equal(stream.add(print(2, T + 2), T + 3), "late");
});

Deno.test("Stream: the lag is that of the last print that counts, a late one leaves it", () => {
  const stream = new Stream("BTC/USDT", "by_one");
  assert.equal(stream.lagMs, undefined);
  stream.add(print(1, T), T + 30);
  assert.equal(stream.lagMs, 30);
  stream.add(print(1, T - 9_000), T + 40);
  assert.equal(stream.lagMs, 30);
  stream.add(print(2, T + 60), T + 50);
  assert.equal(stream.lagMs, -10, "the exchange's clock may be ahead");
});

Deno.test("Stream: an arriving print ends the wait for the trade that a heartbeat announced", () => {
  const stream = new Stream("BTC/USDT", "rising");
  stream.add(print(5, T), T);
  assert(!stream.missed(7, T));
  stream.add(print(6, T + 1_000), T + 1_000);
  assert(!stream.missed(7, T + MISSED_AFTER_MS));
  assert(!stream.missed(7, T + 2 * MISSED_AFTER_MS - 1));
  assert(stream.missed(7, T + 2 * MISSED_AFTER_MS));
});
