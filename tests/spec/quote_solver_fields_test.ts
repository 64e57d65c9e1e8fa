/** The quote solver document: every field of every table, its presence, type and format. */
import assert from "node:assert/strict";
import { recoverTypedDataAddress } from "viem";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { estimateRequestSchema } from "../../services/solver/quoting/estimate.ts";
import { assertFailure, post, withField } from "../support/http_answers.ts";
import {
  askQuote,
  endedWindow,
  QUOTE_TYPE,
  quoteBody,
  quoteFields,
  signedExecution,
  termsOf,
  withSolver,
} from "./quotes.ts";
import {
  fundedWallet,
  get,
  newWallet,
  PAIRS,
  rpc,
  sharedStack,
  typedData,
  wire,
} from "./support.ts";

const stack = sharedStack();

const NOT_ADDRESS = ["0x01", `${"1".repeat(42)}`, `0x${"g".repeat(40)}`, 1, null];
const NOT_DECIMAL = ["", "1.5", "-1", "0x10", "1e3", 1, null];
const NOT_TIME = ["1700000000000", 1.5, -1, null];
const NOT_BOX = ["range", "BOX", "", 1, null];

/** Fields that quote and estimate requests have in common, with values that are none of them. */
const REQUEST_FIELDS: Record<string, unknown[]> = {
  user: NOT_ADDRESS,
  thesisType: NOT_BOX,
  base: NOT_ADDRESS,
  quote: NOT_ADDRESS,
  lowerPrice: NOT_DECIMAL,
  upperPrice: NOT_DECIMAL,
  betAmount: NOT_DECIMAL,
  startTime: NOT_TIME,
  endTime: NOT_TIME,
  deadline: NOT_TIME,
};
const { user: _user, ...ESTIMATE_FIELDS } = REQUEST_FIELDS;

for (const [field, wrong] of Object.entries(REQUEST_FIELDS)) {
  Deno.test(
    `quote solver, Quote request, ${field}: required, and of its type`,
    () => refuses("quote", field, [undefined, ...wrong]),
  );
}

const DEFAULTED = ["thesisType", "base", "quote", "deadline"];
for (const [field, wrong] of Object.entries(ESTIMATE_FIELDS)) {
  const isOptional = DEFAULTED.includes(field);
  const need = isOptional ? "not required" : "required";
  Deno.test(`quote solver, Estimate request, ${field}: ${need}, and of its type`, async () => {
    await refuses("estimate", field, isOptional ? wrong : [undefined, ...wrong]);
    if (!isOptional) return;
    const body = quoteBody({ [field]: undefined });
    assert.equal((await post(`${stack.urls.solver}/estimate`, body)).status, 200);
  });
}

async function refuses(path: string, field: string, values: readonly unknown[]): Promise<void> {
  for (const value of values) {
    const answer = post(`${stack.urls.solver}/${path}`, quoteBody({ [field]: value }));
    await assertFailure(answer, 400, new RegExp(`^INVALID_REQUEST: ${field}: `));
  }
}

Deno.test("quote solver, Estimate request, defaults: box on BTC and USDT", () => {
  const { user: _, thesisType: _1, base: _2, quote: _3, deadline: _4, ...rest } = quoteBody();
  const parsed = estimateRequestSchema.parse(rest);
  const { base, quote } = PAIRS[0]!;
  assert.deepEqual(
    [parsed.thesisType, parsed.base, parsed.quote],
    ["box", base, quote],
  );
});

const { payout: _payout, signature: _signature, ...ECHOED_FIELDS } = quoteFields;
for (const field of Object.keys(ECHOED_FIELDS)) {
  Deno.test(`quote solver, Quote, ${field}: present, of its type, as requested`, async () => {
    const request = quoteBody({ user: newWallet().address });
    const { body } = await post(`${stack.urls.solver}/quote`, request);
    // Beside `quote` the answer carries `quoteHash` and `expiresInMs` (README, Endpoints).
    assert.equal(body.success, true);
    const schema = z.object({ [field]: quoteFields[field as keyof typeof quoteFields] });
    const value = schema.parse(body.quote)[field];
    const echoed: Record<string, unknown> = {
      solver: DEV_ACCOUNTS.solver.address,
      oraclePair: { base: request.base, quote: request.quote },
      priceRange: { lower: request.lowerPrice, upper: request.upperPrice },
    };
    assert.deepEqual(value, echoed[field] ?? request[field]);
  });
}

/** The payout rule allows 1.05 to 1.10 times the bet. */
function assertPayout(payout: string, bet: string): void {
  const hundredths = BigInt(payout) * 100n;
  assert.ok(hundredths >= BigInt(bet) * 105n && hundredths <= BigInt(bet) * 110n, payout);
}

Deno.test("quote solver, Quote, payout: present, of its type, by the payout rule", async () => {
  const quote = await askQuote(stack.urls.solver, newWallet());
  assertPayout(quote.payout, quote.betAmount);
});

Deno.test("quote solver, Quote, signature: present, of its type, the solver's own", async () => {
  const quote = await askQuote(stack.urls.solver, newWallet());
  const signature = wire.signature.parse(quote.signature) as `0x${string}`; // by its pattern
  const signed = { ...typedData(QUOTE_TYPE), message: termsOf(quote), signature };
  assert.equal(await recoverTypedDataAddress(signed), DEV_ACCOUNTS.solver.address);
});

Deno.test("quote solver, Quote: these fields and no others", async () => {
  const quote = await askQuote(stack.urls.solver, newWallet());
  assert.deepEqual(Object.keys(quote), Object.keys(quoteFields));
});

const estimateSchema = z.strictObject({
  betAmount: wire.decimal,
  payout: wire.decimal,
  multiplier: z.string().regex(/^\d+\.\d{4}$/),
  solverCollateral: wire.decimal,
});

for (const field of Object.keys(estimateSchema.shape)) {
  Deno.test(`quote solver, Estimate, ${field}: present, in its form, and right`, async () => {
    const { body } = await post(`${stack.urls.solver}/estimate`, quoteBody());
    const estimate = estimateSchema.parse(body.estimate);
    const [bet, payout] = [BigInt(estimate.betAmount), BigInt(estimate.payout)];
    assertPayout(estimate.payout, "100000000");
    const expected: Record<string, string> = {
      betAmount: "100000000",
      payout: payout.toString(),
      multiplier: (Number(payout) / Number(bet)).toFixed(4),
      solverCollateral: (payout - bet).toString(),
    };
    assert.equal(estimate[field as keyof typeof estimate], expected[field]);
    assert.ok(!JSON.stringify(body).includes("signature"), "an estimate is not signed");
  });
}

const resultSchema = z.object({
  txHash: wire.hash,
  status: z.enum(["committed", "failed"]),
  thesisId: z.int().positive().optional(),
});

Deno.test(
  "quote solver, Execute result, txHash, status, thesisId: of a committed transaction",
  async () => {
    const wallet = await fundedWallet(stack.urls);
    const execution = await signedExecution(stack.urls.solver, wallet);
    const { body } = await post(`${stack.urls.solver}/execute`, execution);
    const { status, txHash, thesisId } = resultSchema.required().strict().parse(body.result);
    assert.equal(status, "committed");
    const receipt = Object((await rpc(stack.urls.node, "core_getTransaction", [txHash])).result);
    assert.deepEqual([receipt.status, receipt.thesisId], ["committed", thesisId]);
    const thesis = Object((await rpc(stack.urls.node, "core_getThesis", [thesisId])).result);
    assert.deepEqual([thesis.user, thesis.txHash], [wallet.address, txHash]);
  },
);

Deno.test("quote solver, Execute result, thesisId: absent where the transaction failed", async () => {
  const wallet = await fundedWallet(stack.urls);
  const execution = await signedExecution(stack.urls.solver, wallet, 60_000, endedWindow());
  const { body } = await post(`${stack.urls.solver}/execute`, execution);
  // A failed result carries the node's `error` beside (docs/protocol.md, "Transactions").
  const result = resultSchema.parse(body.result);
  assert.deepEqual([result.status, result.thesisId], ["failed", undefined]);
});

const EXECUTE_FIELDS = [
  "quote",
  "userSignature",
  // A quote that names no solver is taken for the solver's own (docs/protocol.md, "Quote hash").
  ...Object.keys(quoteFields).filter((f) => f !== "solver").map((f) => `quote.${f}`),
];
for (const field of EXECUTE_FIELDS) {
  Deno.test(`quote solver, POST /execute, request, ${field}: required, and of its type`, async () => {
    const execution = await signedExecution(stack.urls.solver, newWallet());
    const error = new RegExp(`^INVALID_REQUEST: ${field}`);
    for (const value of [undefined, null, "x", {}]) {
      const body = withField(execution, field, value);
      await assertFailure(post(`${stack.urls.solver}/execute`, body), 400, error);
    }
  });
}

const healthSchema = z.strictObject({
  status: z.literal("ok"),
  solver: wire.address,
  dryRun: z.boolean(),
});

for (const dryRun of [false, true]) {
  Deno.test(
    `quote solver, GET /health: status, solver, dryRun ${dryRun}`,
    () =>
      withSolver(stack.urls, { dryRun }, async (url) => {
        const { solver } = DEV_ACCOUNTS;
        const health = await get(`${url}/health`, healthSchema);
        assert.deepEqual(health, { status: "ok", solver: solver.address, dryRun });
      }),
  );
}

/** The last column is what `GET /info` of the stack's solver has to say. */
const INFO_FIELDS: [field: string, schema: z.ZodType, value: unknown][] = [
  ["address", wire.address, DEV_ACCOUNTS.solver.address],
  ["balance", wire.decimal, undefined],
  ["dryRun", z.boolean(), false],
  ["config.basePayoutMultiplier", z.number(), 1.5],
  ["config.maxPayoutRatio", z.number(), 10],
  ["config.minBetAmount", wire.decimal, "1"],
  ["config.maxBetAmount", wire.decimal, "1000000000000"],
  ["config.minDuration", z.number(), 1_000],
  ["config.maxDuration", z.number(), 86_400_000],
];
for (const [field, schema, value] of INFO_FIELDS) {
  Deno.test(`quote solver, GET /info, ${field}: present, of its type, and right`, async () => {
    let found: unknown = await get(`${stack.urls.solver}/info`, z.unknown());
    for (const name of field.split(".")) found = Object(found)[name];
    schema.parse(found);
    assert.equal(found, value ?? await balanceOf(DEV_ACCOUNTS.solver.address));
  });
}

async function balanceOf(address: string): Promise<unknown> {
  return Object((await rpc(stack.urls.node, "core_getAccount", [address])).result).balance;
}

Deno.test(
  "quote solver, GET /info, config.basePayoutMultiplier: that of --multiplier",
  () =>
    withSolver(stack.urls, { multiplier: 3.25 }, async (url) => {
      const info = await get(`${url}/info`, z.unknown());
      assert.equal(Object(info).config.basePayoutMultiplier, 3.25);
    }),
);

Deno.test("quote solver, GET /pairs, pairs: base and quote of every supported pair", async () => {
  const pair = z.strictObject({
    base: wire.address,
    quote: wire.address,
    // Beside what the specification names, for people.
    symbol: z.string(),
    decimals: z.literal(6),
  });
  const { pairs } = await get(
    `${stack.urls.solver}/pairs`,
    z.strictObject({ pairs: z.array(pair) }),
  );
  assert.deepEqual(
    pairs.map(({ base, quote }) => ({ base, quote })),
    PAIRS.map(({ base, quote }) => ({ base, quote })),
  );
});
