import assert from "node:assert/strict";
import { pagesOf } from "../../../lib/net/core_reader.ts";

/** Pages 0 to `last`, each naming the next one as its cursor. */
function book(last: number) {
  const cursors: (string | undefined)[] = [];
  const read = (cursor: string | undefined) => {
    cursors.push(cursor);
    const page = Number(cursor ?? 0);
    return Promise.resolve({ page, nextCursor: page === last ? null : String(page + 1) });
  };
  return { cursors, read };
}

Deno.test("pagesOf: reads from the first page to the one without a next cursor", async () => {
  for (const last of [0, 1, 3]) {
    const { cursors, read } = book(last);
    const pages = await Array.fromAsync(pagesOf(read), ({ page }) => page);
    assert.deepEqual(pages, Array.from({ length: last + 1 }, (_, page) => page));
    assert.deepEqual(cursors, [undefined, ...pages.slice(1).map(String)]);
  }
});

Deno.test("pagesOf: reads no more pages than it is allowed to", async () => {
  const { cursors, read } = book(9);
  assert.equal((await Array.fromAsync(pagesOf(read, 3))).length, 3);
  assert.equal(cursors.length, 3);
});
