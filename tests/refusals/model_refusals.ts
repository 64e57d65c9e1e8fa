import { giveHistory, publishPrice, SPOT } from "../solver/prices.ts";
import { quoteRequest, withSolver } from "../solver/support.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import type { Refusals, Refused } from "./support.ts";

/** A bet around a price that a model has. */
const around = (width: number, change: Record<string, unknown> = {}) =>
  quoteRequest({ lowerPrice: String(SPOT - width), upperPrice: String(SPOT + width), ...change });

/** Routes that price a bet. */
const PATHS = ["/quote", "/estimate"];

/** What a model of the market refuses: what is changed in a good bet, and the answer. */
function betsRefused(now: number): Refused[] {
  const far = { lowerPrice: "1000000000", upperPrice: "2000000000" };
  const begun = { startTime: now - 30_000, endTime: now + 30_000 };
  const list: [body: unknown, code: string, names: string, advice: string][] = [
    [around(1e6, far), "OUTSIDE_RANGE", "Price 3000", "choose a range around it"],
    [around(1), "RANGE_TOO_NARROW", "Range of 0.000002", "choose a wider one"],
    [around(2e9), "PAYOUT_TOO_LOW", "Bet of 10 USDC", "choose a narrower range"],
    [around(1e6, { endTime: now + 1_500 }), "DURATION_TOO_SHORT", "ms", "choose a longer window"],
    [around(1e6, { startTime: now - 9e3, endTime: now - 1e3 }), "WINDOW_ENDED", "ms ago", "later"],
    [
      around(1e6, { startTime: now + 9e7, endTime: now + 9.1e7 }),
      "INVALID_TIME_RANGE",
      "Window",
      "choose an earlier start",
    ],
    [around(1e6, { startTime: now - 9e5 }), "INVALID_TIME_RANGE", "Window", "a later start"],
    [around(1e5, begun), "RANGE_BROKEN", "Price was", "choose a later start"],
  ];
  const late = { path: "/quote", body: around(1e6, { deadline: now + 9e6 }) };
  return list.flatMap(([body, code, names, advice]) =>
    PATHS.map((path) => ({ path, body, status: 400, code, names, advice }))
  ).concat({
    ...{ ...late, status: 400, code: "INVALID_REQUEST", names: "deadline" },
    advice: "--max-deadline-ms",
  });
}

/** What a solver with a model of the market refuses. */
export async function refuseByModel(refusals: Refusals): Promise<void> {
  const unavailable = { status: 503, names: "ETH/USDT", advice: "try again" };
  await withSolver(async ({ url }, node) => {
    const body = around(1e6);
    const askAll = async (code: string) => {
      for (const path of PATHS) await refusals.ask(url, { path, body, ...unavailable, code });
    };
    await askAll("PRICE_UNAVAILABLE");
    await node.feed.subscribed("prices");
    const ask = async () => {
      publishPrice(node);
      return await post(`${url}/quote`, body);
    };
    await eventually(
      "a price",
      async () => (await ask()).body.code === "VOLATILITY_UNAVAILABLE" || undefined,
    );
    await askAll("VOLATILITY_UNAVAILABLE");
    giveHistory(node);
    await eventually("a quote", async () => (await ask()).status === 200 || undefined);
    for (const refused of betsRefused(Date.now())) {
      publishPrice(node);
      await refusals.ask(url, refused);
    }
  }, { pricing: "barrier", volatilityHistoryMs: 1_000, minDurationMs: 5_000 });
}
