import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { z } from "zod";
import { LOG_ROOT } from "../../lib/log/logging.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { recoverSigner } from "../../lib/protocol/signature.ts";
import { assertFailure, post } from "../support/envelope.ts";
import { CHAIN_ID, quoteRequest, solver, withSolver } from "./support.ts";

async function get(url: string): Promise<unknown> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("Solver: health, info, pairs and typed data as in the spec's endpoints", () =>
  withSolver(async ({ url }, node) => {
    node.credited.set(solver.address, 123n);
    assert.deepEqual(await get(`${url}/health`), {
      status: "ok",
      solver: solver.address,
      dryRun: false,
    });
    const info = z.object({ balanceTime: z.number() }).loose().parse(await get(`${url}/info`));
    assert.deepEqual(info, {
      address: solver.address,
      balance: "123",
      balanceTime: info.balanceTime,
      dryRun: false,
      pricing: "mock",
      config: {
        basePayoutMultiplier: 1.5,
        maxPayoutRatio: 10,
        minBetAmount: "1",
        maxBetAmount: "1000000000000",
        minDuration: 1000,
        maxDuration: 86400000,
      },
    });
    assert.deepEqual(await get(`${url}/pairs`), {
      pairs: ["BTC", "ETH", "SOL"].map((base, index) => ({ symbol: `${base}/USDT`, n: index + 1 }))
        .map(({ symbol, n }) => ({
          symbol,
          decimals: 6,
          base: `0x000000000000000000000000000000000000000${n}`,
          quote: "0x0000000000000000000000000000000000000100",
        })),
    });
    const typedData = JSON.stringify(await get(`${url}/typed-data`));
    assert.match(typedData, /"primaryType":"Core:Quote"/);
    assert.match(typedData, /"chainId":1337/);
  }));

Deno.test("Solver: a flood of /info asks the node once a second", () =>
  withSolver(async ({ url }, node) => {
    const startMs = Date.now();
    await Promise.all(Array.from({ length: 100 }, () => get(`${url}/info`)));
    const calls = node.calls.get("core_getAccount") ?? 0;
    assert(calls >= 1 && calls <= 1 + Math.floor((Date.now() - startMs) / 1_000), `${calls} calls`);
  }));

Deno.test("Solver: a quote echoes the request, is signed over its hash and pays 1.05 to 1.10", () =>
  withSolver(async ({ url }) => {
    const request = quoteRequest();
    const { body } = await post(`${url}/quote`, request);
    const quote = quoteSchema.parse(body.quote);
    assert.equal(body.success, true);
    assert.equal(body.quoteHash, hashQuote(quote, CHAIN_ID));
    assert.equal(recoverSigner(hashQuote(quote, CHAIN_ID), quote.signature), solver.address);
    assert.deepEqual(body.quote, {
      solver: solver.address,
      user: request.user,
      thesisType: "box",
      oraclePair: { base: request.base, quote: request.quote },
      priceRange: { lower: request.lowerPrice, upper: request.upperPrice },
      betAmount: request.betAmount,
      payout: quote.payout.toString(),
      startTime: request.startTime,
      endTime: request.endTime,
      deadline: request.deadline,
      signature: quote.signature,
    });
    assert.ok(quote.payout >= 10_500_000n && quote.payout <= 11_000_000n);
  }));

Deno.test("Solver: an estimate has the spec's defaults and four decimals, and no signature", () =>
  withSolver(async ({ url }) => {
    const now = Date.now();
    const { body } = await post(`${url}/estimate`, {
      lowerPrice: "1",
      upperPrice: "2",
      betAmount: "1000000",
      startTime: now,
      endTime: now + 1_000,
    });
    const { betAmount, payout, multiplier, solverCollateral, ...rest } = body.estimate as Record<
      string,
      string
    >;
    assert.deepEqual(rest, {});
    assert.equal(body.success, true);
    assert.equal(betAmount, "1000000");
    assert.match(String(multiplier), /^1\.\d{4}$/);
    assert.equal(multiplier, (Number(payout) / Number(betAmount)).toFixed(4));
    assert.equal(solverCollateral, String(Number(payout) - 1_000_000));
  }));

Deno.test("Solver: pages of the allowed origins may call it from a browser, others may not", () =>
  withSolver(async ({ url }) => {
    const allowed = async (origin: string) => {
      const headers = { origin, "access-control-request-method": "POST" };
      const preflight = await fetch(`${url}/quote`, { method: "OPTIONS", headers });
      const answer = await fetch(`${url}/health`, { headers: { origin } });
      await answer.body?.cancel();
      assert.equal(preflight.status, 204);
      return [preflight, answer].map(({ headers }) => headers.get("access-control-allow-origin"));
    };
    const page = "https://bets.example";
    assert.deepEqual(await allowed(page), [page, page]);
    assert.deepEqual(await allowed("https://other.example"), [null, null]);
  }, { corsOrigins: ["https://bets.example"] }));

Deno.test("Solver: unknown routes and methods answer 404 in the envelope", () =>
  withSolver(async ({ url }) => {
    for (
      const [method, path] of [["GET", "/quote"], ["DELETE", "/info"], ["POST", "/x"]] as const
    ) {
      const response = await fetch(url + path, { method });
      const answer = { status: response.status, body: await response.json() };
      await assertFailure(Promise.resolve(answer), 404, `NOT_FOUND: No route ${method} ${path}`);
    }
  }));

Deno.test("Solver: mock warns at a live start that it is no price, barrier and a dry run do not", async () => {
  const warnings: string[] = [];
  const sink = (record: LogRecord) => void warnings.push(record.message.join(""));
  await configure({
    sinks: { memory: sink },
    loggers: [
      { category: LOG_ROOT, lowestLevel: "warning", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error" },
    ],
    reset: true,
  });
  try {
    await withSolver(() => Promise.resolve(), { pricing: "barrier" });
    await withSolver(() => Promise.resolve(), { dryRun: true });
    assert.deepEqual(warnings.filter((text) => text.includes("mock")), []);
    await withSolver(() => Promise.resolve());
    const [warning = "", ...others] = warnings.filter((text) => text.includes("mock"));
    assert.match(warning, /^--pricing mock pays 5 to 10 % for any range/);
    assert.deepEqual(others, []);
  } finally {
    await reset();
  }
});
