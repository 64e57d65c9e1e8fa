import assert from "node:assert/strict";
import type { Quote } from "../../../lib/protocol/quote.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { statusOfCode } from "../../../lib/http/error_status.ts";
import {
  PreTradeChecks,
  type PreTradeChecksOptions,
} from "../../../services/solver/risk/pre_trade_checks.ts";
import { PricingRefusedError } from "../../../services/solver/pricing/strategy.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { market, solver, user } from "../support.ts";

const clock = new FakeClock();
const nowMs = clock.now();

const quote: Quote = {
  solver: solver.address,
  user: user.address,
  thesisType: "box",
  base: market.base,
  quote: market.quote,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 100n,
  payout: 150n,
  startTime: nowMs,
  endTime: nowMs + 60_000,
  deadline: nowMs + 50,
  signature: "0x",
};

/** Checks that all just hold, but for what is given. */
function checks(given: Partial<PreTradeChecksOptions> = {}, state: "fresh" | "stale" = "fresh") {
  const { base, quote, symbol } = market;
  const price = {
    base,
    quote,
    price: 1n,
    decimals: 6 as const,
    lastUpdate: 0,
    ageMs: 3_456,
    state,
  };
  return new PreTradeChecks({
    node: {
      getPrices: () => Promise.resolve({ [symbol]: price }),
      getAccount: (address) =>
        Promise.resolve({ address, balance: 70n, locked: 0n, permissions: [] }),
    },
    solver: solver.address,
    clock,
    maxRisk: 50n,
    hedgeMs: 50,
    strategy: { recheck() {} },
    reserved: () => 70n,
    ...given,
  });
}

Deno.test("Last checks: what just holds passes", async () => {
  await checks().require(quote);
});

const moved = {
  recheck() {
    throw new PricingRefusedError("PRICE_MOVED", "Payout 150 is worth 120 by now");
  },
};

const cases: [string, PreTradeChecks, status: number, code: string, message: RegExp][] = [
  [
    "hedge too long for the deadline",
    checks({ hedgeMs: 51 }),
    400,
    "DEADLINE_PASSED",
    /^Quote deadline \d+ is 50 ms away: hedging takes 51 ms, 1 ms too long$/,
  ],
  [
    "risk over the bound",
    checks({ maxRisk: 49n }),
    400,
    "RISK_TOO_LARGE",
    /^Payout 150 would risk 50 on one thesis, 1 above 49$/,
  ],
  [
    "price moved, in plain words",
    checks({ strategy: moved }),
    400,
    "PRICE_MOVED",
    /^Payout 150 is worth 120 by now$/,
  ],
  [
    "oracle stale",
    checks({}, "stale"),
    503,
    "PRICE_STALE",
    /^Core node has no fresh price of ETH\/USDT: the last is 3456 ms old$/,
  ],
  [
    "balance short",
    checks({ reserved: () => 71n }),
    503,
    "BALANCE_TOO_LOW",
    /^Solver balance 70 is 1 short of the 71 at risk in executions under way$/,
  ],
];

Deno.test("Last checks: a strategy that breaks is no pass", async () => {
  const broken = {
    recheck() {
      throw new TypeError("No market has this base");
    },
  };
  await assert.rejects(checks({ strategy: broken }).require(quote), TypeError);
});

for (const [name, failing, status, code, message] of cases) {
  Deno.test(`Last checks: ${name}: refused, with what and by how much`, async () => {
    await assert.rejects(failing.require(quote), (thrown) => {
      assert.ok(thrown instanceof RangemakerError);
      assert.deepEqual([statusOfCode(thrown.code), thrown.code], [status, code]);
      assert.equal(thrown.retryable, status === 503);
      assert.match(thrown.message, message);
      return true;
    });
  });
}
