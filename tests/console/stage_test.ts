import assert from "node:assert/strict";
import type { EstimateState } from "../../services/console/page/data/estimator.ts";
import { formatTime } from "../../services/console/page/format.ts";
import { failureText, leastOf } from "../../services/console/page/trade/stage.ts";
import { offerOf } from "./offers.ts";

/** Only its presence matters. */
const PRICED = { estimate: {} } as EstimateState;
const REFUSED = { failure: "again" } as EstimateState;

const SIGNED = { signedStartMs: 5_000 };
const UNSIGNED = { signedStartMs: undefined };
const LEFT = { code: "OUTSIDE_RANGE", text: "It is outside." };
const POOR = { code: "INSUFFICIENT_BALANCE", text: "Bet less." };

const NOTHING = `No bet was placed on the box from ${formatTime(5_000)}, nothing was taken.`;

Deno.test("failureText: after signing, it says that no money was taken and why, whatever is estimated later", () => {
  const reasons: [code: string, reason: string][] = [
    ["OUTSIDE_RANGE", " The price had left the box."],
    ["RANGE_BROKEN", " The price had left the box."],
    ["PRICE_MOVED", " The odds had changed."],
    ["PRICE_IMPROVED", " The odds had changed."],
    ["INSUFFICIENT_BALANCE", " Bet less."],
    ["NODE_UNREACHABLE", " Bet less."],
    ["NOT_PLACED", ""],
  ];
  for (const [code, reason] of reasons) {
    for (const state of [undefined, PRICED, REFUSED]) {
      assert.equal(failureText({ ...POOR, ...SIGNED, code }, state), NOTHING + reason);
    }
  }
});

Deno.test("failureText: before signing, it ends with the next estimate, unless that does not concern it", () => {
  assert.equal(failureText({ ...LEFT, ...UNSIGNED }, undefined), LEFT.text);
  assert.equal(failureText({ ...LEFT, ...UNSIGNED }, PRICED), "", "it is priced again");
  assert.equal(failureText({ ...LEFT, ...UNSIGNED }, REFUSED), "", "the estimate has the reason");
  const away = { code: "NODE_UNREACHABLE", text: "No answer.", ...UNSIGNED };
  assert.equal(failureText(away, PRICED), "", "it answers again");
  assert.equal(failureText({ ...POOR, ...UNSIGNED }, PRICED), POOR.text);
  assert.equal(failureText(away, undefined, "offline"), "", "the chart says why");
  assert.notEqual(failureText({ ...away, ...SIGNED }, undefined, "offline"), "", "about money");
});

Deno.test("leastOf: the user's limit stays that of the first signed quote, also for a quote that pays less", () => {
  const offer = offerOf(1, { betAmount: 10_000_000n, payout: 20_000_000n });
  const stage = { offer, estimated: undefined, replaces: undefined, notPlaced: undefined };
  const least = leastOf({ name: "quoted", ...stage }, 10);
  assert.equal(least, 18_000_000n);
  const again = offerOf(1, { betAmount: 10_000_000n, payout: 19_000_000n });
  assert.equal(leastOf({ name: "sending", offer: again, least }, 10), least);
});
