import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/format.ts";
import { notPlacedText } from "../../services/console/page/trade/stage.ts";

const NOTHING = `No bet was placed on the box from ${formatTime(5_000)}, nothing was taken.`;

Deno.test("notPlacedText: says that no money was taken and why", () => {
  const reasons: [code: string, reason: string][] = [
    ["OUTSIDE_RANGE", " The price had left the box."],
    ["RANGE_BROKEN", " The price had left the box."],
    ["PRICE_MOVED", " The odds had changed."],
    ["PRICE_IMPROVED", " The odds had changed."],
    ["INSUFFICIENT_BALANCE", " Your balance was too small."],
    ["WRONG_CHAIN", " The wallet was on another chain."],
    ["BALANCE_TOO_LOW", " Bet less."],
    ["NODE_UNREACHABLE", " Bet less."],
    ["NOT_PLACED", ""],
  ];
  for (const [code, reason] of reasons) {
    assert.equal(notPlacedText({ code, text: "Bet less." }, 5_000), NOTHING + reason);
  }
  const explanation = { code: "OUTSIDE_RANGE", text: "It is outside now." };
  assert.equal(notPlacedText(explanation), "No quote was made. The price had left the box.");
});
