/** The solver on a whole stack: prices and theses reach it through the proxy. */
import assert from "node:assert/strict";
import { z } from "zod";
import { CoreClient } from "../../lib/net/core_client.ts";
import { hashDepositRequest } from "../../lib/protocol/hashes.ts";
import { FREE_PORTS, type StackUrls, startStack } from "../../services/stack/stack.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { CHAIN_ID, market, quoteRequest, signQuote, startTestSolver, user } from "./support.ts";
import { quoteSchema, quoteToWire } from "../../lib/protocol/quote.ts";

const viewSchema = z.object({ exposure: z.string(), complete: z.boolean(), count: z.number() });

async function viewOf(url: string) {
  return viewSchema.parse(await (await fetch(`${url}/theses`)).json());
}

async function fund(urls: StackUrls): Promise<void> {
  const terms = {
    user: user.address,
    amount: 100_000_000n,
    nonce: 1n,
    deadline: Date.now() + 30_000,
  };
  const signature = user.sign(hashDepositRequest(terms, CHAIN_ID));
  const body = { ...terms, amount: "100000000", nonce: "1", signature };
  await eventually("the deposit", async () => {
    const { status } = await post(`${urls.bridge}/deposit`, body);
    // A node that is late on a busy machine: the same request is sent again.
    if (status === 503) return undefined;
    assert.equal(status, 200);
    return true;
  });
}

Deno.test("Solver on a whole stack: barrier quotes live prices, executes, and follows its thesis to the end", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 3 });
  const { urls } = stack;
  await using solver = await startTestSolver({ url: urls.node, wsUrl: urls.proxyWs }, {
    pricing: "barrier",
    volatilityHistoryMs: 1_000,
    // The box below is too short for a user who is a second ahead.
    userLeadMs: 0,
    maxExposure: 1_000_000_000n,
  });
  await fund(urls);
  const node = new CoreClient({ url: urls.node });
  // A price that moves in between, or a box that is too safe or too risky at the time, spoils the
  // quote: another one is asked for.
  let refusal: unknown = "no price yet";
  const widths = [16_000n, 8_000n, 4_000n, 32_000n];
  const attempt = async (number: number) => {
    const { price } = (await node.getPrices())[market.symbol] ?? {};
    if (price === undefined) return undefined;
    const width = price / (widths[number % widths.length] ?? 1n);
    const now = Date.now();
    const offer = await post(
      `${solver.url}/quote`,
      quoteRequest({
        lowerPrice: (price - width).toString(),
        upperPrice: (price + width).toString(),
        startTime: now,
        endTime: now + 1_500,
      }),
    );
    refusal = offer.body;
    if (offer.status !== 200) return undefined;
    const { probability } = z.object({ probability: z.number().min(0).max(1) })
      .parse(offer.body.pricing);
    const quote = quoteToWire(quoteSchema.parse(offer.body.quote));
    const executed = await post(`${solver.url}/execute`, {
      quote,
      userSignature: signQuote(quote),
    });
    refusal = executed.body;
    return Object(executed.body.result).status === "committed" ? { quote, probability } : undefined;
  };
  let attempts = 0;
  const { quote, probability } = await eventually(
    "an executed quote by the model",
    () => attempt(attempts++),
  ).catch((cause) => {
    throw new Error(`The last answer was ${JSON.stringify(refusal)}`, { cause });
  });
  const risk = (BigInt(quote.payout) - BigInt(quote.betAmount)).toString();
  const open = await eventually("the thesis among its own", async () => {
    const view = await viewOf(solver.url);
    return view.count === 1 ? view : undefined;
  });
  assert.deepEqual(open, { exposure: risk, complete: true, count: 1 });
  await eventually("its settlement", async () => {
    const { count, exposure } = await viewOf(solver.url);
    return count === 0 && exposure === "0" ? true : undefined;
  });
  const { theses: [thesis] } = await node.getTheses({});
  const outcome = thesis?.status === "won" ? "held" : "left";
  await eventually("the outcome beside its prediction", async () => {
    const metrics = await (await fetch(`${solver.url}/metrics`)).text();
    const [, sum] =
      /^solver_predicted_probability_sum{predicted="[^"]+"} (?!0$)(.+)$/m.exec(metrics) ??
        [];
    if (sum === undefined) return undefined;
    assert.equal(Number(sum), probability);
    const bets = /^solver_predicted_bets_total{predicted="[^"]+",outcome="(.+)"} 1$/m.exec(
      metrics,
    );
    assert.equal(bets?.[1], outcome);
    return true;
  });
});
