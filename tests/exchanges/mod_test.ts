import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { TAPE_HEADER, TapeError } from "../../lib/prices/tape.ts";
import { options, startExchanges } from "../../services/exchanges/mod.ts";
import { eventually } from "../support/eventually.ts";
import { tomlOf, withFile, withMarketsFile } from "../support/files.ts";

async function withExchanges(
  overrides: Parameters<typeof withDefaults<typeof options>>[1],
  run: (exchanges: Awaited<ReturnType<typeof startExchanges>>) => Promise<void>,
): Promise<void> {
  await using exchanges = await startExchanges(withDefaults(options, { port: 0, ...overrides }));
  await run(exchanges);
}

Deno.test("Exchanges: a tape of the only market comes over the socket and is in the history", () => {
  const text = `${TAPE_HEADER}\n1000,1,buy,1666.8,1\n1040,2,sell,1666.79,2\n`;
  return withMarketsFile(
    tomlOf(MARKETS.filter(({ symbol }) => symbol === "ETH/USDT")),
    (markets) =>
      withFile(text, (tape) =>
        withExchanges({ tape, markets }, async ({ providerUrls, url }) => {
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
          await eventually("both prices", () => prices.size === 2);
          assert.deepEqual([...prices].sort(), ["1666.790000", "1666.800000"]);
          const response = await fetch(`${url}/api/v3/aggTrades?symbol=ETHUSDT&fromId=1&limit=2`);
          assert.equal(response.status, 200);
          const history: { p: string; q: string }[] = await response.json();
          assert.deepEqual(history.map((trade) => [trade.p, trade.q]), [
            ["1666.800000", "1"],
            ["1666.790000", "2"],
          ]);
          socket.close();
          await closed;
        })),
  );
});

Deno.test("Exchanges: a client that sends a binary message is closed with 1003", async () => {
  await withExchanges({}, async ({ providerUrls }) => {
    const socket = new WebSocket(providerUrls.provider_b);
    const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
    socket.onopen = () => socket.send(new Uint8Array([1, 2, 3]));
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [1003, "Expected text"]);
  });
});

Deno.test("Exchanges: metrics count connections and trades", async () => {
  await withExchanges({}, async ({ url }) => {
    await eventually("trades in the metrics", async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, /exchanges_connections\{provider="provider_d"\} 0/);
      return /exchanges_trades_total\{provider="provider_a"\} [1-9]/.test(metrics);
    });
  });
});

Deno.test("Exchanges: a missing tape fails the start with a TapeError", async () => {
  const bad = withDefaults(options, { port: 0, tape: "no/such/tape.csv" });
  await assert.rejects(startExchanges(bad), TapeError);
});
