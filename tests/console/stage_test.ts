import assert from "node:assert/strict";
import type { EstimateState } from "../../services/console/page/data/estimator.ts";
import { failureText } from "../../services/console/page/trade/stage.ts";

/** Only that there is one counts. */
const PRICED = { estimate: {} } as EstimateState;

const LEFT = { code: "OUTSIDE_RANGE", text: "It is outside.", isSigningFailure: true };
const POOR = { code: "INSUFFICIENT_BALANCE", text: "Bet less.", isSigningFailure: true };

const NOTHING = "No bet was placed, nothing was taken.";

Deno.test("failureText: after signing, what became of the money comes first", () => {
  assert.equal(failureText(LEFT, undefined, "", false), `${NOTHING} It is outside.`);
  assert.equal(
    failureText({ ...LEFT, isSigningFailure: false }, undefined, "", false),
    "It is outside.",
  );
});

Deno.test("failureText: a reason of the price ends with an estimate, any other one stays", () => {
  assert.equal(failureText(LEFT, PRICED, "", false), `${NOTHING} The price had moved.`);
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

Deno.test("failureText: a device that was offline as it signed says so, and not that the chain is away", () => {
  const failure = { code: "NODE_UNREACHABLE", text: "No answer.", isSigningFailure: true };
  const offline = (isSigningFailure: boolean) =>
    failureText({ ...failure, isSigningFailure }, undefined, "", true);
  assert.equal(offline(true), "You are offline; nothing was taken.");
  assert.equal(offline(false), "", "the chart says so");
});

Deno.test("failureText: a service that did not answer is forgotten once it does", () => {
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
