/** The quoted probabilities that a maker compares with outcomes. */
import assert from "node:assert/strict";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import {
  encodeExecution,
  executionRequestSchema,
} from "../../services/solver/execution/execution.ts";
import {
  predictionsAnswerSchema,
  predictionsQuerySchema,
  viewPredictions,
} from "../../services/solver/predictions.ts";
import { newIntent } from "../support/intents.ts";
import { execution, withSolver } from "./support.ts";

Deno.test("GET /predictions: lists the quoted probabilities by quote hash, page by page, without unknown ones", () =>
  withSolver(async ({ url }) => {
    const signed = executionRequestSchema.parse(await execution(url));
    const quote = { ...signed.quote, solver: signed.quote.solver ?? assert.fail() };
    await using store = new IntentStore(SqliteDriver.open(":memory:"), "solver");
    const hashes = [1, 2, 3, 4].map((n) => `0x${n.toString().repeat(64)}`);
    for (const [index, probability] of [0.25, undefined, 0.5, 1].entries()) {
      const payload = encodeExecution({ ...signed, quote }, probability);
      await store.insert(newIntent(hashes[index] ?? "", { payload }));
    }
    const pages = [];
    for (let cursor: string | null = "0"; cursor !== null;) {
      const answer: Awaited<ReturnType<typeof viewPredictions>> = await viewPredictions(
        store,
        predictionsQuerySchema.parse({ limit: "2", cursor }),
      );
      predictionsAnswerSchema.parse(answer);
      pages.push(answer.predictions.map(({ quoteHash, probability }) => [quoteHash, probability]));
      cursor = answer.nextCursor;
    }
    assert.deepEqual(pages, [[[hashes[0], 0.25]], [[hashes[2], 0.5], [hashes[3], 1]], []]);
    const answer = await (await fetch(`${url}/predictions`)).json();
    assert.deepEqual(answer, { predictions: [], nextCursor: null }, "the mock has none");
  }));
