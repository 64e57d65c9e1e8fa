/** `--pricing ./file.ts`: a strategy of the operator's own. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { loadStrategy } from "../../services/solver/pricing/load_strategy.ts";
import { createStrategyContext } from "../../services/solver/pricing/strategy.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withFile, withFolder } from "../support/files.ts";
import { barrier, SPOT as SPOT_PRICE } from "./pricing/barrier.ts";
import {
  CHAIN_ID,
  giveHistory,
  publishPrice,
  quoteOnPrices,
  quoteRequest,
  SPOT,
  startTestSolver,
  termsAt,
  user,
  withSolver,
} from "./support.ts";

const EXAMPLE = fileURLToPath(new URL("../../docs/examples/strategy.ts", import.meta.url));

const context = createStrategyContext({
  clock: { now: () => 0 },
  marketView: () => assert.fail("No market is looked at"),
  markets: SPEC_MARKETS,
});

/** The example's strategy on a market that the test makes, and a bet on it. */
async function exampleOn() {
  const { view, clock, bet } = barrier();
  const create = await loadStrategy(EXAMPLE);
  const given = createStrategyContext({ clock, marketView: () => view, markets: SPEC_MARKETS });
  return { strategy: create(given), view, clock, bet };
}

const range = { lowerPrice: String(SPOT - 30_000_000), upperPrice: String(SPOT + 30_000_000) };

Deno.test("Solver with --pricing docs/examples/strategy.ts: it quotes, executes, refuses, and reports its name", () =>
  withSolver(async ({ url }, node) => {
    await assertFailure(post(`${url}/quote`, quoteRequest(range)), 503, /^PRICE_UNAVAILABLE: /);
    giveHistory(node);
    await node.feed.subscribed("prices");
    const body = await quoteOnPrices(url, node, quoteRequest(range));
    const quote = quoteSchema.parse(body.quote);
    const { payout, betAmount } = quote;
    assert.ok(payout > betAmount && payout < 2n * betAmount, String(payout));
    publishPrice(node);
    const userSignature = user.sign(hashQuote(quote, CHAIN_ID));
    const executed = await post(`${url}/execute`, { quote: body.quote, userSignature });
    assert.equal(executed.status, 200, JSON.stringify(executed.body));
    const outside = quoteRequest({ lowerPrice: "1", upperPrice: "2" });
    await assertFailure(post(`${url}/quote`, outside), 400, /^OUTSIDE_RANGE: /);
    const info = await (await fetch(`${url}/info`)).json();
    assert.equal(info.pricing, "nearer-bound");
  }, { pricing: EXAMPLE, volatilityHistoryMs: 1_000 }));

Deno.test("docs/examples/strategy.ts: a quote is executed on a still price, refused once a new one differs", async () => {
  const { strategy, view, clock, bet } = await exampleOn();
  const { payout } = strategy.price(bet);
  clock.advance(2_000);
  const look = () => strategy.recheck(bet, payout, { isRecorded: false });
  look();
  view.spot.price = SPOT_PRICE + SPOT_PRICE / 2_000n;
  assert.throws(look, { code: "PRICE_IMPROVED" });
  view.spot.price = SPOT_PRICE;
  clock.advance(60_000);
  assert.throws(look, { code: "PRICE_MOVED" });
});

Deno.test("docs/examples/strategy.ts: a payout at the limit is executed however close the price is to a bound", async () => {
  const { strategy, view, bet } = await exampleOn();
  view.spot.price = bet.upperPrice - 100_000n;
  const { payout } = strategy.price(bet);
  assert.equal(payout, 10n * bet.betAmount);
  view.spot.price = bet.upperPrice - 1n;
  strategy.recheck(bet, payout, { isRecorded: false });
});

Deno.test("Solver with --pricing ./missing.ts: the start fails, and the database is closed", () =>
  withFolder(async (folder) => {
    await using node = FakeNode.start();
    const database = `${folder}/solver.sqlite`;
    const missing = { database, pricing: `${folder}/missing.ts` };
    await assert.rejects(startTestSolver(node, missing), { code: "STRATEGY" });
    // SQLite removes its write-ahead log when the last connection is closed.
    const files = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(files, ["solver.sqlite"]);
  }));

const broken: readonly [what: string, code: string, words: RegExp][] = [
  ["a syntax error", "export default (", /\.ts cannot be loaded: /],
  ["no default export", "export const strategy = 1;", /expected a StrategyFactory/],
  ["a factory that throws", "export default () => { throw new Error('old'); }", /created: old/],
  ["no members", "export default () => undefined;", /lacks name: string, price\(\), recheck\(\)/],
  ["no recheck", "export default () => ({ name: 'x', price() {} });", /lacks recheck\(\)$/],
];

for (const [what, code, words] of broken) {
  Deno.test(`Solver with --pricing: the start fails for a file with ${what}, with the file and the fault`, () =>
    withFile(code, async (pricing) => {
      const url = "http://127.0.0.1:9";
      await assert.rejects(startTestSolver({ url, wsUrl: "ws://127.0.0.1:9" }, { pricing }), {
        code: "STRATEGY",
        message: words,
      });
    }, ".ts"));
}

const prices: readonly [price: string, error: RegExp | { code: string }][] = [
  ["({ payout: 5 })", /\.ts gave no payout/],
  ["undefined", /\.ts gave no payout/],
  ["null", /\.ts gave no payout/],
  ["({ payout: bet.betAmount })", { code: "PAYOUT_TOO_LOW" }],
];

for (const [price, error] of prices) {
  const code = `export default () => ({ name: 'x', price: (bet) => ${price}, recheck() {} });`;
  Deno.test(`loadStrategy: a price of ${price} is an error, or refused if it does not exceed the bet`, () =>
    withFile(code, async (path) => {
      const strategy = (await loadStrategy(path))(context);
      assert.throws(() => strategy.price(termsAt(0)), error);
    }, ".ts"));
}

Deno.test("loadStrategy: uses recheck and holdMs of the file; holdMs defaults to 0", async () => {
  const code = (hold: string) =>
    `export default () => ({ name: "x", price() {}, ${hold} recheck(bet, payout, { isRecorded }) {
      if (isRecorded) throw new RangeError(bet.betAmount + " " + payout);
    } });`;
  for (const [hold, holdMs] of [["", 0], ["holdMs: () => 40,", 40]] as const) {
    await withFile(code(hold), async (path) => {
      const strategy = (await loadStrategy(path))(context);
      assert.equal(strategy.holdMs?.(termsAt(0), 1n), holdMs);
      strategy.recheck(termsAt(0), 130n, { isRecorded: false });
      assert.throws(
        () => strategy.recheck(termsAt(0), 130n, { isRecorded: true }),
        new RangeError("100 130"),
      );
    }, ".ts");
  }
});

Deno.test("loadStrategy: a member that returns a promise, of whatever library, is an error, and its rejection ends nothing", () => {
  const code = "const late = async () => { throw new Error('late'); };" +
    "const recheck = () => ({ then: (_, reject) => reject(new Error('late')) });" +
    "export default () => ({ name: 'x', price: late, holdMs: late, recheck });";
  return withFile(code, async (path) => {
    const strategy = (await loadStrategy(path))(context);
    const bet = termsAt(0);
    assert.throws(() => strategy.price(bet), /expected price\(\) without a promise/);
    assert.throws(() => strategy.holdMs?.(bet, 1n), { code: "STRATEGY" });
    assert.throws(() => strategy.recheck(bet, 1n, { isRecorded: true }), { code: "STRATEGY" });
  }, ".ts");
});

Deno.test("StrategyContext: without a book the correlated risk is zero", () =>
  assert.equal(context.correlatedRisk(termsAt(0)), 0));

Deno.test("StrategyContext: an unknown market is refused", () => {
  const terms = { ...termsAt(0), base: termsAt(0).quote };
  assert.throws(() => context.market(terms), { code: "PRICE_UNAVAILABLE", message: /^No market/ });
});
