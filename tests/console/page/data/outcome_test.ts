import assert from "node:assert/strict";
import {
  betsOn,
  gainOf,
  isDecided,
  outcomeDetail,
  outcomeText,
  placedText,
} from "../../../../services/console/page/data/outcome.ts";
import { earningsOf, profitHistory } from "../../../../services/console/page/maker/earnings.ts";
import { boxOfThesis, stateOfBet } from "../../../../services/console/page/trade/chart_boxes.ts";
import { openBet as open, OTHER, thesisOf, USER } from "../../support.ts";

Deno.test("outcomeText: for a lost bet, it names the price of the breach and the edge that was crossed", () => {
  const bet = { ...open, betAmount: 10_000_000n, payout: 12_000_000n };
  assert.equal(outcomeText({ ...bet, status: "won" }), "Bet 1 won 2.00 USDC: 12.00 paid out.");
  const sides = { lowerPrice: 2_990_000_000n, upperPrice: 3_010_000_000n };
  const textAt = (price: bigint) => outcomeText({ ...bet, ...sides, breach: { time: 0, price } });
  const lost = "Bet 1 lost: 10.00 USDC.";
  assert.equal(textAt(2_989_380_000n), `${lost} The price fell to 2,989.38, below 2,990.00.`);
  assert.equal(textAt(3_010_500_000n), `${lost} The price rose to 3,010.50, above 3,010.00.`);
  assert.equal(
    textAt(2_989_999_900n),
    `${lost} The price fell to 2,989.9999, below 2,990.0000.`,
    "with the digits that tell them apart",
  );
  assert.equal(outcomeText({ ...bet, status: "lost" }), lost);
  const outcomes = (["won", "lost"] as const).map((status) => ({ ...bet, status }));
  assert.deepEqual(outcomes.map(gainOf), [2_000_000n, -10_000_000n]);
  assert.deepEqual(outcomes.map(outcomeDetail), ["12.00 paid out.", ""]);
});

Deno.test("placedText: a bet that ended before its page learned of it promises no payout any more", () => {
  const texts = [500, 1_000, 2_000].map((nowMs) => placedText(7, open, nowMs));
  const pays = "Bet 7 is placed: it pays 0.00 USDC if the price stays in the box. The window";
  const over = "Bet 7 was placed, and its window is over.";
  assert.deepEqual(texts, [`${pays} starts in 1 s.`, `${pays} has begun.`, over]);
});

Deno.test("isDecided: a bet with a breach is decided before the node settles it, in every view", () => {
  const left = { ...open, breach: { time: 1_500, price: 9n } };
  assert.deepEqual([isDecided(open), isDecided(left)], [false, true]);
  assert.match(stateOfBet(left, 0).text, /^left the box at \d\d:\d\d:01$/);
  assert.deepEqual([boxOfThesis(left, 0).kind, boxOfThesis(open, 0).kind], ["lost", "open"]);
  const [{ settled, held, profit }] = earningsOf([left], [], 0);
  assert.deepEqual([settled, held, profit], [1, 0, 10n]);
  assert.deepEqual(profitHistory([left]), [{ timeMs: 1_500, profit: 10n }]);
});

Deno.test("betsOn: the bets of a market, none of another one with the same base token", () => {
  const theses = [
    thesisOf(1, { base: USER, quote: OTHER }),
    thesisOf(2, { base: USER, quote: USER }),
  ];
  assert.deepEqual(betsOn(theses, { base: USER, quote: OTHER }).map(({ id }) => id), [1]);
});
