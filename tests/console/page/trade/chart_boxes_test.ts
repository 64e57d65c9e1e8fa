import assert from "node:assert/strict";
import {
  betAt,
  type BoxKind,
  boxOfDraft,
  boxOfQuote,
  boxOfThesis,
  type ChartBox,
  countdownOf,
  groupsOf,
  nextToEnd,
  openBetsText,
  runText,
  stateOfBet,
  whereabouts,
} from "../../../../services/console/page/trade/chart_boxes.ts";
import { offerOf, thesisOf } from "../../support.ts";

const NOW_MS = 100_000;

const box = (kind: BoxKind, thesisId: number, toMs = NOW_MS): ChartBox => ({
  kind,
  thesisId,
  low: 10,
  high: 20,
  fromMs: 0,
  toMs,
  label: "",
});

const TERMS = { lowerPrice: 10_000_000n, upperPrice: 20_500_000n, betAmount: 5_000_000n };
const SIDES = { low: 10, high: 20.5 };

Deno.test("boxOfDraft, boxOfQuote, boxOfThesis: sides, times, and a label with the payout", () => {
  const draft = { ...TERMS, startsInMs: 3_000, durationMs: 15_000 };
  const ahead = { fromMs: NOW_MS + 3_000, toMs: NOW_MS + 18_000 };
  assert.deepEqual(boxOfDraft(draft, NOW_MS, "× 2"), {
    kind: "draft",
    ...SIDES,
    ...ahead,
    label: "× 2",
  });
  const terms = { ...TERMS, payout: 8_006_121n, startTime: 100, endTime: 1_100 };
  const times = { fromMs: 100, toMs: 1_100 };
  assert.deepEqual(boxOfQuote(offerOf(1, terms).quote), {
    kind: "quoted",
    ...SIDES,
    ...times,
    label: "quote: pays 8.00",
  });
  const breach = { time: 500, price: 9_500_000n };
  const lost = thesisOf(7, { ...terms, status: "lost", breach });
  assert.deepEqual(boxOfThesis(lost, 0), {
    kind: "lost",
    ...SIDES,
    ...times,
    label: "✕ −5.00",
    thesisId: 7,
    breach: { time: 500, price: 9.5 },
  });
  assert.equal(boxOfThesis({ ...lost, status: "open" }, 0).label, "✕ −5.00", "not settled yet");
  assert.equal(boxOfThesis(thesisOf(7, { ...terms, status: "won" }), 0).label, "✓ +3.006121");
  assert.equal(boxOfThesis(thesisOf(7, terms), 0).label, "● 7 pays 8.00");
  const states = [
    ["open", "open", "pays 8.00"],
    ["needs_backfill", "waiting", "waits for prices"],
    ["won", "won", "won +3.006121"],
  ] as const;
  for (const [status, kind, text] of states) {
    assert.deepEqual(stateOfBet(thesisOf(7, { ...terms, status }), 0), { kind, text });
  }
});

Deno.test("groupsOf: 200 boxes are grouped into one shape for each state, the user's own box on top", () => {
  const kinds = ["open", "won", "lost", "waiting"] as const;
  const boxes = Array.from({ length: 200 }, (_, index) => box(kinds[index % 4]!, index));
  const groups = groupsOf([box("draft", 999), ...boxes, box("quoted", 998)]);
  const order = ["lost", "won", "waiting", "open", "quoted", "draft"];
  assert.deepEqual(groups.map(({ kind }) => kind), order);
  assert.deepEqual(groups.map(({ boxes }) => boxes.length), [50, 50, 50, 50, 1, 1]);
});

Deno.test("betAt: finds the topmost bet at a point, edges included, and never the box being drawn", () => {
  const { thesisId: _, ...draft } = box("draft", 0);
  const boxes = [box("won", 1), box("open", 2), draft];
  for (const [time, price] of [[0, 10], [NOW_MS, 20], [500, 15]] as const) {
    assert.equal(betAt(boxes, time, price), 2);
  }
  for (const [time, price] of [[-1, 15], [NOW_MS + 1, 15], [5, 9], [5, 21]] as const) {
    assert.equal(betAt(boxes, time, price), undefined);
  }
  const lost: ChartBox = { ...box("lost", 3), breach: { time: 500, price: 9 } };
  assert.deepEqual([betAt([lost], 500, 15), betAt([lost], 501, 15)], [3, undefined]);
});

Deno.test("stateOfBet: a bet whose end has passed waits for prices, unless it is settled or breached", () => {
  const open = thesisOf(1, { startTime: 0, endTime: 1_000 });
  assert.equal(stateOfBet(open, 1_500).kind, "open", "it is being settled");
  assert.deepEqual(stateOfBet(open, 3_000), { kind: "waiting", text: "waits for prices" });
  assert.equal(stateOfBet(open, 3_000, true).text, "unknown until connected");
  assert.equal(boxOfThesis(open, 3_000, true).label, "… 1 unknown until connected");
  assert.equal(stateOfBet({ ...open, status: "needs_backfill" }, 0).kind, "waiting");
  assert.equal(stateOfBet({ ...open, breach: { time: 500, price: 3n } }, 3_000).kind, "lost");
  assert.equal(stateOfBet({ ...open, status: "won" }, 3_000).kind, "won");
});

Deno.test("nextToEnd: the open bet that ends first, without decided and ended bets", () => {
  const breach = { time: 1, price: 1n };
  const bets = [
    thesisOf(1, { endTime: 9_000 }),
    thesisOf(2, { endTime: 5_000 }),
    thesisOf(3, { endTime: 4_000, status: "won" }),
    thesisOf(4, { endTime: 4_000, breach }),
    thesisOf(5, { endTime: 3_000 }),
  ];
  assert.equal(nextToEnd(bets, 3_000)?.id, 2);
  assert.equal(nextToEnd(bets, 9_000), undefined);
});

Deno.test("openBetsText: several open bets are counted, with the one that ends next", () => {
  const bets = [thesisOf(1, { endTime: 9_000 }), thesisOf(2, { endTime: 8_000 })];
  const won = thesisOf(3, { status: "won", endTime: 7_000 });
  assert.equal(openBetsText([won], 3_000), undefined);
  assert.equal(openBetsText([won, bets[0]!], 3_000), countdownOf(bets[0]!, 3_000));
  assert.equal(openBetsText([won, ...bets], 3_001), "2 open bets: bet 2 ends next, in 5 s");
});

Deno.test("runText, countdownOf: a placed bet starts, runs for full seconds, and is settled", () => {
  const bet = thesisOf(3, { startTime: 10_000, endTime: 130_000, payout: 12_430_000n });
  assert.equal(countdownOf(bet, 7_001), "Bet 3: starts in 3 s, pays 12.43 USDC");
  const texts = [7_001, 10_000, 108_001, 130_000].map((nowMs) => runText(bet, nowMs));
  assert.deepEqual(texts, [
    "starts in 3 s",
    "2 min left",
    "22 s left",
    "being settled",
  ]);
  assert.equal(runText(bet, 130_000, true), "unknown until connected");
});

Deno.test("whereabouts: shows the distance of a price to the nearer edge, and its side", () => {
  const bet = thesisOf(1, { lowerPrice: 2_990_000_000n, upperPrice: 3_010_000_000n });
  const cases: [price: bigint, text: string][] = [
    [3_008_800_000n, "inside, 1.20 below the upper edge"],
    [2_990_000_000n, "inside, 0.00 above the lower edge"],
    [3_010_500_000n, "outside, 0.50 above the upper edge"],
    [2_989_000_000n, "outside, 1.00 below the lower edge"],
  ];
  for (const [price, text] of cases) assert.equal(whereabouts(bet, price), text);
});
