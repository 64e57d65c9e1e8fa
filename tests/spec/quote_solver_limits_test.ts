/** The quote solver document: the payout rule, every rule, error code and limit, at its boundary. */
import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { formatUnits } from "../../lib/protocol/price.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { MockStrategy } from "../../services/solver/pricing/mock_strategy.ts";
import { systemClock } from "../../lib/clock.ts";
import { Quoter } from "../../services/solver/quoting/quoter.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { quoteBody, signedExecution, withSolver } from "./quotes.ts";
import { DOMAIN, fundedWallet, PAIRS, sharedStack } from "./support.ts";

const stack = sharedStack();
const UNSUPPORTED = "0x9999999999999999999999999999999999999999";

for (
  const [r, payout] of [[0, 1_050_000n], [0.5, 1_075_000n], [1 - 2 ** -53, 1_100_000n]] as const
) {
  Deno.test(`quote solver, payout rule: r = ${r} pays 1.05 + r * 0.05`, () => {
    const bet = { ...termsForStrategy, betAmount: 1_000_000n };
    assert.equal(new MockStrategy(() => r).price(bet).payout, payout);
  });
}

/** What a strategy is asked about; the mock looks at the bet alone. */
const termsForStrategy = {
  thesisType: "box" as const,
  base: PAIRS[0]!.base as `0x${string}`, // a literal of the table
  quote: PAIRS[0]!.quote as `0x${string}`, // a literal of the table
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 1n,
  startTime: 0,
  endTime: 60_000,
};

const START = Date.now();
const lasting = (durationMs: number) => ({ startTime: START, endTime: START + durationMs });
/** Every code of `POST /quote`, with what breaks its rule and the nearest request that does not. */
const RULES: [
  name: string,
  code: string,
  bad: Record<string, unknown>,
  good: Record<string, unknown>,
][] = [
  ["rule 1, pair", "UNSUPPORTED_PAIR", { base: UNSUPPORTED }, { base: PAIRS[2]!.base }],
  [
    "rule 1, pair the wrong way",
    "UNSUPPORTED_PAIR",
    { base: PAIRS[0]!.quote, quote: PAIRS[0]!.base },
    { base: PAIRS[0]!.base, quote: PAIRS[0]!.quote },
  ],
  ["rule 2, minBetAmount", "BET_TOO_SMALL", { betAmount: "0" }, { betAmount: "1" }],
  [
    "rule 2, maxBetAmount",
    "BET_TOO_LARGE",
    { betAmount: "1000000000001" },
    { betAmount: "1000000000000" },
  ],
  ["rule 3, minDuration", "DURATION_TOO_SHORT", lasting(999), lasting(1_000)],
  ["rule 3, maxDuration", "DURATION_TOO_LONG", lasting(86_400_001), lasting(86_400_000)],
  [
    "rule 4, equal bounds",
    "INVALID_PRICE_RANGE",
    { lowerPrice: "5", upperPrice: "5" },
    { lowerPrice: "4", upperPrice: "5" },
  ],
  [
    "rule 4, crossed bounds",
    "INVALID_PRICE_RANGE",
    { lowerPrice: "6", upperPrice: "5" },
    { lowerPrice: "5", upperPrice: "6" },
  ],
];
for (const [name, code, bad, good] of RULES) {
  Deno.test(
    `quote solver, Errors and Limits, ${name}: ${code}, and just inside it is taken`,
    () =>
      withSolver(stack.urls, {}, async (url) => {
        for (const path of ["quote", "estimate"]) {
          const error = new RegExp(`^${code}: .+`);
          await assertFailure(post(`${url}/${path}`, quoteBody(bad)), 400, error);
          const { status, body } = await post(`${url}/${path}`, quoteBody(good));
          assert.equal(status, 200, JSON.stringify(body));
        }
      }),
  );
}

for (const path of ["quote", "execute", "estimate"]) {
  Deno.test(
    `quote solver, Errors, failure envelope: POST /${path} has success false and error`,
    () => assertFailure(post(`${stack.urls.solver}/${path}`, {}), 400, /^INVALID_REQUEST: /).then(),
  );
}

for (const [ratio, payout] of [[9n, 9n], [10n, 10n], [11n, 10n]] as const) {
  Deno.test(
    `quote solver, Limits, maxPayoutRatio 10: a strategy of ${ratio} times pays ${payout}`,
    () => {
      const quoter = new Quoter({
        markets: SPEC_MARKETS,
        strategy: { name: "mock", price: ({ betAmount }) => ({ payout: betAmount * ratio }) },
        signer: new Signer(DEV_ACCOUNTS.solver.privateKey),
        solver: DEV_ACCOUNTS.solver.address,
        chainId: DOMAIN.chainId,
        clock: systemClock,
        timeBounds: undefined,
      });
      assert.equal(quoter.estimate(termsForStrategy).payout, payout);
    },
  );
}

Deno.test("quote solver, Limits, maxRisk: payout minus bet may reach it, and not pass it", async () => {
  const wallet = await fundedWallet(stack.urls);
  const body = await signedExecution(stack.urls.solver, wallet);
  const risk = BigInt(body.quote.payout) - BigInt(body.quote.betAmount);
  await withSolver(stack.urls, { maxRisk: risk - 1n }, async (url) => {
    await assertFailure(
      post(`${url}/execute`, body),
      400,
      new RegExp(`risk ${formatUnits(risk)} USDC `),
    );
  });
  await withSolver(stack.urls, { maxRisk: risk }, async (url) => {
    assert.equal((await post(`${url}/execute`, body)).status, 200);
  });
});
