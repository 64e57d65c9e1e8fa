import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Quote } from "../../../lib/protocol/quote.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import {
  PreTradeChecks,
  type PreTradeChecksOptions,
} from "../../../services/solver/risk/pre_trade_checks.ts";
import {
  PricingRefusedError,
  type PricingStrategy,
} from "../../../services/solver/pricing/strategy.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { onlyChain } from "../../support/intents.ts";
import { accountOf, market, nodePrice, solver, termsAt } from "../support.ts";

const clock = new FakeClock();
const nowMs = clock.now();

const quote: Quote = { ...termsAt(nowMs, { payout: 150n, deadline: nowMs + 50 }), signature: "0x" };

/** Checks that all just pass, with the given changes. */
function checks(
  overrides: Partial<PreTradeChecksOptions> = {},
  { state = "fresh" as "fresh" | "stale", users = 100n, own: solverBalance = 50n } = {},
) {
  const prices = { [market.symbol]: nodePrice({ ageMs: 3_456, state }) };
  return new PreTradeChecks({
    markets: SPEC_MARKETS,
    node: {
      getPrices: () => Promise.resolve(prices),
      getAccount: (address) =>
        Promise.resolve(accountOf(address, address === solver.address ? solverBalance : users)),
    },
    solver: solver.address,
    clock,
    maxRisk: 50n,
    hedgeMs: 50,
    strategy: { recheck() {} },
    guard: onlyChain(clock),
    ...overrides,
  });
}

Deno.test("PreTradeChecks: a bet at every limit is accepted, and its balances are returned", async () => {
  assert.deepEqual(await checks().requirePlaceable(quote), { user: 100n, solver: 50n });
});

const moved = {
  recheck() {
    throw new PricingRefusedError("PRICE_MOVED", "Payout 150 is worth 120 by now");
  },
};

Deno.test("PreTradeChecks: a bet just over one limit is refused, with its figures", async () => {
  const cases: [PreTradeChecks, code: string, details: object][] = [
    [checks({ hedgeMs: 51 }), "DEADLINE_PASSED", {
      deadline: nowMs + 50,
      leftMs: 50,
      neededMs: 51,
    }],
    [checks({ maxRisk: 49n }), "RISK_TOO_LARGE", { payout: "150", risk: "50", maxRisk: "49" }],
    [checks({}, { state: "stale" }), "PRICE_STALE", { symbol: "ETH/USDT", ageMs: 3_456 }],
    [checks({}, { own: 49n }), "BALANCE_TOO_LOW", { balance: "49", needed: "50", missing: "1" }],
    [checks({}, { users: 99n }), "INSUFFICIENT_BALANCE", {
      user: quote.user,
      balance: "99",
      betAmount: "100",
      reserved: "0",
      missing: "1",
    }],
  ];
  for (const [failing, code, details] of cases) {
    await assert.rejects(failing.requirePlaceable(quote), { code, details });
  }
});

Deno.test("PreTradeChecks: the recheck after the recording checks price, deadline and risk", () => {
  const seen: unknown[] = [];
  const strategy = {
    recheck: (...call: Parameters<PricingStrategy["recheck"]>) => void seen.push(call),
  };
  checks({ strategy }).requirePrice(quote);
  checks({ strategy }).recheck(quote, { isHedged: false });
  assert.deepEqual(seen, [
    [quote, 150n, { isRecorded: false }],
    [quote, 150n, { isRecorded: true }],
  ]);
  for (const overrides of [{ hedgeMs: 51 }, { maxRisk: 49n }, { strategy: moved }]) {
    assert.throws(() => checks(overrides).recheck(quote, { isHedged: false }), RangemakerError);
  }
  checks({ hedgeMs: 51 }).recheck(quote, { isHedged: true });
});

Deno.test("PreTradeChecks: the deadline has to leave time for hold and hedge", async () => {
  for (const [holdMs, isInTime] of [[30, true], [31, false]] as const) {
    const strategy = { recheck() {}, holdMs: () => holdMs };
    const look = checks({ strategy, hedgeMs: 20 }).requirePlaceable(quote);
    if (isInTime) await look;
    else await assert.rejects(look, { code: "DEADLINE_PASSED", message: /takes 51 ms/ });
  }
});

Deno.test("PreTradeChecks: a market without a price and an unknown pair are refused as stale", async () => {
  const node = {
    getPrices: () => Promise.resolve({}),
    getAccount: (address: Address) => Promise.resolve(accountOf(address, 500n)),
  };
  const unknown = { ...quote, base: solver.address };
  for (const bet of [quote, unknown]) {
    await assert.rejects(checks({ node }).requirePlaceable(bet), { code: "PRICE_STALE" });
  }
});
