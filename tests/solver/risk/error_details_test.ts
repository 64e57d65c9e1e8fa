/** Refusals carry the numbers of their text in `details`, so that a program need not parse it. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { requireRules } from "../../../services/solver/limits.ts";
import { requireBalances } from "../../../services/solver/risk/balances.ts";

const { base, quote } = SPEC_MARKETS.bySymbol("ETH/USDT")!; // a market of the specification
const bet = {
  user: DEV_ACCOUNTS.admin.address,
  solver: DEV_ACCOUNTS.solver.address,
  thesisType: "box" as const,
  base,
  quote,
  lowerPrice: 5n,
  upperPrice: 5n,
  betAmount: 10_000_000n,
  payout: 11_000_000n,
  startTime: 0,
  endTime: 60_000,
};

Deno.test("INVALID_PRICE_RANGE: details have both prices", () => {
  assert.throws(() => requireRules(bet, SPEC_MARKETS), {
    code: "INVALID_PRICE_RANGE",
    details: { lowerPrice: "5", upperPrice: "5" },
  });
});

Deno.test("INSUFFICIENT_BALANCE: details have the balance and what is missing", () => {
  assert.throws(() => requireBalances(bet, { user: 4_000_000n, solver: 0n }, []), {
    code: "INSUFFICIENT_BALANCE",
    details: { balance: "4000000", missing: "6000000" },
  });
});
