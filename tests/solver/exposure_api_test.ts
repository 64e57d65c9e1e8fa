import { decodeBet } from "../../services/solver/execution/execution.ts";
import { toWire } from "../../lib/protocol/scalars.ts";
import assert from "node:assert/strict";
import { z } from "zod";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { thesesAnswerSchema, thesesQuerySchema, viewTheses } from "../../services/solver/theses.ts";
import { post, seriesIn } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/files.ts";
import { ConnectionLost } from "../support/fake_node.ts";
import { CHAIN_ID, execution, withSolver } from "./support.ts";
import { thesisOf } from "./theses.ts";

const viewSchema = z.strictObject({
  exposure: z.string().transform(BigInt),
  executing: z.string().transform(BigInt),
  maxExposure: z.string().transform(BigInt).nullable(),
  complete: z.boolean(),
  count: z.number(),
  theses: z.array(z.unknown()),
  nextCursor: z.string().nullable(),
});

async function viewOf(url: string, query = ""): Promise<z.output<typeof viewSchema>> {
  return viewSchema.parse(await (await fetch(`${url}/theses${query}`)).json());
}

/** Resolves once the solver knows all its theses. */
function untilComplete(url: string): Promise<unknown> {
  return eventually("all open theses known", async () => (await viewOf(url)).complete || undefined);
}

function riskOf(body: { quote: unknown }): bigint {
  const { payout, betAmount } = quoteSchema.parse(body.quote);
  return payout - betAmount;
}

/** The thesis that an execution opened, as the node reports it. */
function openedBy(body: { quote: unknown }, id: number): Thesis {
  const quote = quoteSchema.parse(body.quote);
  const { payout, betAmount } = quote;
  return thesisOf(id, { payout, betAmount, quoteHash: hashQuote(quote, CHAIN_ID) });
}

/** Three bets of 100 USDC can lose 15 to 30 USDC: more than two do not always fit. */
const BOUND = 21_000_000n;
const BET = { betAmount: "100000000" };

Deno.test("Solver: GET /theses lists own open theses and the exposure, page by page", () =>
  withSolver(async ({ url }, node) => {
    await untilComplete(url);
    const none = {
      exposure: 0n,
      executing: 0n,
      maxExposure: null,
      complete: true,
      count: 0,
      theses: [],
    };
    assert.deepEqual(await viewOf(url), { ...none, nextCursor: null });
    for (const id of [1, 2, 3]) node.feed.publish("theses", toWire(thesisOf(id)));
    const first = await eventually("three theses", async () => {
      const view = await viewOf(url, "?limit=2");
      return view.count === 3 ? view : undefined;
    });
    assert.equal(first.exposure, 30n);
    assert.deepEqual(first.theses, [1, 2].map((id) => toWire(thesisOf(id))));
    assert.equal(first.nextCursor, "2");
    const second = await viewOf(url, `?limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([second.theses, second.nextCursor], [[toWire(thesisOf(3))], null]);
  }));

Deno.test("Solver: exposure is released when the submission fails, and when the thesis settles", () =>
  withSolver(async ({ url }, node) => {
    await untilComplete(url);
    node.refusal = "ORACLE_STALE";
    for (let n = 0; n < 6; n++) {
      assert.equal((await post(`${url}/execute`, await execution(url, BET))).status, 200);
    }
    assert.equal((await viewOf(url)).exposure, 0n);
    node.refusal = undefined;
    const body = await execution(url, BET);
    assert.equal((await post(`${url}/execute`, body)).status, 200);
    const { exposure, executing } = await viewOf(url);
    assert.deepEqual([exposure, executing], [riskOf(body), riskOf(body)]);
    // The node knows the thesis by the hash of its quote.
    const thesis = openedBy(body, 1);
    node.feed.publish("theses", toWire(thesis));
    await eventually("the thesis", async () => (await viewOf(url)).count === 1 || undefined);
    const opened = await viewOf(url);
    assert.deepEqual([opened.exposure, opened.executing], [riskOf(body), 0n]);
    node.feed.publish("theses", toWire({ ...thesis, status: "lost" }));
    await eventually("the settlement", async () => (await viewOf(url)).count === 0 || undefined);
    assert.equal((await viewOf(url)).exposure, 0n);
    const large = await execution(url, { betAmount: "1000000000" });
    assert.equal((await post(`${url}/execute`, large)).body.code, "EXPOSURE_TOO_LARGE");
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const refused = seriesIn(metrics, "solver_refused_risk_usdc_total");
    assert.equal(refused, Number(riskOf(large)) / 1e6);
  }, { maxExposure: BOUND }));

Deno.test("Solver: unfinished executions of the last run are included in the exposure from the start", () =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    let risk = 0n;
    await withSolver(async ({ url }, node) => {
      node.behaviour = () => {
        node.down = true;
        throw new ConnectionLost("The node dies");
      };
      const body = await execution(url, BET);
      risk = riskOf(body);
      assert.equal((await post(`${url}/execute`, body)).body.code, "OUTCOME_UNKNOWN");
      assert.equal((await viewOf(url)).exposure, risk);
    }, { database });
    await withSolver(
      async ({ url }, node) => {
        assert.equal((await viewOf(url)).exposure, risk);
        await eventually("the execution taken up", () => node.committed[0]);
        assert.equal((await viewOf(url)).exposure, risk);
        // A list read after the commit that lacks the thesis would mean that it has settled.
      },
      { database, maxExposure: 1n },
      (node) => node.methods.delete("core_getTheses"),
    );
  }));

Deno.test("Theses: a page defaults to the first hundred theses", () => {
  assert.deepEqual(thesesQuerySchema.parse({}), { limit: 100, cursor: 0 });
  const query = { limit: "1000", cursor: "5" };
  assert.deepEqual(thesesQuerySchema.parse(query), { limit: 1_000, cursor: 5 });
});

Deno.test("Theses: an answer has every field", () => {
  const answer = viewTheses(new ExposureBook(undefined, decodeBet), { limit: 1, cursor: 0 });
  for (const name of Object.keys(answer)) {
    const { [name as "count"]: _, ...rest } = answer;
    assert.equal(thesesAnswerSchema.safeParse(rest).success, false, name);
  }
  for (const count of [-1, 0.5]) {
    assert.equal(thesesAnswerSchema.safeParse({ ...answer, count }).success, false);
  }
});
