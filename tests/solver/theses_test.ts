import assert from "node:assert/strict";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { thesesAnswerSchema, thesesQuerySchema, viewTheses } from "../../services/solver/theses.ts";
import { quoteHashOf, stakeOf, thesisOf } from "./theses.ts";

Deno.test("Theses: a page has the theses after its cursor, and the exposure of all", () => {
  const book = new ExposureBook(99n);
  const pageOf = (cursor: number) => {
    const { theses, nextCursor, ...rest } = viewTheses(book, { limit: 2, cursor });
    return { ids: theses.map(({ id }) => id), nextCursor, ...rest };
  };
  book.reserve(quoteHashOf(9), stakeOf(7n));
  const empty = { exposure: "7", maxExposure: "99", complete: false, count: 0 };
  assert.deepEqual(pageOf(0), { ids: [], nextCursor: null, ...empty });
  book.beginReading();
  book.endReading([1, 2, 3].map((id) => thesisOf(id)));
  const all = { exposure: "37", maxExposure: "99", complete: true, count: 3 };
  assert.deepEqual(pageOf(0), { ids: [1, 2], nextCursor: "2", ...all });
  assert.deepEqual(pageOf(2), { ids: [3], nextCursor: null, ...all });
  const view = viewTheses(new ExposureBook(undefined), { limit: 2, cursor: 0 });
  assert.equal(view.maxExposure, null);
  thesesAnswerSchema.parse(view);
  assert.deepEqual(thesesAnswerSchema.parse(viewTheses(book, { limit: 9, cursor: 2 })).theses, [
    thesisOf(3),
  ]);
});

Deno.test("Theses: by default a page begins at the first thesis and has a hundred, at most a thousand", () => {
  assert.deepEqual(thesesQuerySchema.parse({}), { limit: 100, cursor: 0 });
  const query = { limit: "1000", cursor: "5" };
  assert.deepEqual(thesesQuerySchema.parse(query), { limit: 1_000, cursor: 5 });
  assert.equal(thesesQuerySchema.safeParse({ limit: "1001" }).success, false);
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
