import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { TAPE_HEADER } from "../../lib/prices/tape.ts";
import { type ExchangesOptions, options, startExchanges } from "../../services/exchanges/mod.ts";
import { eventually } from "../support/eventually.ts";
import { effectsOfListening, everyOption, listening } from "../support/every_option.ts";
import { tomlOf, withFolder } from "../support/files.ts";

/** The first trades of a market, once there are this many. */
function firstTrades(url: string, symbol: string, count: number) {
  return eventually(`${count} trades of ${symbol}`, async () => {
    const query = `symbol=${symbol}&fromId=1&limit=${count}`;
    const trades: { p: string; T: number }[] =
      await (await fetch(`${url}/api/v3/aggTrades?${query}`)).json();
    return trades.length === count ? trades : undefined;
  });
}

async function start(values: Partial<ExchangesOptions>) {
  return await startExchanges(withDefaults(options, { port: 0, ...values }));
}

Deno.test(
  "Exchanges: every option has its effect",
  everyOption(options, (observe) =>
    withFolder(async (folder) => {
      const markets = `${folder}/markets.toml`;
      const kept = SPEC_MARKETS.list.filter(({ symbol }) => symbol !== "ETH/USDT");
      await Deno.writeTextFile(markets, tomlOf(kept));
      const tape = `${folder}/tape.csv`;
      await Deno.writeTextFile(tape, `${TAPE_HEADER}\n1000,1,buy,1666.8,1\n1040,2,sell,1666.8,2\n`);
      const values = {
        ...listening(),
        markets,
        seed: 7,
        rate: 500,
        tape,
        tapeMarket: "BTC/USDT",
        faults: [{ provider: "provider_b", fault: "close", afterMs: 0 } as const],
      };
      await using exchanges = await start(values);
      const { url } = exchanges;
      await using seeded = await start({ markets, seed: 7 });
      await using unseeded = await start({ markets });
      const ofTape = async () => {
        const [first, second] = await firstTrades(url, "BTCUSDT", 2);
        assert.deepEqual([first?.p, second?.p], ["1666.800000", "1666.800000"]);
      };
      await observe(values, {
        ...effectsOfListening(url, values, "/api/v3/aggTrades?symbol=SOLUSDT"),
        markets: async () => {
          const answer = await fetch(`${url}/api/v3/aggTrades?symbol=ETHUSDT`);
          assert.equal((await answer.json()).msg, "Invalid symbol.");
        },
        seed: async () => {
          const prices = await Promise.all(
            [seeded, unseeded].map(async ({ url }) =>
              (await firstTrades(url, "SOLUSDT", 3)).map(({ p }) => p)
            ),
          );
          assert.notDeepEqual(prices[0], prices[1]);
        },
        rate: async () => {
          const trades = await firstTrades(url, "SOLUSDT", 100);
          const spanMs = (trades.at(-1)?.T ?? 0) - (trades[0]?.T ?? 0);
          assert(spanMs < 2_000, `100 trades in ${spanMs} ms: 20 s at the default rate`);
        },
        tape: ofTape,
        tapeMarket: ofTape,
        faults: async () => {
          const socket = new WebSocket(exchanges.providerUrls.provider_b);
          const reason = new Promise((resolve) =>
            socket.onclose = (event) => resolve(event.reason)
          );
          // Without the fault it would close too, since nothing is subscribed.
          assert.equal(await reason, "Fault on demand");
        },
      });
    })),
);
