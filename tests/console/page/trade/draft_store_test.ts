import assert from "node:assert/strict";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryStore } from "../../support.ts";

Deno.test("DraftStore: a draft is kept for an hour; stored text of another form is ignored", () => {
  const clock = new FakeClock(0);
  const store = memoryStore();
  const drafts = new DraftStore(store, clock);
  assert.deepEqual([drafts.symbol, drafts.readDraft("A/B")], ["", undefined]);
  const fields = { lower: "1", upper: "2", startsIn: "3 s", lasts: "15 s", amount: "10" };
  drafts.keep("A/B", fields);
  drafts.keep("C/D", { ...fields, lower: "0.5" });
  assert.deepEqual([drafts.symbol, drafts.readDraft("A/B")], ["C/D", fields]);
  clock.advance(3_599_999);
  assert.deepEqual(drafts.readDraft("A/B"), fields);
  clock.advance(1);
  assert.equal(drafts.readDraft("A/B"), undefined);
  for (const text of ["no JSON", "{}", '{"symbol":7,"drafts":{}}']) {
    store.setItem("rangemaker.drafts", text);
    assert.deepEqual([drafts.symbol, drafts.readDraft("A/B")], ["", undefined], text);
  }
});

Deno.test("DraftStore: a text that is too long for a field costs neither the tolerance nor other boxes", () => {
  const drafts = new DraftStore(memoryStore(), new FakeClock(0));
  const fields = { lower: "1", upper: "2", startsIn: "3 s", lasts: "15 s", amount: "10" };
  drafts.tolerancePercent = 0;
  drafts.keep("A/B", fields);
  drafts.keep("C/D", { ...fields, lower: "1".repeat(41) });
  assert.deepEqual([drafts.tolerancePercent, drafts.readDraft("A/B"), drafts.readDraft("C/D")], [
    0,
    fields,
    undefined,
  ]);
});

Deno.test("DraftStore: a kept box does not keep the default of the tolerance", () => {
  const store = memoryStore();
  const drafts = new DraftStore(store, new FakeClock(0));
  drafts.keep("A/B", { lower: "1", upper: "2", startsIn: "3 s", lasts: "15 s", amount: "10" });
  assert.equal(drafts.tolerancePercent, 15);
  assert(!store.getItem("rangemaker.drafts")?.includes("tolerance"));
});
