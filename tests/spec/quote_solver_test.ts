/**
 * The quote solver document, against a whole stack: what it does, its states
 * and authentication. Errors and limits are in quote_solver_limits_test.ts, the tables of fields in
 * quote_solver_fields_test.ts.
 */
import assert from "node:assert/strict";
import { hashTypedData, recoverTypedDataAddress } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { SimulatedHedge } from "../../services/solver/execution/hedge.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { withSteppedNode } from "../node/support/stepped_node.ts";
import { FakeClock } from "../support/fake_clock.ts";
import {
  askQuote,
  endedWindow,
  QUOTE_TYPE,
  quoteBody,
  signedExecution,
  termsOf,
  withSolver,
} from "./quotes.ts";
import { fundedWallet, get, newWallet, PAIRS, rpc, sharedStack, typedData } from "./support.ts";

const stack = sharedStack();
const solver = DEV_ACCOUNTS.solver.address;

/** Theses that the node holds for a user. */
async function thesesOf(wallet: PrivateKeyAccount): Promise<Record<string, unknown>[]> {
  const { result } = await rpc(stack.urls.nodeRead, "core_getTheses", [{ user: wallet.address }]);
  return Object(result).theses;
}

Deno.test(
  "quote solver, What the service does, flow steps 1 to 6: quote, signature, execute, thesis",
  async () => {
    const wallet = await fundedWallet(stack.urls);
    const quote = await askQuote(stack.urls.solver, wallet);
    const userSignature = await wallet.signTypedData({
      ...typedData(QUOTE_TYPE),
      message: termsOf(quote),
    });
    const { status, body } = await post(`${stack.urls.solver}/execute`, { quote, userSignature });
    const { txHash, thesisId } = Object(body.result);
    assert.equal(status, 200, JSON.stringify(body));
    const receipt = Object((await rpc(stack.urls.node, "core_getTransaction", [txHash])).result);
    assert.deepEqual([receipt.status, receipt.thesisId], ["committed", thesisId]);
    const thesis = Object((await rpc(stack.urls.node, "core_getThesis", [thesisId])).result);
    assert.deepEqual(
      [thesis.user, thesis.solver, thesis.txHash, thesis.payout],
      [wallet.address, solver, txHash, quote.payout],
    );
  },
);

Deno.test(
  "quote solver, What the service does, flow step 4: the hedge is a simulated delay",
  async () => {
    const clock = new FakeClock();
    let covered = false;
    const cover = new SimulatedHedge(clock, 50).cover().then(() => covered = true);
    clock.advance(49);
    await Promise.resolve();
    assert.equal(covered, false);
    clock.advance(1);
    await cover;
  },
);

Deno.test("quote solver, What the service does, flow step 6: settlement needs no solver", () => {
  const wallet = newWallet();
  const balances = new Map([[wallet.address, 1_000_000_000n], [solver, 1_000_000_000n]]);
  return withSteppedNode(
    async ({ stepped, node, client }) => {
      const urls = { node: node.url, proxyWs: node.wsUrl };
      await withSolver(urls, {}, async (url) => {
        const body = await signedExecution(url, wallet, 10_000);
        assert.equal((await post(`${url}/execute`, body)).status, 200);
      });
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

for (const { symbol, base, quote } of PAIRS) {
  Deno.test(`quote solver, Supported pairs, ${symbol}: listed, quoted and estimated`, async () => {
    const pair = z.object({ symbol: z.string(), base: z.string(), quote: z.string() });
    const { pairs } = await get(
      `${stack.urls.solver}/pairs`,
      z.object({ pairs: z.array(pair) }),
    );
    assert.deepEqual(pairs.find((listed) => listed.symbol === symbol), { symbol, base, quote });
    const signed = await askQuote(stack.urls.solver, newWallet(), { base, quote });
    assert.deepEqual(signed.oraclePair, { base, quote });
    const estimate = await post(`${stack.urls.solver}/estimate`, quoteBody({ base, quote }));
    assert.equal(estimate.status, 200);
  });
}

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

Deno.test("quote solver, States, committed: a transaction is submitted and has a thesisId", async () => {
  const wallet = await fundedWallet(stack.urls);
  const { body } = await post(
    `${stack.urls.solver}/execute`,
    await signedExecution(stack.urls.solver, wallet),
  );
  assert.equal(Object(body.result).status, "committed");
  assert.deepEqual((await thesesOf(wallet)).map(({ id }) => id), [Object(body.result).thesisId]);
});

Deno.test("quote solver, States, failed: the transaction is recorded and opens no thesis", async () => {
  const wallet = await fundedWallet(stack.urls);
  // Only the node knows a rule against a window that has ended.
  const { status, body } = await post(
    `${stack.urls.solver}/execute`,
    await signedExecution(stack.urls.solver, wallet, 60_000, endedWindow()),
  );
  const { status: result, txHash } = Object(body.result);
  assert.deepEqual([status, body.success, result], [200, true, "failed"]);
  const receipt = Object((await rpc(stack.urls.node, "core_getTransaction", [txHash])).result);
  assert.equal(receipt.error.code, "INVALID_TIME_RANGE");
  assert.deepEqual(await thesesOf(wallet), []);
});

Deno.test("quote solver, States, deadline passed: rejected with a deadline message", async () => {
  const wallet = await fundedWallet(stack.urls);
  const late = await signedExecution(stack.urls.solver, wallet, 60_000, {
    deadline: Date.now() - 1,
  });
  await assertFailure(post(`${stack.urls.solver}/execute`, late), 400, /deadline .*passed/);
  assert.deepEqual(await thesesOf(wallet), []);
});

Deno.test(
  "quote solver, States, dry-run: quotes and estimates, execute is unavailable, no transaction",
  () =>
    withSolver(stack.urls, { dryRun: true }, async (url) => {
      const wallet = await fundedWallet(stack.urls);
      const body = await signedExecution(url, wallet);
      assert.equal((await post(`${url}/estimate`, quoteBody())).status, 200);
      await assertFailure(post(`${url}/execute`, body), 503, /dry-run/);
      assert.deepEqual(await thesesOf(wallet), []);
    }),
);

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

Deno.test(
  "quote solver, Authentication: a thesis needs the user's own signature, 65 bytes of it",
  async () => {
    const wallet = await fundedWallet(stack.urls);
    const { quote, userSignature } = await signedExecution(stack.urls.solver, wallet);
    const by = { ...typedData(QUOTE_TYPE), message: termsOf(quote) };
    const stranger = await newWallet().signTypedData(by);
    for (const wrong of [stranger, userSignature.slice(0, -2), `${userSignature}1b`, "0x"]) {
      const execution = { quote, userSignature: wrong };
      await assertFailure(post(`${stack.urls.solver}/execute`, execution), 401, /signature/i);
    }
    assert.deepEqual(await thesesOf(wallet), []);
    const { status } = await post(`${stack.urls.solver}/execute`, { quote, userSignature });
    assert.equal(status, 200);
  },
);

/** `RfqSubmit` as the node takes it (docs/protocol.md, "Transactions"). */
const RFQ_SUBMIT_TYPE =
  "Core:RfqSubmit(uint64 timestamp,address from,address user,string thesisType,address base,address quote,uint64 lowerPrice,uint64 upperPrice,uint64 betAmount,uint64 payout,uint64 startTime,uint64 endTime,uint64 deadline,bytes solverSignature,bytes userSignature)";

const solverWallet = privateKeyToAccount(DEV_ACCOUNTS.solver.privateKey);
for (
  const [what, sender, signsForUser, code] of [
    ["sender other than the quote's signer", newWallet(), undefined, "QUOTE_SIGNER_MISMATCH"],
    ["user signature by another", solverWallet, newWallet(), "USER_SIGNATURE_INVALID"],
    ["sender and user as they should be", solverWallet, undefined, undefined],
  ] as const
) {
  Deno.test(`quote solver, Authentication, core node: ${what}: ${code ?? "committed"}`, async () => {
    const wallet = await fundedWallet(stack.urls);
    const { quote } = await signedExecution(stack.urls.solver, wallet);
    const terms = termsOf(quote);
    const userSignature = await (signsForUser ?? wallet).signTypedData({
      ...typedData(QUOTE_TYPE),
      message: terms,
    });
    const message = {
      timestamp: Date.now(),
      from: sender.address,
      ...terms,
      solverSignature: quote.signature,
      userSignature,
    };
    const signature = await sender.signTypedData({ ...typedData(RFQ_SUBMIT_TYPE), message });
    const tx = { type: "RfqSubmit", ...message, signature };
    const { result } = await rpc(stack.urls.node, "core_sendTransaction", [tx]);
    assert.equal(Object(result).error?.code, code);
    assert.equal(Object(result).txHash, hashTypedData({ ...typedData(RFQ_SUBMIT_TYPE), message }));
  });
}
