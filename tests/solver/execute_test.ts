import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { openIntentStore } from "../../lib/intents/open.ts";
import {
  encodeExecution,
  executionRequestSchema,
} from "../../services/solver/execution/execution.ts";
import { assertFailure, post, withField } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { ConnectionLost } from "../support/fake_node.ts";
import {
  askQuote,
  CHAIN_ID,
  execution,
  quoteRequest,
  signQuote,
  solver,
  startTestSolver,
  user,
  withSolver,
} from "./support.ts";

Deno.test("Execute: a signed quote is committed, and the same quote gives the first result", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url);
    const first = await post(`${url}/execute`, body);
    const receipt = node.committed[0];
    assert.deepEqual(first.body, {
      success: true,
      result: { txHash: receipt?.txHash, status: "committed", thesisId: receipt?.thesisId },
    });
    assert.deepEqual(await post(`${url}/execute`, body), first);
    assert.equal(node.received.length, 1);
  }));

Deno.test("Execute: two equal requests at once are one submission with the same result", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url);
    const [one, two] = await Promise.all([1, 2].map(() => post(`${url}/execute`, body)));
    assert.equal(one?.status, 200);
    assert.deepEqual(one, two);
    assert.equal(node.received.length, 1);
    // The checks are made once, too: a failure of the other would release what this one reserved.
    assert.equal(node.calls.get("core_getAccount"), 3, "the solver's at start, and both accounts");
  }, { hedgeDelayMs: 20 }));

Deno.test("Execute: a quote that names no solver is taken for its own, another solver's is refused", () =>
  withSolver(async ({ url }, node) => {
    const { quote: { solver: _own, ...unnamed }, userSignature } = await execution(url);
    const stranger = new Signer(DEV_ACCOUNTS.relayer.privateKey);
    const terms = quoteSchema.parse({ ...unnamed, solver: stranger.address });
    const foreign = { ...unnamed, solver: stranger.address };
    for (const signature of [unnamed.signature, stranger.sign(hashQuote(terms, CHAIN_ID))]) {
      const body = { quote: { ...foreign, signature }, userSignature };
      await assertFailure(post(`${url}/execute`, body), 401, /^Quote signature/);
    }
    assert.equal(node.received.length, 0);
    const own = await post(`${url}/execute`, { quote: unnamed, userSignature });
    assert.equal(own.status, 200, JSON.stringify(own.body));
    assert.equal(node.received.length, 1);
  }));

Deno.test("Execute: after a restart, stored executions past their deadline or over --max-risk fail unhedged and are not sent", async () => {
  const folder = await Deno.makeTempDir();
  const database = `${folder}/solver.sqlite`;
  const bets = { late: { deadline: Date.now() - 60_000 }, risky: { betAmount: "100000000" } };
  try {
    const store = await openIntentStore(database, "solver");
    await withSolver(async ({ url }) => {
      for (const given of Object.values(bets)) {
        const { quote, userSignature } = executionRequestSchema.parse(await execution(url, given));
        const body = { quote: { ...quote, solver: solver.address }, userSignature };
        await store.insert({
          key: hashQuote(body.quote, CHAIN_ID),
          subject: user.address,
          payload: encodeExecution(body),
          transaction: null,
          expiresAtMs: body.quote.deadline,
          createdAtMs: Date.now(),
        });
      }
    });
    await store.close();
    await withSolver(async ({ url }, node) => {
      const metrics = await eventually("both failed", async () => {
        const text = await (await fetch(`${url}/metrics`)).text();
        return /^solver_executions_total\{outcome="failed"\} 2$/m.test(text) ? text : undefined;
      });
      assert.doesNotMatch(metrics, /^solver_hedge_seconds_count\S* [1-9]/m);
      assert.match(metrics, /^solver_exposure\S* 0$/m);
      assert.equal(node.received.length, 0);
    }, { database, maxRisk: 1n });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Execute: a failed receipt is a result, with the node's error", () =>
  withSolver(async ({ url }, node) => {
    node.refusal = "INSUFFICIENT_BALANCE";
    const { status, body } = await post(`${url}/execute`, await execution(url));
    assert.equal(status, 200);
    const result = body.result as Record<string, unknown>;
    assert.equal(result.status, "failed");
    assert.deepEqual(result.error, {
      code: "INSUFFICIENT_BALANCE",
      message: "Refused by the test: do as it says",
    });
  }));

Deno.test("Execute: a deadline that passed is refused with a message saying so", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url, { deadline: Date.now() - 1 });
    await assertFailure(
      post(`${url}/execute`, body),
      400,
      /^Quote deadline \d+ passed \d+ ms ago; request a new quote$/,
    );
    assert.equal(node.received.length, 0);
  }));

Deno.test("Execute: a deadline that comes before the hedge is over is refused, and says by how much", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url, { deadline: Date.now() + 60_000 });
    const words =
      /^Quote deadline \d+ is \d+ ms away: an execution takes 60001 ms, \d+ ms too long; request a quote with a later deadline$/;
    await assertFailure(post(`${url}/execute`, body), 400, words);
    assert.equal(node.received.length, 0);
  }, { hedgeDelayMs: 60_001 }));

Deno.test("Execute: an altered quote or another signer is refused with digest and addresses", () =>
  withSolver(async ({ url }, node) => {
    const good = await execution(url);
    const altered = withField(good, "quote.payout", "99999999");
    await assertFailure(
      post(`${url}/execute`, altered),
      401,
      new RegExp(`^Quote signature is by another key: .*expected ${solver.address}$`),
    );
    const quote = quoteSchema.parse(good.quote);
    await assertFailure(
      post(`${url}/execute`, { ...good, userSignature: signQuote(good.quote, solver) }),
      401,
      `User signature is by another key: checked digest ${hashQuote(quote, CHAIN_ID)}, ` +
        `recovered ${solver.address}, expected ${quote.user}`,
    );
    await assertFailure(post(`${url}/execute`, { ...good, userSignature: "0x11" }), 401, "1 bytes");
    assert.equal(node.received.length, 0);
  }));

Deno.test("Execute: --max-risk bounds payout minus bet of a quote that an earlier run signed", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url);
    await using careful = await startTestSolver(node, { maxRisk: 10n });
    await assertFailure(post(`${careful.url}/execute`, body), 400, "above 0.00001 USDC");
    assert.equal(node.received.length, 0);
  }));

Deno.test("Execute: a balance too low for what is at risk is refused, and says by how much", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url);
    const quote = quoteSchema.parse(body.quote);
    const risk = quote.payout - quote.betAmount;
    node.credited.set(solver.address, risk - 1n);
    const answer = await post(`${url}/execute`, body);
    await assertFailure(
      Promise.resolve(answer),
      503,
      /^Solver balance of \S+ USDC is 0.000001 USDC short/,
    );
    const details = { balance: `${risk - 1n}`, needed: `${risk}`, missing: "1" };
    assert.deepEqual(answer.body.details, details);
    node.credited.set(solver.address, risk);
    assert.equal((await post(`${url}/execute`, body)).status, 200);
  }));

Deno.test("Execute: dry-run quotes and estimates but answers 503 to execute", () =>
  withSolver(async ({ url }, node) => {
    assert.equal((await post(`${url}/estimate`, quoteRequest())).status, 200);
    const body = await execution(url);
    await assertFailure(post(`${url}/execute`, body), 503, /dry-run/);
    await assertFailure(post(`${url}/execute`, "{"), 503, /dry-run/);
    assert.equal((await (await fetch(`${url}/health`)).json()).dryRun, true);
    assert.equal(node.received.length, 0);
  }, { dryRun: true }));

Deno.test("Execute: a stale price, a paused node and an absent one are 503 and record nothing", () =>
  withSolver(async ({ url }, node) => {
    const body = await execution(url);
    node.priceState = "stale";
    await assertFailure(post(`${url}/execute`, body), 503, /no fresh price of ETH\/USDT/);
    node.paused = true;
    await assertFailure(post(`${url}/execute`, body), 503, /paused/);
    node.paused = false;
    node.priceState = "fresh";
    // The last answer about the chain, a failure, is remembered for 100 ms.
    await eventually("the same request succeeds", async () => {
      const { status } = await post(`${url}/execute`, body);
      return status === 200 || undefined;
    });
    assert.equal(node.received.length, 1);
  }));

Deno.test("Execute: a node that cannot be reached is 503", () =>
  withSolver(async ({ url }) => {
    const quote = await askQuote(url);
    const body = { quote, userSignature: signQuote(quote) };
    await assertFailure(post(`${url}/execute`, body), 503, /cannot be reached/);
  }, { rpcUrl: "http://127.0.0.1:9" }));

Deno.test("Execute: a lost answer is looked up before anything is called unknown", () =>
  withSolver(async ({ url }, node) => {
    node.behaviour = (apply) => {
      apply();
      throw new ConnectionLost("answer lost by the test");
    };
    assert.equal((await post(`${url}/execute`, await execution(url))).status, 200);
    assert.equal(node.received.length, 1);
  }));

Deno.test("Execute: without an answer it is 504, and asking again gives the one result", () =>
  withSolver(async ({ url }, node) => {
    node.behaviour = () => {
      throw new ConnectionLost("request lost by the test");
    };
    const body = await execution(url);
    await assertFailure(post(`${url}/execute`, body), 504, /may be sent again/);
    node.behaviour = (apply) => apply();
    assert.equal((await post(`${url}/execute`, body)).status, 200);
    assert.equal(node.committed.length, 1);
    assert.equal(new Set(node.received).size, 1, "what is sent again is the same bytes");
  }));

Deno.test("Execute: a user without the money is refused before anything is recorded or hedged", () =>
  withSolver(async ({ url }, node) => {
    node.credited.delete(user.address);
    const body = await execution(url);
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = await post(`${url}/execute`, body);
      await assertFailure(
        Promise.resolve(answer),
        400,
        /^Balance of 0 USDC of user 0x\w{40} is 10 USDC short of the bet of 10 USDC: deposit first/,
      );
      assert.equal(answer.body.code, "INSUFFICIENT_BALANCE");
      const [balance, missing] = ["0", "10000000"];
      const facts = { user: user.address, balance, betAmount: missing, reserved: "0", missing };
      assert.deepEqual(answer.body.details, facts);
    }
    assert.equal(node.received.length, 0);
    const { exposure } = await (await fetch(`${url}/theses`)).json();
    assert.equal(exposure, "0");
    const metrics = await (await fetch(`${url}/metrics`)).text();
    assert.doesNotMatch(metrics, /^solver_hedge_seconds_count\S* [1-9]/m);
    node.credited.set(user.address, 10_000_000n);
    assert.equal((await post(`${url}/execute`, body)).status, 200, "after a deposit it is good");
  }));
