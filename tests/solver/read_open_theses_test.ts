import { decodeBet } from "../../services/solver/execution/execution.ts";
import assert from "node:assert/strict";
import type { ThesisFilter } from "../../lib/net/core_reader.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { readOpenTheses } from "../../services/solver/follow_node.ts";
import { solver, thesisOf } from "./support.ts";

/** A node with theses, two in each answer. */
function nodeWith(theses: readonly Thesis[]) {
  const filters: ThesisFilter[] = [];
  const getTheses = (filter: ThesisFilter) => {
    filters.push(filter);
    const from = Number(filter.cursor ?? 0);
    const all = theses.filter(({ id, status }) => status === filter.status && id > from);
    const page = all.slice(0, 2);
    const nextCursor = all.length > 2 ? String(page.at(-1)?.id) : null;
    return Promise.resolve({ theses: page, nextCursor });
  };
  return { filters, node: { getTheses } };
}

Deno.test("readOpenTheses: reads open theses and those without prices, page by page", async () => {
  const { node, filters } = nodeWith([
    ...[1, 2, 3, 4, 5].map((id) => thesisOf(id)),
    thesisOf(6, { status: "needs_backfill" }),
    thesisOf(7, { status: "won" }),
  ]);
  const book = new ExposureBook(undefined, decodeBet);
  await readOpenTheses(book, node, solver.address, new AbortController().signal);
  assert.deepEqual(book.theses.map(({ id }) => id), [1, 2, 3, 4, 5, 6]);
  assert.equal(book.isComplete, true);
  const asked = filters.map(({ solver, limit, status }) => [solver, limit, status]);
  const [open, waiting] = ["open", "needs_backfill"].map((
    status,
  ) => [solver.address, 1_000, status]);
  assert.deepEqual(asked, [open, open, open, waiting]);
});

Deno.test("readOpenTheses: answers of a lost connection are ignored", async () => {
  const book = new ExposureBook(undefined, decodeBet);
  const { node } = nodeWith([thesisOf(1)]);
  const connection = new AbortController();
  const reading = readOpenTheses(book, node, solver.address, connection.signal);
  connection.abort();
  book.invalidate();
  await reading;
  assert.deepEqual([book.isComplete, book.theses], [false, []]);
});
