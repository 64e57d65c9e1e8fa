import assert from "node:assert/strict";
import { z } from "zod";
import { ShiftedClock, systemClock } from "../../lib/clock.ts";
import { toWire } from "../../lib/json.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { solverInfoSchema } from "../../lib/protocol/answers.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { DAY_MS } from "../../lib/time.ts";
import { withLogs } from "../support/recorded_logs.ts";
import {
  CHAIN_ID,
  execution,
  giveHistory,
  publishPrice,
  quoteOnPrices,
  quoteRequest,
  SPOT,
  startFundedNode,
  startTestSolver,
  thesisOf,
  untilComplete,
  user,
  withSolver,
} from "./support.ts";
import { post, seriesIn } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/files.ts";
import { startFakeCandles } from "./market/fake_candles.ts";

Deno.test("Solver: a start with mock pricing logs a warning, except for a dry run", () =>
  withLogs("warning", async (records) => {
    const warnings = () =>
      records.map(({ message }) => message.join("")).filter((text) => text.includes("mock"));
    await withSolver(() => Promise.resolve(), { pricing: "barrier" });
    await withSolver(() => Promise.resolve(), { dryRun: true });
    assert.deepEqual(warnings(), []);
    await withSolver(() => Promise.resolve());
    const [warning = "", ...others] = warnings();
    assert.match(warning, /^--pricing mock pays 5 to 10 % for any range/);
    assert.deepEqual(others, []);
  }));

const viewSchema = z.strictObject({
  exposure: z.string().transform(BigInt),
  executing: z.string().transform(BigInt),
  maxExposure: z.string().transform(BigInt).nullable(),
  complete: z.boolean(),
  count: z.number(),
  theses: z.array(z.unknown()),
  nextCursor: z.string().nullable(),
});

async function viewOf(url: string, query = ""): Promise<z.output<typeof viewSchema>> {
  return viewSchema.parse(await (await fetch(`${url}/theses${query}`)).json());
}

function riskOf(body: { quote: unknown }): bigint {
  const { payout, betAmount } = quoteSchema.parse(body.quote);
  return payout - betAmount;
}

/** The thesis that an execution opened, as the node reports it. */
function openedBy(body: { quote: unknown }, id: number): Thesis {
  const quote = quoteSchema.parse(body.quote);
  const { payout, betAmount } = quote;
  return thesisOf(id, { payout, betAmount, quoteHash: hashQuote(quote, CHAIN_ID) });
}

/** Three bets of 100 USDC can lose 15 to 30 USDC: more than two do not always fit. */
const BOUND = 21_000_000n;
const BET = { betAmount: "100000000" };

Deno.test("Solver: GET /theses lists own open theses and the exposure, page by page", () =>
  withSolver(async ({ url }, node) => {
    await untilComplete(url);
    const none = {
      exposure: 0n,
      executing: 0n,
      maxExposure: null,
      complete: true,
      count: 0,
      theses: [],
    };
    assert.deepEqual(await viewOf(url), { ...none, nextCursor: null });
    for (const id of [1, 2, 3]) node.feed.publish("theses", toWire(thesisOf(id)));
    const first = await eventually("three theses", async () => {
      const view = await viewOf(url, "?limit=2");
      return view.count === 3 ? view : undefined;
    });
    assert.equal(first.exposure, 30n);
    assert.deepEqual(first.theses, [1, 2].map((id) => toWire(thesisOf(id))));
    assert.equal(first.nextCursor, "2");
    const second = await viewOf(url, `?limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([second.theses, second.nextCursor], [[toWire(thesisOf(3))], null]);
  }));

Deno.test("Solver: exposure is released when the submission fails, and when the thesis settles", () =>
  withSolver(async ({ url }, node) => {
    await untilComplete(url);
    node.refusal = "ORACLE_STALE";
    for (let n = 0; n < 6; n++) {
      assert.equal((await post(`${url}/execute`, await execution(url, BET))).status, 200);
    }
    assert.equal((await viewOf(url)).exposure, 0n);
    node.refusal = undefined;
    const body = await execution(url, BET);
    assert.equal((await post(`${url}/execute`, body)).status, 200);
    const { exposure, executing } = await viewOf(url);
    assert.deepEqual([exposure, executing], [riskOf(body), riskOf(body)]);
    // The node knows the thesis by the hash of its quote.
    const thesis = openedBy(body, 1);
    node.feed.publish("theses", toWire(thesis));
    await eventually("the thesis", async () => (await viewOf(url)).count === 1);
    const opened = await viewOf(url);
    assert.deepEqual([opened.exposure, opened.executing], [riskOf(body), 0n]);
    node.feed.publish("theses", toWire({ ...thesis, status: "lost" }));
    await eventually("the settlement", async () => (await viewOf(url)).count === 0);
    assert.equal((await viewOf(url)).exposure, 0n);
    const large = await execution(url, { betAmount: "1000000000" });
    assert.equal((await post(`${url}/execute`, large)).body.code, "EXPOSURE_TOO_LARGE");
    const estimate = (betAmount: string) => post(`${url}/estimate`, quoteRequest({ betAmount }));
    assert.equal((await estimate("1000000000")).body.code, "EXPOSURE_TOO_LARGE");
    assert.equal((await estimate(BET.betAmount)).status, 200);
  }, { maxExposure: BOUND }));

Deno.test("Solver: unfinished executions of the last run are included in the exposure from the start, and a dry run does not submit them", () =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    let risk = 0n;
    await withSolver(async ({ url }, node) => {
      node.loseTransactions({ down: true });
      const body = await execution(url, BET);
      risk = riskOf(body);
      assert.equal((await post(`${url}/execute`, body)).body.code, "OUTCOME_UNKNOWN");
      assert.equal((await viewOf(url)).exposure, risk);
    }, { database });
    await using unused = startFundedNode();
    const clock = new ShiftedClock(systemClock);
    clock.shift(5_000); // so that they are due
    const dry = await startTestSolver(unused, { database, dryRun: true }, clock);
    await viewOf(dry.url);
    await dry.stop();
    assert.equal(unused.received.length, 0);
    await withSolver(async ({ url }, node) => {
      assert.equal((await viewOf(url)).exposure, risk);
      await eventually("the execution taken up", () => node.committed[0]);
      assert.equal((await viewOf(url)).exposure, risk);
      // A list read after the commit that lacks the thesis would mean that it has settled.
    }, {
      database,
      maxExposure: 1n,
      prepare: (node) => void node.methods.delete("core_getTheses"),
    });
  }));

function around(spot: number): Record<string, string> {
  return { lowerPrice: String(spot - spot / 4_000), upperPrice: String(spot + spot / 4_000) };
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

Deno.test("Solver with --pricing barrier: quotes and estimates have the details of their price", () =>
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
    const executed = await eventually("an execution on a fresh price", async () => {
      publishPrice(node);
      const { quote } = await quoteOnPrices(url, node, request);
      const signed = quoteSchema.parse(quote);
      const userSignature = user.sign(hashQuote(signed, CHAIN_ID));
      const { status } = await post(`${url}/execute`, { quote, userSignature });
      return status === 200 ? signed : undefined;
    });
    const quoteHash = hashQuote(executed, CHAIN_ID);
    const outcome = { betAmount, payout: executed.payout, quoteHash, status: "won" as const };
    node.feed.publish("theses", toWire(thesisOf(1, outcome)));
    await eventually("its payout", async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, /^solver_calibration_windows/m);
      return seriesIn(metrics, 'solver_settled_usdc_total{part="paid"}') > 0;
    });
  }, { pricing: "barrier", margin: 0.05, volatilityHistoryMs: 1_000 }));

Deno.test("Solver with --pricing barrier: quotes at once with a week of candles, and after a restart without", () =>
  withFolder(async (folder) => {
    await using exchange = startFakeCandles();
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
