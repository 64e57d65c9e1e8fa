import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/format.ts";
import { leastOf, notPlacedText } from "../../services/console/page/trade/stage.ts";
import { offerOf } from "./offers.ts";

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
});

Deno.test("leastOf: the user's limit stays that of the first signed quote, also for a quote that pays less", () => {
  const offer = offerOf(1, { betAmount: 10_000_000n, payout: 20_000_000n });
  const stage = { offer, before: undefined, isRefused: false };
  const least = leastOf({ name: "quoted", ...stage }, 10);
  assert.equal(least, 18_000_000n);
  const again = offerOf(1, { betAmount: 10_000_000n, payout: 19_000_000n });
  assert.equal(leastOf({ name: "sending", offer: again, least }, 10), least);
});
