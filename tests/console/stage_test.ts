import assert from "node:assert/strict";
import { RangemakerError } from "../../lib/client/mod.ts";
import type { EstimateState } from "../../services/console/page/data/estimator.ts";
import { failureText } from "../../services/console/page/trade/stage.ts";

/** Only its presence matters. */
const PRICED = { estimate: {} } as EstimateState;

const LEFT = { code: "OUTSIDE_RANGE", text: "It is outside.", isSigningFailure: true };
const POOR = { code: "INSUFFICIENT_BALANCE", text: "Bet less.", isSigningFailure: true };

const NOTHING = "No bet was placed, nothing was taken.";

Deno.test("failureText: after signing, the text starts with whether money was taken", () => {
  assert.equal(failureText(LEFT, undefined, "", false), `${NOTHING} It is outside.`);
  assert.equal(
    failureText({ ...LEFT, isSigningFailure: false }, undefined, "", false),
    "It is outside.",
  );
});

Deno.test("failureText: a failure that depends on the price is replaced by the next estimate, others stay", () => {
  assert.equal(failureText(LEFT, PRICED, "", false), `${NOTHING} The odds had changed.`);
  assert.equal(failureText({ ...LEFT, isSigningFailure: false }, PRICED, "", false), "");
  assert.equal(
    failureText(LEFT, { failure: "again" } as EstimateState, "", false),
    `${NOTHING} It is outside.`,
  );
  assert.equal(failureText(POOR, PRICED, "", false), `${NOTHING} Bet less.`);
});

Deno.test("failureText: a reason that the slip shows anyway is not repeated", () => {
  assert.equal(failureText(LEFT, undefined, "It is outside. For 45 s, try ± 2.", false), NOTHING);
});

Deno.test("failureText: the same reason with older figures is not added to that of the newest estimate", () => {
  const full = { code: "FULL", text: "At most 12.", isSigningFailure: true };
  const state = { failure: new RangemakerError("FULL", "At most 11.") } as EstimateState;
  assert.equal(failureText(full, state, "At most 11.", false), NOTHING);
  assert.equal(
    failureText(full, state, "", false),
    `${NOTHING} At most 12.`,
    "nothing else is shown",
  );
});

Deno.test('failureText: after signing offline it says "offline" instead of an unreachable chain', () => {
  const failure = { code: "NODE_UNREACHABLE", text: "No answer.", isSigningFailure: true };
  const offline = (isSigningFailure: boolean) =>
    failureText({ ...failure, isSigningFailure }, undefined, "", true);
  assert.equal(offline(true), "You are offline; nothing was taken.");
  assert.equal(offline(false), "", "the chart says so");
});

Deno.test("failureText: a missing answer is forgotten after the next answer", () => {
  const away = {
    code: "NODE_UNREACHABLE",
    text: "The chain does not answer.",
    isSigningFailure: false,
  };
  assert.equal(failureText(away, undefined, "", false), away.text);
  const signed = { ...away, isSigningFailure: true };
  const refused = { failure: new Error("It is outside.") } as EstimateState;
  for (const answer of [PRICED, refused]) {
    for (const failure of [away, signed]) {
      assert.equal(failureText(failure, answer, "", false), "");
    }
  }
});
