import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import type { Reservation } from "../../../lib/intents/intent.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { type Balances, ExposureLimit } from "../../../services/solver/risk/exposure_limit.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { plenty, quoteHashOf, thesisOf } from "../support.ts";

function betOfPayload(payload: string) {
  return thesisOf(0, { payout: 100n + BigInt(payload) });
}

function limitOf(max: bigint | undefined, theses?: readonly Thesis[]) {
  const book = new ExposureBook(max, betOfPayload);
  book.beginReading();
  if (theses !== undefined) book.endReading(theses);
  return { book, limit: new ExposureLimit(book) };
}

/** A bet with this much at risk. */
function betOf(risk: bigint) {
  return thesisOf(99, { payout: 100n + risk });
}

function reservation(id: number, risk: bigint): Reservation {
  return { key: quoteHashOf(id), payload: String(risk) };
}

/** Decides about a bet with this much at risk, in addition to the reservations. */
function decideOn(limit: ExposureLimit, risk: bigint, ...others: Reservation[]): void {
  const admission = limit.createAdmission(quoteHashOf(99), betOf(risk), plenty);
  for (const other of others) limit.book.addReservation(other);
  admission.decide(new Set());
  limit.book.release(quoteHashOf(99));
}

function refused(decide: () => void, code: string, figures: Record<string, string> = {}): void {
  assert.throws(decide, (thrown) => {
    assert.ok(thrown instanceof RangemakerError);
    assert.equal(thrown.code, code);
    for (const [name, value] of Object.entries(figures)) assert.equal(thrown.details[name], value);
    return true;
  });
}

Deno.test("ExposureLimit: the limit is exact, and a refusal has its figures", () => {
  const { limit } = limitOf(25n, [thesisOf(1)]);
  const passed = { exposure: "26", maxExposure: "25" };
  decideOn(limit, 5n, reservation(2, 10n));
  refused(() => decideOn(limit, 6n), "EXPOSURE_TOO_LARGE", { risk: "6", ...passed });
  limit.createAdmission(quoteHashOf(3), betOf(5n), plenty).decide(new Set());
  refused(() => decideOn(limit, 1n), "EXPOSURE_TOO_LARGE", { risk: "1", ...passed });
});

Deno.test("ExposureLimit: an estimate that would not fit now is refused, and reserves nothing", () => {
  const { limit, book } = limitOf(25n, [thesisOf(1)]);
  for (let n = 0; n < 3; n++) limit.requireEstimateFits(betOf(15n));
  refused(() => limit.requireEstimateFits(betOf(16n)), "EXPOSURE_TOO_LARGE", { exposure: "26" });
  book.invalidate();
  limit.requireEstimateFits(betOf(16n)); // which bets are open is unknown: the execution decides
  assert.equal(book.total, 10n);
});

Deno.test("ExposureLimit: with over a thousand open bets, an estimate is not refused by the limit", () => {
  const many = Array.from({ length: 1_000 }, (_, id) => thesisOf(1 + id));
  const { limit, book } = limitOf(25n, many);
  refused(() => limit.requireEstimateFits(betOf(1n)), "EXPOSURE_TOO_LARGE");
  book.apply(thesisOf(1_001));
  limit.requireEstimateFits(betOf(1n));
});

Deno.test("ExposureLimit: refuses every bet until all open theses are known", () => {
  const { limit, book } = limitOf(1_000n);
  refused(() => decideOn(limit, 1n), "EXPOSURE_UNKNOWN");
  book.endReading([]);
  decideOn(limit, 1n);
  book.invalidate();
  refused(() => decideOn(limit, 1n), "EXPOSURE_UNKNOWN");
});

Deno.test("ExposureLimit: balances must cover all pending bets of the same user, and of the same solver", () => {
  const { limit, book } = limitOf(undefined);
  const inFlightBefore = { keys: new Set<string>(), newestSequence: 0 };
  const inFlight = new Set([quoteHashOf(1), quoteHashOf(2), quoteHashOf(7)]);
  const decideWith = (balances: Balances, bet = betOf(5n)) => {
    const { decide } = limit.createAdmission(quoteHashOf(99), bet, {
      ...plenty,
      balances,
      inFlightBefore,
    });
    for (const id of [1, 2, 3]) book.addReservation(reservation(id, 10n));
    decide(inFlight);
    book.release(quoteHashOf(99));
  };
  decideWith({ user: 300n, solver: 25n });
  const users = { betAmount: "100", reserved: "200", missing: "1" };
  refused(() => decideWith({ user: 299n, solver: 25n }), "INSUFFICIENT_BALANCE", users);
  const solvers = { balance: "24", needed: "25", missing: "1" };
  refused(() => decideWith({ user: 300n, solver: 24n }), "BALANCE_TOO_LOW", solvers);
  const { user, solver } = betOf(5n);
  decideWith({ user: 100n, solver: 5n }, { ...betOf(5n), user: solver, solver: user });
});

Deno.test("ExposureLimit: near the limit, only the larger of two bets that cannot both be won is counted", () => {
  const within = (lowerPrice: bigint, upperPrice: bigint) => ({
    startTime: 0,
    endTime: 1_000,
    lowerPrice,
    upperPrice,
  });
  const { limit } = limitOf(20n, [thesisOf(1, within(1n, 2n))]);
  const admit = (id: number, risk: bigint, range: Partial<Thesis>) =>
    limit.createAdmission(quoteHashOf(id), { ...betOf(risk), ...range }, plenty)
      .decide(new Set());
  admit(2, 15n, within(3n, 4n));
  const overlapping = () => admit(3, 6n, within(4n, 5n));
  refused(overlapping, "EXPOSURE_TOO_LARGE", { exposure: "21" });
});

Deno.test("ExposureLimit: reports once near the limit, and once well below it again", () =>
  withLogs("info", (records) => {
    const { book, limit } = limitOf(100n, []);
    for (const risk of [79n, 80n, 100n, 70n, 75n, 69n, 79n, 80n]) {
      book.addReservation(reservation(9, risk));
      limit.report();
      book.release(quoteHashOf(9));
    }
    const reports = records.map(({ properties: { event, exposure } }) => `${event} ${exposure}`);
    const near = "exposure_near_bound 80";
    assert.deepEqual(reports, [near, "exposure_normal 69", near]);
  }));
