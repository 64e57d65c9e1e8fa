/**
 * The quote solver document against a whole stack: behaviour, fields, states and authentication.
 * `tests/refusals` sends the requests that it has to refuse.
 */
import assert from "node:assert/strict";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { z } from "zod";
import { withDefaults } from "../../lib/cli/options.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { options, startSolver } from "../../services/solver/mod.ts";
import { estimateRequestSchema } from "../../services/solver/quoting/quoter.ts";
import { withSteppedNode } from "../node/support/stepped_node.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { post } from "../support/http_answers.ts";
import { fundedWallet, get, newWallet, PAIRS, rpc, stack, typedData, wire } from "./support.ts";

/** What solver and user sign (docs/protocol.md, "What users and solvers sign"). */
const QUOTE_TYPE =
  "Core:Quote(address solver,address user,string thesisType,address base,address quote,uint256 lowerPrice,uint256 upperPrice,uint256 betAmount,uint256 payout,uint256 startTime,uint256 endTime,uint256 deadline)";

/** Every price is inside, so the user wins. */
const WIDEST = { lowerPrice: "1", upperPrice: "18446744073709551615" };

/** The quote solver document, "Quote": these fields, and no others. */
const quoteFields = {
  solver: wire.address,
  user: wire.address,
  thesisType: z.literal("box"),
  oraclePair: z.strictObject({ base: wire.address, quote: wire.address }),
  priceRange: z.strictObject({ lower: wire.decimal, upper: wire.decimal }),
  betAmount: wire.decimal,
  payout: wire.decimal,
  startTime: wire.timeMs,
  endTime: wire.timeMs,
  deadline: wire.timeMs,
  signature: wire.signature,
} as const;

const quoteSchema = z.strictObject(quoteFields);

type PlainQuote = z.output<typeof quoteSchema>;

/** A body of `POST /quote`: 100 USDC on a minute of ETH/USDT, by default. */
function quoteBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Date.now();
  return {
    user: newWallet().address,
    thesisType: "box",
    base: PAIRS[1]!.base,
    quote: PAIRS[1]!.quote,
    ...WIDEST,
    betAmount: "100000000",
    startTime: now,
    endTime: now + 60_000,
    deadline: now + 30_000,
    ...overrides,
  };
}

async function askQuote(
  solverUrl: string,
  wallet: PrivateKeyAccount,
  overrides: Record<string, unknown> = {},
): Promise<PlainQuote> {
  const request = quoteBody({ user: wallet.address, ...overrides });
  const { status, body } = await post(`${solverUrl}/quote`, request);
  assert.equal(status, 200, JSON.stringify(body));
  return quoteSchema.parse(body.quote);
}

function termsOf(quote: PlainQuote) {
  const { oraclePair, priceRange, signature: _, ...rest } = quote;
  return { ...rest, ...oraclePair, lowerPrice: priceRange.lower, upperPrice: priceRange.upper };
}

/** A body of `POST /execute`: a new quote that lasts `durationMs` from now, signed by its user. */
async function signedExecution(
  solverUrl: string,
  wallet: PrivateKeyAccount,
  durationMs = 60_000,
  overrides: Record<string, unknown> = {},
) {
  const now = Date.now();
  const times = { startTime: now, endTime: now + durationMs };
  const quote = await askQuote(solverUrl, wallet, { ...times, ...overrides });
  const message = termsOf(quote);
  const userSignature = await wallet.signTypedData({ ...typedData(QUOTE_TYPE), message });
  return { quote, userSignature };
}

const solver = DEV_ACCOUNTS.solver.address;

async function thesesOf(wallet: PrivateKeyAccount): Promise<Record<string, unknown>[]> {
  const { result } = await rpc(stack.urls.nodeRead, "core_getTheses", [{ user: wallet.address }]);
  return Object(result).theses;
}

const resultSchema = z.object({
  txHash: wire.hash,
  status: z.enum(["committed", "failed"]),
  thesisId: z.int().positive().optional(),
});

Deno.test(
  "quote solver, flow steps 1 to 6, Execute result: a signed quote is executed as a committed thesis",
  async () => {
    const wallet = await fundedWallet(stack.urls);
    const { quote, userSignature } = await signedExecution(stack.urls.solver, wallet);
    const execute = () => post(`${stack.urls.solver}/execute`, { quote, userSignature });
    const first = await execute();
    const { status, body } = first;
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(await execute(), first, "the same quote gives the first result");
    const { txHash, thesisId, ...result } = resultSchema.required().strict().parse(body.result);
    assert.deepEqual([body.success, result.status], [true, "committed"]);
    const receipt = Object((await rpc(stack.urls.node, "core_getTransaction", [txHash])).result);
    assert.deepEqual([receipt.status, receipt.thesisId], ["committed", thesisId]);
    const [thesis, ...others] = await thesesOf(wallet);
    assert.deepEqual(
      [thesis?.id, thesis?.solver, thesis?.txHash, thesis?.payout, others],
      [thesisId, solver, txHash, quote.payout, []],
    );
  },
);

Deno.test("quote solver, flow step 6: settlement needs no solver", () => {
  const wallet = newWallet();
  const balances = new Map([[wallet.address, 1_000_000_000n], [solver, 1_000_000_000n]]);
  return withSteppedNode(
    async ({ stepped, node, client }) => {
      {
        await using running = await startSolver(withDefaults(options, {
          port: 0,
          rpcUrl: node.url,
          wsUrl: node.wsUrl,
          privateKey: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
          database: ":memory:",
          hedgeDelayMs: 0,
        }));
        const body = await signedExecution(running.url, wallet, 10_000);
        assert.equal((await post(`${running.url}/execute`, body)).status, 200);
      }
      const thesis = await client.getThesis(1);
      assert.equal(thesis?.status, "open");
      await stepped.runUntil(thesis.endTime);
      assert.equal((await client.getThesis(1))?.status, "won");
    },
    { balances },
    // The solver's transaction has to be on the time of the node, give or take a minute.
    new FakeClock(Date.now()),
  );
});

Deno.test("quote solver, Supported pairs, GET /pairs: each pair is listed, and can be quoted and estimated", async () => {
  const pair = { base: wire.address, quote: wire.address };
  // Symbol and decimals are for people.
  const listed = z.strictObject({ ...pair, symbol: z.string(), decimals: z.literal(6) });
  const answer = z.strictObject({ pairs: z.array(listed) });
  const { pairs } = await get(`${stack.urls.solver}/pairs`, answer);
  assert.deepEqual(pairs, PAIRS.map((pair) => ({ ...pair, decimals: 6 })));
  for (const { base, quote } of PAIRS) {
    const signed = await askQuote(stack.urls.solver, newWallet(), { base, quote });
    assert.deepEqual(signed.oraclePair, { base, quote });
    const estimate = await post(`${stack.urls.solver}/estimate`, quoteBody({ base, quote }));
    assert.equal(estimate.status, 200);
  }
});

Deno.test(
  "quote solver, payout rule: a quote and an estimate pay 1.05 to 1.10 times the bet",
  async () => {
    const payouts = new Set<bigint>();
    for (let asked = 0; asked < 15; asked += 1) {
      const quote = await askQuote(stack.urls.solver, newWallet());
      const { body } = await post(`${stack.urls.solver}/estimate`, quoteBody());
      payouts.add(BigInt(quote.payout)).add(BigInt(Object(body.estimate).payout));
    }
    for (const payout of payouts) assert.ok(payout >= 105_000_000n && payout <= 110_000_000n);
    assert.ok(payouts.size > 10, "r is random");
  },
);

Deno.test('quote solver, Estimate request, defaults: "box", BTC and USDT', () => {
  const { user: _, thesisType: _1, base: _2, quote: _3, deadline: _4, ...rest } = quoteBody();
  const { thesisType, base, quote } = estimateRequestSchema.parse(rest);
  assert.deepEqual([thesisType, base, quote], ["box", PAIRS[0]?.base, PAIRS[0]?.quote]);
});

Deno.test("quote solver, Quote: exactly the requested fields, and no others", async () => {
  const request = quoteBody({ user: newWallet().address });
  const { body } = await post(`${stack.urls.solver}/quote`, request);
  assert.equal(body.success, true);
  const { base, quote, lowerPrice: lower, upperPrice: upper, ...echoed } = request;
  const { payout: _, signature: _too, ...signed } = z.strictObject(quoteFields).parse(body.quote);
  const nested = { oraclePair: { base, quote }, priceRange: { lower, upper } };
  assert.deepEqual(signed, { ...echoed, ...nested, solver });
});

const estimateSchema = z.strictObject({
  betAmount: wire.decimal,
  payout: wire.decimal,
  multiplier: z.string().regex(/^\d+\.\d{4}$/),
  solverCollateral: wire.decimal,
});

Deno.test("quote solver, Estimate: every field has its form and a correct value, and no signature", async () => {
  const { body } = await post(`${stack.urls.solver}/estimate`, quoteBody());
  const { payout, ...estimate } = estimateSchema.parse(body.estimate);
  assert.deepEqual(estimate, {
    betAmount: "100000000",
    multiplier: (Number(payout) / 100_000_000).toFixed(4),
    solverCollateral: (BigInt(payout) - 100_000_000n).toString(),
  });
  assert.ok(!JSON.stringify(body).includes("signature"));
});

Deno.test("quote solver, GET /health and GET /info: every field, with the documented limits", async () => {
  const { urls } = stack;
  const health = await get(`${urls.solver}/health`, z.unknown());
  assert.deepEqual(health, { status: "ok", solver, dryRun: false });
  const config = {
    basePayoutMultiplier: 1.5,
    maxPayoutRatio: 10,
    minBetAmount: "1",
    maxBetAmount: "1000000000000",
    minDuration: 1_000,
    maxDuration: 86_400_000,
  };
  // The solver asks for its balance once a second.
  const info = await eventually("the balance that the node has", async () => {
    const { balance } = Object((await rpc(urls.node, "core_getAccount", [solver])).result);
    const info = Object(await get(`${urls.solver}/info`, z.unknown()));
    return info.balance === balance ? info : undefined;
  });
  assert.deepEqual([info.address, info.dryRun, info.config], [solver, false, config]);
});

Deno.test("quote solver, States, failed: a failed transaction is recorded and opens no thesis", async () => {
  const wallet = await fundedWallet(stack.urls);
  // Only the node knows a rule against a window that has ended.
  const now = Date.now();
  const ended = { startTime: now - 120_000, endTime: now - 60_000 };
  const { status, body } = await post(
    `${stack.urls.solver}/execute`,
    await signedExecution(stack.urls.solver, wallet, 60_000, ended),
  );
  // A failed result carries the node's `error` beside (docs/protocol.md, "Transactions").
  const { status: result, txHash, thesisId } = resultSchema.parse(body.result);
  assert.deepEqual([status, body.success, result, thesisId], [200, true, "failed", undefined]);
  const receipt = Object((await rpc(stack.urls.node, "core_getTransaction", [txHash])).result);
  assert.equal(receipt.error.code, "INVALID_TIME_RANGE");
  assert.deepEqual(Object(body.result).error, receipt.error);
  assert.deepEqual(await thesesOf(wallet), []);
});

Deno.test(
  "quote solver, Authentication: the solver's signature is by its key, over the quote hash",
  async () => {
    const wallet = newWallet();
    const { body } = await post(`${stack.urls.solver}/quote`, quoteBody({ user: wallet.address }));
    const quote = Object(body.quote);
    const signed = { ...typedData(QUOTE_TYPE), message: termsOf(quote) };
    assert.equal(hashTypedData(signed), body.quoteHash);
    assert.equal(await recoverTypedDataAddress({ ...signed, signature: quote.signature }), solver);
    const described = await get(`${stack.urls.solver}/typed-data`, z.unknown());
    assert.deepEqual(described, typedData(QUOTE_TYPE));
  },
);
