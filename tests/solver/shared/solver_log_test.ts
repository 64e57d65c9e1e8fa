import assert from "node:assert/strict";
import { withDefaults } from "../../../lib/cli/options.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { acceptedIntent } from "../../../lib/intents/intent.ts";
import { options } from "../../../services/solver/options.ts";
import { solverLog } from "../../../services/solver/shared/solver_log.ts";
import { newIntent } from "../../support/intents.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { quoteHashOf, stakeOf, thesisOf, user } from "../support.ts";

const quoteHash = quoteHashOf(7);
const txHash = quoteHashOf(8);
const terms = stakeOf(10n);
const busy = new RangemakerError("BUSY", "Too busy");

const intent = acceptedIntent(newIntent(quoteHash, { user: user.address }), 1, false);
const committed = {
  ...intent,
  state: "committed" as const,
  receipt: JSON.stringify({ txHash, status: "committed", blockNumber: 1, thesisId: 5 }),
};
const failure = { code: "QUOTE_EXPIRED", message: "Too late" };

const who = { user: user.address, quoteHash };
const bet = { ...who, betAmount: "100", payout: "110" };
const amounts = { bet: "0.0001 USDC", pays: "0.00011 USDC" };
const settled = { thesisId: 7, ...who };
const failed = { ...who, code: failure.code, reason: failure.message };
const bound = { exposure: "9", bound: "10", now: "0.000009 USDC", most: "0.00001 USDC" };

type Case = [event: string, log: () => void, properties: Record<string, unknown>, level?: string];

const cases: readonly Case[] = [
  ["quoted", () => solverLog.quoted(quoteHash, terms), { ...bet, ...amounts }, "debug"],
  ["execution_accepted", () => solverLog.accepted(quoteHash, terms), { ...bet, ...amounts }],
  ["execution_hedged", () => solverLog.hedged(quoteHash, terms), { ...bet, risk: "0.00001 USDC" }],
  ["execution_hedged", () => solverLog.hedged(quoteHash, { ...terms, payout: 100n }), {
    ...bet,
    payout: "100",
    risk: "0 USDC",
  }],
  ["execution_refused", () => solverLog.refused(quoteHash, terms, busy), {
    ...bet,
    code: "BUSY",
    reason: "Too busy",
  }],
  ["execution_committed", () => solverLog.finished(committed), { ...who, thesisId: 5, txHash }],
  // Without a receipt, and with one that says so.
  ["execution_failed", () => solverLog.finished({ ...intent, state: "failed", failure }), failed],
  [
    "execution_failed",
    () => solverLog.finished({ ...committed, state: "failed", failure }),
    failed,
  ],
  ["thesis_settled", () => solverLog.settled(thesisOf(7, { status: "won" })), {
    ...settled,
    result: "won",
    pnl: "-0.00001 USDC",
    profit: "-10",
  }],
  ["thesis_settled", () => solverLog.settled(thesisOf(7, { status: "lost" })), {
    ...settled,
    result: "lost",
    pnl: "0.0001 USDC",
    profit: "100",
  }],
  ["exposure_near_bound", () => solverLog.exposureChanged(true, 9n, 10n), bound, "warning"],
  ["exposure_normal", () => solverLog.exposureChanged(false, 9n, 10n), bound],
];

for (const [event, log, properties, level = "info"] of cases) {
  Deno.test(`solverLog: ${event} has its amounts and identifiers`, () =>
    withLogs("debug", (records) => {
      log();
      const [record] = records;
      assert.deepEqual([records.length, record?.category[1], record?.level], [1, "solver", level]);
      assert.deepEqual(record?.properties, { event, ...properties });
    }));
}

Deno.test("solverLog: the line at start shows no password of a URL", () =>
  withLogs("info", (records) => {
    const [rpcUrl, database] = ["http://user:SECRET@node", "postgres://user:SECRET@host/name"];
    const start = withDefaults(options, { rpcUrl, database });
    solverLog.started({ ...start, address: user.address, balance: 1n });
    assert.equal(records[0]?.properties.event, "started");
    assert.doesNotMatch(Deno.inspect(records), /SECRET/);
  }));

Deno.test("solverLog: the line at start has its amounts, null without one, and says if it is a dry run", () =>
  withLogs("info", (records) => {
    const start = withDefaults(options, { maxRisk: 10n });
    const bounded = { maxExposure: 2_000_000n, dryRun: true };
    solverLog.started({ ...start, address: user.address, balance: null });
    solverLog.started({ ...start, ...bounded, address: user.address, balance: 1n });
    const facts = records.map(({ properties }) =>
      ["balance", "maxRisk", "maxExposure"].map((name) => properties[name])
    );
    assert.deepEqual(facts, [[null, "10", null], ["1", "10", "2000000"]]);
    const texts = records.map(({ message }) => message.join(""));
    assert.match(texts[0] ?? "", /has an unknown balance, .* 0.00001 USDC .* any amount in total/);
    assert.match(texts[1] ?? "", /has 0.000001 USDC, .* 2 USDC in total/);
    assert.deepEqual(texts.map((text) => /dry run/i.test(text)), [false, true]);
  }));

Deno.test("solverLog: an exposure above its limit is not called near", () =>
  withLogs("warning", (records) => {
    for (const exposure of [10n, 11n]) solverLog.exposureChanged(true, exposure, 10n);
    const words = records.map(({ message }) => /near|above/.exec(message.join(""))?.[0]);
    assert.deepEqual(words, ["near", "above"]);
  }));
