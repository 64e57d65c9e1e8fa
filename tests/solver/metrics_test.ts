import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import {
  registerAccount,
  registerCalibration,
  registerExposure,
  SolverMetrics,
} from "../../services/solver/metrics.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { post, seriesIn } from "../support/http_answers.ts";
import {
  askQuote,
  completeBook,
  execution,
  quoteRequest,
  thesisOf,
  withSolver,
} from "./support.ts";

Deno.test("SolverMetrics: quotes, refusals, executions, hedges, exposure and signature failures", () =>
  withSolver(async ({ url }, node) => {
    await askQuote(url);
    await post(`${url}/estimate`, quoteRequest());
    await post(`${url}/quote`, quoteRequest({ betAmount: "0" }));
    await post(`${url}/quote`, "{");
    await post(`${url}/quote`, "x".repeat(70_000));
    const body = await execution(url);
    await post(`${url}/execute`, body);
    await post(`${url}/execute`, { ...body, userSignature: "0x11" });
    node.priceState = "stale";
    await post(`${url}/execute`, await execution(url));
    const page = await (await fetch(`${url}/metrics`)).text();
    const expected: [string, number][] = [
      ['solver_quotes_total{kind="quote",outcome="quoted"}', 3],
      ['solver_quotes_total{kind="quote",outcome="BET_TOO_SMALL"}', 1],
      ['solver_quotes_total{kind="quote",outcome="INVALID_REQUEST"}', 1],
      ['solver_quotes_total{kind="quote",outcome="BODY_TOO_LARGE"}', 1],
      ['solver_quotes_total{kind="estimate",outcome="quoted"}', 1],
      ['solver_quote_seconds_count{kind="quote"}', 6],
      ['solver_execute_answers_total{outcome="executed"}', 1],
      ['solver_execute_answers_total{outcome="INVALID_SIGNATURE"}', 1],
      ['solver_execute_answers_total{outcome="PRICE_STALE"}', 1],
      ['solver_executions_total{outcome="committed"}', 1],
      ["solver_signature_failures_total", 1],
      ['solver_bets_usdc_total{market="ETH/USDT"}', Number(body.quote.betAmount) / 1e6],
      ['solver_bets_usdc_total{market="BTC/USDT"}', 0],
      ['solver_hedge_seconds_count{outcome="hedged"}', 1],
    ];
    for (const [name, value] of expected) assert.equal(seriesIn(page, name), value, name);
    const risk = BigInt(body.quote.payout) - BigInt(body.quote.betAmount);
    assert.equal(seriesIn(page, "solver_exposure_usdc"), Number(risk) / 1e6);
  }));

Deno.test("SolverMetrics: the exposure limit is --max-exposure, and absent without it", async () => {
  const limitOf = async (max: bigint | undefined) => {
    const registry = createRegistry();
    registerExposure(registry, new ExposureBook(max, () => assert.fail()));
    return /^solver_exposure_limit_usdc (.*)$/m.exec(await registry.metrics())?.[1];
  };
  assert.equal(await limitOf(2_500_000n), "2.5");
  assert.equal(await limitOf(undefined), undefined);
});

Deno.test("SolverMetrics: the exposure is that of the limit, so bets that exclude each other are not added", async () => {
  const registry = createRegistry();
  const book = completeBook();
  for (const id of [1, 2]) {
    const upperPrice = BigInt(10 * id);
    book.apply(thesisOf(id, { lowerPrice: upperPrice - 5n, upperPrice, endTime: 1_000 }));
  }
  registerExposure(registry, book);
  assert.match(await registry.metrics(), /^solver_exposure_usdc 0\.00001$/m);
});

Deno.test("SolverMetrics: an execution that a recheck refused counts as refused, any other as failed", async () => {
  const registry = createRegistry();
  const metrics = new SolverMetrics(registry, SPEC_MARKETS);
  const counts = async () => {
    const text = await registry.metrics();
    return ["committed", "failed", "refused"].map((outcome) =>
      seriesIn(text, `solver_executions_total{outcome="${outcome}"}`)
    );
  };
  assert.deepEqual(await counts(), [0, 0, 0], "each is a series from the start");
  const fail = (code: string, receipt: string | null) =>
    metrics.countExecution({ state: "failed", receipt, failure: { code, message: "" } });
  for (const code of ["PRICE_MOVED", "PRICE_IMPROVED", "HEDGE_REFUSED"]) fail(code, null);
  assert.deepEqual(await counts(), [0, 1, 2]);
  fail("RANGE_BROKEN", "{}"); // by the node, with a code that a recheck has too
  assert.deepEqual(await counts(), [0, 2, 2]);
});

Deno.test("SolverMetrics: the account is read at each scrape, and absent while unknown", async () => {
  const registry = createRegistry();
  let account: Promise<{ balance: bigint; locked: bigint }> = Promise.reject(new Error("away"));
  registerAccount(registry, () => account);
  const scrape = async () => {
    const text = await registry.metrics();
    return ["balance", "locked"].map((name) =>
      new RegExp(`^solver_${name}_usdc (.*)$`, "m").exec(text)?.[1]
    );
  };
  assert.deepEqual(await scrape(), [undefined, undefined]);
  account = Promise.resolve({ balance: 5_000_000n, locked: 250_000n });
  assert.deepEqual(await scrape(), ["5", "0.25"]);
  account = Promise.reject(new Error("away"));
  assert.deepEqual(await scrape(), [undefined, undefined]);
});

Deno.test("SolverMetrics: the calibration is read at each scrape, by market, length and probability", async () => {
  const registry = createRegistry();
  let windows = 3;
  registerCalibration(registry, () => [{
    symbol: "ETH/USDT",
    horizons: [
      { horizonMs: 60_000, windows, boxes: [{ predicted: 0.25, held: 0.5, error: 0.125 }] },
    ],
  }]);
  const scrape = () => registry.metrics();
  const box = 'market="ETH/USDT",horizon_seconds="60",predicted="0.25"';
  await scrape();
  windows = 4;
  const page = await scrape();
  assert.equal(seriesIn(page, `solver_calibration_difference{${box}}`), 0.25);
  assert.equal(seriesIn(page, `solver_calibration_error{${box}}`), 0.125);
  const horizon = 'market="ETH/USDT",horizon_seconds="60"';
  assert.equal(seriesIn(page, `solver_calibration_windows{${horizon}}`), 4);
});

Deno.test("SolverMetrics: stakes of all settled bets are counted, and payouts of those that were won", async () => {
  const registry = createRegistry();
  const metrics = new SolverMetrics(registry, SPEC_MARKETS);
  const amounts = { betAmount: 2_000_000n, payout: 10_000_000n };
  for (const status of ["won", "won", "lost", "lost"] as const) {
    metrics.countSettledBet(thesisOf(1, { status, ...amounts }));
  }
  const text = await registry.metrics();
  for (const [part, usdc] of [["stakes", 8], ["paid", 20]] as const) {
    assert.equal(seriesIn(text, `solver_settled_usdc_total{part="${part}"}`), usdc, part);
  }
});
