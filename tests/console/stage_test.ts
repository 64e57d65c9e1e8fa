import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { RangemakerError } from "../../lib/client/mod.ts";
import { thesisOf } from "./offers.ts";
import type { EstimateState } from "../../services/console/page/data/estimator.ts";
import type { User } from "../../services/console/page/data/session.ts";
import { formatTime } from "../../services/console/page/format.ts";
import {
  dropFailureAtOutcome,
  failureText,
  type Stage,
} from "../../services/console/page/trade/stage.ts";

/** Only its presence matters. */
const PRICED = { estimate: {} } as EstimateState;

const LEFT = { code: "OUTSIDE_RANGE", text: "It is outside.", signedStartMs: 5_000 };
const POOR = { code: "INSUFFICIENT_BALANCE", text: "Bet less.", signedStartMs: 5_000 };

const NOTHING = `No bet was placed on the box from ${formatTime(5_000)}, nothing was taken.`;

Deno.test("failureText: after signing, the text starts with whether money was taken", () => {
  assert.equal(failureText(LEFT, undefined, "", false), `${NOTHING} It is outside.`);
  assert.equal(
    failureText({ ...LEFT, signedStartMs: undefined }, undefined, "", false),
    "It is outside.",
  );
});

Deno.test("failureText: a failure that depends on the price is replaced by the next estimate, others stay", () => {
  assert.equal(failureText(LEFT, PRICED, "", false), `${NOTHING} The odds had changed.`);
  assert.equal(failureText({ ...LEFT, signedStartMs: undefined }, PRICED, "", false), "");
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
  const full = { code: "FULL", text: "At most 12.", signedStartMs: 5_000 };
  const state = { failure: new RangemakerError("FULL", "At most 11.") } as EstimateState;
  assert.equal(failureText(full, state, "At most 11.", false), NOTHING);
  assert.equal(
    failureText(full, state, "", false),
    `${NOTHING} At most 12.`,
    "nothing else is shown",
  );
});

Deno.test('failureText: after signing offline it says "offline" instead of an unreachable chain', () => {
  const failure = { code: "NODE_UNREACHABLE", text: "No answer.", signedStartMs: 5_000 };
  const offline = (isSigned: boolean) =>
    failureText({ ...failure, signedStartMs: isSigned ? 5_000 : undefined }, undefined, "", true);
  assert.equal(offline(true), "You are offline; nothing was taken.");
  assert.equal(offline(false), "", "the chart says so");
});

Deno.test("failureText: a missing answer is forgotten after the next answer", () => {
  const away = {
    code: "NODE_UNREACHABLE",
    text: "The chain does not answer.",
    signedStartMs: undefined,
  };
  assert.equal(failureText(away, undefined, "", false), away.text);
  const signed = { ...away, signedStartMs: 5_000 };
  const refused = { failure: new Error("It is outside.") } as EstimateState;
  for (const answer of [PRICED, refused]) {
    for (const failure of [away, signed]) {
      assert.equal(failureText(failure, answer, "", false), "");
    }
  }
});

Deno.test("dropFailureAtOutcome: the next outcome ends a failure to sign, but no other failure", () => {
  const theses = signal([thesisOf(1, { status: "won" }), thesisOf(2)]);
  const stage = signal<Stage>({ name: "draft" });
  // The bets are the only part of the user that it reads.
  const user = signal({ portfolio: { theses } } as unknown as User);
  dropFailureAtOutcome(stage, { user });
  const signed: Stage = { name: "draft", failure: POOR };
  stage.value = signed;
  theses.value = [...theses.value, thesisOf(3)];
  assert.equal(stage.value, signed, "a new bet is no outcome");
  const decide = () => theses.value = theses.value.map((bet) => ({ ...bet, status: "won" }));
  decide();
  assert.deepEqual(stage.value, { name: "draft" });
  const unsigned: Stage = { name: "draft", failure: { ...POOR, signedStartMs: undefined } };
  for (const kept of [unsigned, { name: "quoting" } as const]) {
    [stage.value, theses.value] = [kept, [...theses.value, thesisOf(4)]];
    decide();
    assert.equal(stage.value, kept);
  }
});
