import assert from "node:assert/strict";
import { z } from "zod";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { solverInfoSchema } from "../../lib/protocol/answers.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { toWire } from "../../lib/protocol/scalars.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/files.ts";
import { startFakeCandles } from "./market/fake_candles.ts";
import { giveHistory, publishPrice, quoteOnPrices, SPOT } from "./prices.ts";
import { CHAIN_ID, quoteRequest, user, withSolver } from "./support.ts";
import { DAY_MS } from "../../lib/time.ts";
import { thesisOf } from "./theses.ts";

function around(spot: number): Record<string, string> {
  return {
    lowerPrice: String(spot - spot / 4_000),
    upperPrice: String(spot + spot / 4_000),
  };
}

const pricingSchema = z.strictObject({
  probability: z.number().min(0).max(1),
  chargedProbability: z.number().min(0).max(1),
  volatility: z.number().positive(),
  volatilitySpread: z.number().positive(),
  stillShare: z.number().min(0).max(1),
  spot: z.literal(String(SPOT)),
  spotAgeMs: z.number().int().nonnegative(),
  margin: z.literal(0.05),
  skew: z.number().min(0).max(0.5),
});

Deno.test("Solver with --pricing barrier: quotes and estimates contain the details of their price", () =>
  withSolver(async ({ url }, node) => {
    giveHistory(node);
    await node.feed.subscribed("prices");
    const request = quoteRequest(around(SPOT));
    // The history is read by itself, every second.
    const body = await quoteOnPrices(url, node, request);
    const pricing = pricingSchema.parse(body.pricing);
    const { payout, betAmount } = quoteSchema.parse(body.quote);
    const expected = 0.95 / pricing.chargedProbability * Number(betAmount);
    assert.ok(Math.abs(Number(payout) - expected) <= 1);
    const { user: _user, ...terms } = request;
    publishPrice(node);
    const estimate = await post(`${url}/estimate`, terms);
    pricingSchema.parse(estimate.body.pricing);
    assert.deepEqual(Object.keys(estimate.body), ["success", "estimate", "pricing"]);
    const info = await (await fetch(`${url}/info`)).json();
    assert.equal(info.pricing, "barrier");
    const { calibration } = solverInfoSchema.parse(info);
    assert.deepEqual(calibration?.map(({ symbol }) => symbol), MARKETS.map(({ symbol }) => symbol));
    assert.match(await (await fetch(`${url}/metrics`)).text(), /^solver_calibration_windows/m);
  }, { pricing: "barrier", margin: 0.05, volatilityHistoryMs: 1_000 }));

Deno.test("Solver with --pricing barrier: a better price is refused; an executed bet lowers the next payout", () =>
  withSolver(
    async ({ url }, node) => {
      giveHistory(node);
      await node.feed.subscribed("prices");
      const request = quoteRequest(around(SPOT));
      const first = await quoteOnPrices(url, node, request);
      const quote = quoteSchema.parse(first.quote);
      assert.equal(pricingSchema.parse(first.pricing).skew, 0);
      const body = {
        quote: first.quote,
        userSignature: user.sign(hashQuote(quote, CHAIN_ID)),
      };
      // Near the upper bound the box is less likely to be won.
      const refusal = await eventually("the price to arrive", async () => {
        publishPrice(node, SPOT + SPOT / 5_000);
        const answer = await post(`${url}/estimate`, request);
        if (answer.body.pricing === undefined) return undefined;
        const { spot } = z.object({ spot: z.string() }).parse(answer.body.pricing);
        return spot === String(SPOT) ? undefined : await post(`${url}/execute`, body);
      });
      assert.deepEqual([refusal.status, refusal.body.code], [400, "PRICE_IMPROVED"]);
      const payouts = z.strictObject({ signedPayout: z.string(), currentPayout: z.string() });
      const { signedPayout, currentPayout } = payouts.parse(refusal.body.details);
      assert.equal(signedPayout, String(quote.payout));
      assert.ok(BigInt(currentPayout) > quote.payout);
      const executed = await eventually("the price to return", async () => {
        publishPrice(node);
        const answer = await post(`${url}/execute`, body);
        return answer.status === 200 ? answer : undefined;
      });
      assert.equal(
        z.object({ status: z.string() }).parse(executed.body.result).status,
        "committed",
      );
      const { skew } = pricingSchema.parse((await quoteOnPrices(url, node, request)).pricing);
      const risk = Number(quote.payout - quote.betAmount);
      assert.ok(Math.abs(skew - 0.5 * risk / 1e9) < 1e-9, `${skew}`);
      const { betAmount, payout } = quote;
      const terms = { betAmount, payout, quoteHash: hashQuote(quote, CHAIN_ID) };
      node.feed.publish("theses", toWire(thesisOf(1, { ...terms, status: "won" })));
      const outcome = /^solver_predicted_bets_total{predicted="[^"]+",outcome="held"} 1$/m;
      await eventually("its outcome beside what was predicted", async () => {
        return outcome.test(await (await fetch(`${url}/metrics`)).text()) || undefined;
      });
    },
    { pricing: "barrier", volatilityHistoryMs: 1_000, maxExposure: 1_000_000_000n },
  ));

Deno.test("Solver with --pricing barrier: quotes at once with a week of candles, and after a restart without", () =>
  withFolder(async (folder) => {
    const exchange = startFakeCandles();
    const options = {
      pricing: "barrier",
      // Far more than the node has.
      volatilityHistoryMs: DAY_MS,
      database: `${folder}/solver.sqlite`,
    };
    for (const historyUrl of [{ historyUrl: exchange.url }, {}]) {
      await withSolver(async ({ url }, node) => {
        giveHistory(node);
        await node.feed.subscribed("prices");
        const { pricing } = await quoteOnPrices(url, node, quoteRequest(around(SPOT)));
        pricingSchema.parse(pricing);
      }, { ...options, ...historyUrl });
      assert.ok(exchange.queries.length > 0);
    }
    await exchange.stop();
  }));

Deno.test("Solver: a quote has the milliseconds until its deadline, 0 afterwards", () =>
  withSolver(async ({ url }) => {
    const before = Date.now();
    const { body } = await post(`${url}/quote`, quoteRequest({ deadline: before + 30_000 }));
    const left = z.number().parse(body.expiresInMs);
    assert.ok(left <= 30_000 && left >= 30_000 - (Date.now() - before), `${left}`);
    const late = await post(`${url}/quote`, quoteRequest({ deadline: before - 1 }));
    assert.equal(late.body.expiresInMs, 0);
  }));

Deno.test("Solver with --pricing mock: quotes are limited only by the times of the specification", () =>
  withSolver(async ({ url }) => {
    const now = Date.now();
    for (const startTime of [0, now + 2 * DAY_MS]) {
      const times = { startTime, endTime: startTime + 60_000, deadline: now + DAY_MS };
      assert.equal((await post(`${url}/quote`, quoteRequest(times))).status, 200);
    }
  }));
