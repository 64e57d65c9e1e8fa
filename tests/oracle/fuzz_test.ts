/** No frame, however broken, makes a parser throw or invent a price. */
import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { exchangeSymbol } from "../../lib/protocol/markets.ts";
import type { NumberedTrade } from "../../services/exchanges/dialects/dialect.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import type { Dialect } from "../../services/exchanges/dialects/dialect.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { withSeed } from "../support/random.ts";
import { naivePrice } from "./frames.ts";

/** Five times as many find no other mutant of a parser. */
const INPUTS = 20_000;

function pick<T>(random: RandomSource, list: readonly T[]): T {
  const item = list[Math.floor(random() * list.length)];
  assert(item !== undefined);
  return item;
}

const FRAGMENTS = [
  ...'"{}[],:\\-0.é\u0000 ',
  ...["null", "true", "1e308", "1e-9", '"price":', '"last":"', '"p":"', "NaN", "Infinity"],
  ...["99999999999999999999999", "__proto__", "0x1"],
];

/** Breaks a frame in one to four places: bytes changed, cut, doubled, or pieces put in. */
function mutate(frame: string, random: RandomSource): string {
  let text = frame;
  for (let edits = 1 + Math.floor(random() * 4); edits > 0; edits--) {
    const from = Math.floor(random() * (text.length + 1));
    const to = Math.min(text.length, from + Math.floor(random() * 8));
    const kind = random();
    const insert = kind < 0.3
      ? pick(random, FRAGMENTS)
      : kind < 0.6
      ? String.fromCharCode(32 + Math.floor(random() * 95))
      : kind < 0.8
      ? text.slice(from, to).repeat(2)
      : "";
    text = text.slice(0, from) + insert + text.slice(kind < 0.3 && random() < 0.5 ? from : to);
  }
  return text;
}

function frameOf(dialect: Dialect, random: RandomSource, id: number): string {
  const symbol = exchangeSymbol({ symbol: "BTC/USDT" }, dialect.provider);
  const trade: NumberedTrade = {
    id,
    provider: dialect.provider,
    market: "BTC/USDT",
    timeMs: 1_700_000_000_000 + id,
    price: BigInt(Math.floor(random() * 1e12)) + 1n,
    amount: "0.5",
    side: "buy",
  };
  const others = [
    ...dialect.acknowledge([symbol], [symbol], 1),
    ...dialect.refuse([symbol], "no", 1),
    ...dialect.heartbeat?.frames([{ symbol, newest: trade }], 0) ?? [],
    ...dialect.shutdownNotice === undefined ? [] : [dialect.shutdownNotice],
  ];
  return random() < 0.8 ? dialect.trade(symbol, trade) : pick(random, others);
}

/** Every price of a frame that is still JSON: the texts under the keys that carry one. */
function pricesIn(text: string): Set<string> {
  const found = new Set<string>();
  // The keys' values as text, whichever of the four formats this is; numbers keep their digits.
  for (const [, digits = ""] of text.matchAll(/"(?:p|price|last)"\s*:\s*"?([-+.\deE]+)/g)) {
    // A broken number such as 12-7 may give no price.
    if (Number.isFinite(Number(digits))) found.add(digits);
  }
  return found;
}

for (const dialect of DIALECTS) {
  Deno.test(`Provider ${dialect.provider}: ${INPUTS} broken frames throw no exception and produce no invented price`, () =>
    withSeed((random) => {
      const provider = PROVIDERS[dialect.provider];
      let trades = 0;
      for (let input = 0; input < INPUTS; input++) {
        const text = mutate(frameOf(dialect, random, input), random);
        const frame = provider.parse(text);
        if (frame.kind !== "trades") continue;
        const expected = [...pricesIn(text)].map(naivePrice);
        for (const trade of frame.trades) {
          assert(expected.includes(trade.price), `${trade.price} is not in ${text}`);
          assert(text.includes(trade.symbol) || text.includes("\\"), `${trade.symbol}: ${text}`);
          trades += 1;
        }
      }
      assert(trades > 0, "some mutations leave a price whole");
    }));
}
