import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import type { Reservation } from "../../../lib/intents/intent.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { ExposureLimit, sumOfRisks } from "../../../services/solver/risk/exposure_limit.ts";
import { quoteHashOf, thesisOf } from "../theses.ts";

function limitOf(max: bigint | undefined, theses?: readonly Thesis[]) {
  const book = new ExposureBook(max);
  book.beginReading();
  if (theses !== undefined) book.endReading(theses);
  const decoded: string[] = [];
  const decode = (payload: string) => {
    decoded.push(payload);
    return thesisOf(0, { payout: 100n + BigInt(payload) });
  };
  return { book, decoded, limit: new ExposureLimit({ max, book, decode }) };
}

/** A bet with this much at risk. */
function betOf(risk: bigint) {
  return thesisOf(99, { payout: 100n + risk });
}

function reservation(id: number, risk: bigint): Reservation {
  return { sequence: id, key: quoteHashOf(id), payload: String(risk) };
}

function refused(decide: () => void, code: string, message: RegExp): void {
  assert.throws(decide, (thrown) => {
    assert.ok(thrown instanceof RangemakerError);
    assert.deepEqual([thrown.retryable, thrown.code], [true, code]);
    assert.match(thrown.message, message);
    return true;
  });
}

Deno.test("ExposureLimit: the bound holds to the unit, and says by how much it would be passed", () => {
  const { limit } = limitOf(25n, [thesisOf(1)]);
  const held = [reservation(2, 10n)];
  limit.admission(betOf(5n))?.(held);
  const words = /^Exposure would be 26 with 6 more at risk, 1 above 25$/;
  refused(() => limit.admission(betOf(6n))?.(held), "EXPOSURE_TOO_LARGE", words);
});

Deno.test("ExposureLimit: a bet that is both reserved and open counts once", () => {
  const { limit } = limitOf(25n, [thesisOf(1)]);
  limit.admission(betOf(15n))?.([reservation(1, 10n)]);
});

Deno.test("ExposureLimit: refuses everything while the open theses are not all known", () => {
  const { limit, book } = limitOf(1_000n);
  const words = /^Exposure is not known/;
  refused(() => limit.admission(betOf(1n))?.([]), "EXPOSURE_UNKNOWN", words);
  book.endReading([]);
  limit.admission(betOf(1n))?.([]);
  book.invalidate();
  refused(() => limit.admission(betOf(1n))?.([]), "EXPOSURE_UNKNOWN", words);
});

Deno.test("ExposureLimit: without a bound there is nothing to decide", () => {
  assert.equal(limitOf(undefined).limit.admission(betOf(1n)), undefined);
});

Deno.test("ExposureLimit: a reservation is decoded once", () => {
  const { limit, decoded } = limitOf(100n, []);
  const held = [reservation(1, 1n), reservation(2, 2n)];
  for (let n = 0; n < 3; n++) limit.admission(betOf(1n))?.(held);
  assert.deepEqual(decoded, ["1", "2"]);
});

Deno.test("ExposureLimit: the measure of risk can be replaced", () => {
  assert.equal(sumOfRisks([betOf(1n), betOf(2n)]), 3n);
  const book = new ExposureBook(2n);
  book.beginReading();
  book.endReading([thesisOf(1)]);
  const measure = (bets: Iterable<unknown>) => BigInt([...bets].length);
  const decode = () => assert.fail("Nothing is reserved");
  const limit = new ExposureLimit({ max: 2n, book, decode, measure });
  limit.admission(betOf(500n))?.([]);
  book.apply(thesisOf(2));
  refused(() => limit.admission(betOf(500n))?.([]), "EXPOSURE_TOO_LARGE", /would be 3/);
});

Deno.test("ExposureLimit: reports once that the bound is near, and once that it is far again", () => {
  const reports: string[] = [];
  const book = new ExposureBook(100n);
  book.beginReading();
  book.endReading([]);
  const limit = new ExposureLimit({
    max: 100n,
    book,
    decode: (payload) => thesisOf(0, { payout: 100n + BigInt(payload) }),
    onNear: (isNear, total, max) => reports.push(`${isNear} ${total}/${max}`),
  });
  for (const risk of [79n, 80n, 100n, 70n, 75n, 69n, 79n, 80n]) limit.admission(betOf(risk))?.([]);
  assert.deepEqual(reports, ["true 80/100", "false 69/100", "true 80/100"]);
  refused(() => limit.admission(betOf(101n))?.([]), "EXPOSURE_TOO_LARGE", /1 above 100/);
});
