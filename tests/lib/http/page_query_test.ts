import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { describeIssue } from "../../../lib/protocol/describe_input.ts";
import { cursorSchema, cutPage, limitSchema, type PageOf } from "../../../lib/http/page_query.ts";

const querySchema = z.object({ limit: limitSchema(100, 50), cursor: cursorSchema.optional() });

Deno.test("limitSchema: accepts 1 to the maximum, with a default", () => {
  assert.deepEqual(querySchema.parse({}), { limit: 50 });
  fc.assert(fc.property(fc.integer({ min: -10, max: 200 }), (limit) => {
    const parsed = querySchema.safeParse({ limit: String(limit) });
    assert.equal(parsed.success, limit >= 1 && limit <= 100);
    if (parsed.success) assert.equal(parsed.data.limit, limit);
  }));
});

for (const limit of ["", " 1", "1.0", "1e1", "0x10", "+1", "9".repeat(400), "ten"]) {
  Deno.test(`limitSchema: ${limit.slice(0, 20)} is refused with the rule it breaks`, () => {
    const { error } = querySchema.safeParse({ limit });
    assert.equal(error && describeIssue(error), "limit: Expected 1 to 100");
  });
}

Deno.test("cursorSchema: parses a whole number", () => {
  assert.equal(querySchema.parse({ cursor: "42" }).cursor, 42);
  for (const cursor of ["", "-1", "1.5", "9".repeat(16), "next"]) {
    const { error } = querySchema.safeParse({ cursor });
    assert.equal(error && describeIssue(error), "cursor: Expected the nextCursor of an answer");
  }
});

Deno.test("cutPage: the pages contain all items, and a page is empty only for an empty list", () => {
  fc.assert(fc.property(fc.nat(20), fc.integer({ min: 1, max: 8 }), (count, limit) => {
    const all = Array.from({ length: count }, (_, index) => 3 * index + 1);
    const seen: number[] = [];
    let cursor: string | null = "0";
    for (let pages = 0; cursor !== null; pages++) {
      const from = Number(cursor);
      const page: PageOf<number> = cutPage(all.filter((id) => id > from), limit, (id) => id);
      assert(page.items.length <= limit && (page.items.length > 0 || pages === 0));
      seen.push(...page.items);
      cursor = page.nextCursor;
    }
    assert.deepEqual(seen, all);
  }));
});

Deno.test("cutPage: reads only one match beyond the page", () => {
  let read = 0;
  function* matches() {
    for (;;) yield read += 1;
  }
  assert.deepEqual(cutPage(matches(), 3, (id) => id), { items: [1, 2, 3], nextCursor: "3" });
  assert.equal(read, 4);
});
