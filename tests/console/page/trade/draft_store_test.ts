import assert from "node:assert/strict";
import { SPAN_MAX_MS } from "../../../../services/console/page/trade/chart_spans.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryStore } from "../../support.ts";

Deno.test("DraftStore: a draft is kept for an hour; stored text of another form is ignored", () => {
  const clock = new FakeClock(0);
  const store = memoryStore();
  const drafts = new DraftStore(store, clock);
  assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["", undefined]);
  const fields = { lower: "1", upper: "2", startsIn: "3 s", lasts: "15 s", amount: "10" };
  drafts.keep("A/B", fields);
  drafts.keep("C/D", { ...fields, lower: "0.5" });
  assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["C/D", fields]);
  clock.advance(3_599_999);
  assert.deepEqual(drafts.of("A/B"), fields);
  clock.advance(1);
  assert.equal(drafts.of("A/B"), undefined);
  for (const text of ["no JSON", "{}", '{"symbol":"A/B","drafts":{"A/B":{"atMs":0}}}']) {
    store.setItem("rangemaker.drafts", text);
    assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["", undefined], text);
  }
});

Deno.test("DraftStore: the time shown survives a reload, for each market, within its bounds", () => {
  const store = memoryStore();
  const opened = () => new DraftStore(store, { now: () => 0 });
  opened().keepSpan("ETH/USDT", 120_000);
  opened().keepSpan("BTC/USDT", 9e9);
  opened().keep("ETH/USDT", { lower: "1", upper: "2", startsIn: "3", lasts: "4", amount: "5" });
  const spans = ["ETH/USDT", "BTC/USDT", "SOL/USDT"].map((symbol) => opened().spanOf(symbol));
  assert.deepEqual(spans, [120_000, SPAN_MAX_MS, 60_000]);
});
