import assert from "node:assert/strict";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { thesesAnswerSchema, thesesQuerySchema, viewTheses } from "../../services/solver/theses.ts";

Deno.test("Theses: by default a page begins at the first thesis and has a hundred", () => {
  assert.deepEqual(thesesQuerySchema.parse({}), { limit: 100, cursor: 0 });
  const query = { limit: "1000", cursor: "5" };
  assert.deepEqual(thesesQuerySchema.parse(query), { limit: 1_000, cursor: 5 });
});

Deno.test("Theses: an answer has every field", () => {
  const answer = viewTheses(new ExposureBook(undefined), { limit: 1, cursor: 0 });
  for (const name of Object.keys(answer)) {
    const { [name as "count"]: _, ...rest } = answer;
    assert.equal(thesesAnswerSchema.safeParse(rest).success, false, name);
  }
  for (const count of [-1, 0.5]) {
    assert.equal(thesesAnswerSchema.safeParse({ ...answer, count }).success, false);
  }
});
