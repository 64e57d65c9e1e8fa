import { giveHistory, publishPrice, quoteRequest, SPOT, withSolver } from "../solver/support.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { type Expected, type Refusals, says } from "./support.ts";

const around = (width: number, change: Record<string, unknown> = {}) =>
  quoteRequest({ lowerPrice: String(SPOT - width), upperPrice: String(SPOT + width), ...change });

const PATHS = ["/quote", "/estimate"];

/** Refusals of a market model: the change of a valid bet, and the answer. */
function betsRefused(now: number): [body: unknown, expected: Expected][] {
  const far = { lowerPrice: "1000000000", upperPrice: "2000000000" };
  const begun = { startTime: now - 30_000, endTime: now + 30_000 };
  const ended = { startTime: now - 9e3, endTime: now - 1e3 };
  const late = { startTime: now + 9e7, endTime: now + 9.1e7 };
  return [
    [around(1e6, far), says("400 OUTSIDE_RANGE", "Price 3000", "choose a range around it")],
    [around(1), says("400 RANGE_TOO_NARROW", "Range of 0.000002", "choose a wider one")],
    [around(2e9), says("400 PAYOUT_TOO_LOW", "bet of 10 USDC", "choose a narrower range")],
    [around(1e6, { endTime: now + 1_500 }), says("400 DURATION_TOO_SHORT", "ms", "longer window")],
    [around(1e6, ended), says("400 WINDOW_ENDED", "ms ago", "later")],
    [around(1e6, late), says("400 INVALID_TIME_RANGE", "at most 86400000 ms", "an earlier start")],
    [
      around(1e6, { startTime: now - 9e5 }),
      says("400 INVALID_TIME_RANGE", "at most 60000 ms", "a later start"),
    ],
    [around(1e5, begun), says("400 RANGE_BROKEN", "Price was", "choose a later start")],
  ];
}

export async function refuseByModel(refusals: Refusals): Promise<void> {
  await withSolver(async ({ url }, node) => {
    const body = around(1e6);
    const askAll = async (body: unknown, expected: Expected) => {
      for (const path of PATHS) await refusals.ask(url, { path, body, ...expected });
    };
    await askAll(body, says("503 PRICE_UNAVAILABLE", "ETH/USDT", "try again"));
    await node.feed.subscribed("prices");
    const ask = async () => {
      publishPrice(node);
      return await post(`${url}/quote`, body);
    };
    await eventually("a price", async () => (await ask()).body.code === "VOLATILITY_UNAVAILABLE");
    await askAll(body, says("503 VOLATILITY_UNAVAILABLE", "ETH/USDT", "try again"));
    giveHistory(node);
    await eventually("a quote", async () => (await ask()).status === 200);
    for (const [wrong, expected] of betsRefused(Date.now())) {
      publishPrice(node);
      await askAll(wrong, expected);
    }
    await refusals.ask(url, {
      path: "/quote",
      body: around(1e6, { deadline: Date.now() + 310_000 }),
      ...says("400 INVALID_REQUEST", "deadline: ", "at most 300000 ms", "--max-deadline-ms"),
    });
  }, { pricing: "barrier", volatilityHistoryMs: 1_000, minDurationMs: 5_000 });
}
