import assert from "node:assert/strict";
import { withDefaults } from "../../../lib/cli/options.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { acceptedIntent, type Intent } from "../../../lib/intents/intent.ts";
import { options } from "../../../services/solver/options.ts";
import { solverLog } from "../../../services/solver/shared/solver_log.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { quoteHashOf, stakeOf, thesisOf, user } from "../support.ts";

const quoteHash = quoteHashOf(7);
const txHash = quoteHashOf(8);
const terms = stakeOf(10n);
const busy = new RangemakerError("BUSY", "Too busy");

const intent: Intent = acceptedIntent(
  {
    key: quoteHash,
    user: user.address,
    payload: "{}",
    transaction: null,
    expiresAtMs: 2,
    createdAtMs: 1,
  },
  1,
  false,
);
const committed = {
  ...intent,
  state: "committed" as const,
  receipt: JSON.stringify({ txHash, status: "committed", blockNumber: 1, thesisId: 5 }),
};
const failure = { code: "QUOTE_EXPIRED", message: "Too late" };

const who = { user: user.address, quoteHash };
const bet = { ...who, betAmount: "100", payout: "110" };
const amounts = { bet: "0.0001 USDC", pays: "0.00011 USDC" };
const failed = {
  event: "execution_failed",
  ...who,
  code: failure.code,
  reason: failure.message,
};
const settled = { event: "thesis_settled", thesisId: 7, ...who };
const bound = { exposure: "9", bound: "10", now: "0.000009 USDC", most: "0.00001 USDC" };

const cases: readonly [
  name: string,
  log: () => void,
  level: string,
  properties: Record<string, unknown>,
][] = [
  [
    "quote",
    () => solverLog.quoted(quoteHash, terms),
    "debug",
    { event: "quoted", ...bet, ...amounts },
  ],
  [
    "accepted execution",
    () => solverLog.accepted(quoteHash, terms),
    "info",
    { event: "execution_accepted", ...bet, ...amounts },
  ],
  [
    "hedge",
    () => solverLog.hedged(quoteHash, terms),
    "info",
    { event: "execution_hedged", ...bet, risk: "0.00001 USDC" },
  ],
  [
    "hedge of a bet that pays itself back",
    () => solverLog.hedged(quoteHash, { ...terms, payout: 100n }),
    "info",
    { event: "execution_hedged", ...bet, payout: "100", risk: "0 USDC" },
  ],
  [
    "refusal",
    () => solverLog.refused(quoteHash, terms, busy),
    "info",
    { event: "execution_refused", ...bet, code: "BUSY", reason: "Too busy" },
  ],
  [
    "committed execution",
    () => solverLog.finished(committed),
    "info",
    { event: "execution_committed", ...who, thesisId: 5, txHash },
  ],
  [
    "execution that failed without a receipt",
    () => solverLog.finished({ ...intent, state: "failed", failure }),
    "info",
    failed,
  ],
  [
    "execution whose receipt says failed",
    () => solverLog.finished({ ...committed, state: "failed", failure }),
    "info",
    failed,
  ],
  [
    "bet that its user won",
    () => solverLog.settled(thesisOf(7, { status: "won" })),
    "info",
    { ...settled, result: "won", pnl: "-0.00001 USDC", profit: "-10" },
  ],
  [
    "bet that its user lost",
    () => solverLog.settled(thesisOf(7, { status: "lost" })),
    "info",
    { ...settled, result: "lost", pnl: "0.0001 USDC", profit: "100" },
  ],
  [
    "exposure near its limit",
    () => solverLog.exposure(true, 9n, 10n),
    "warning",
    { event: "exposure_near_bound", ...bound },
  ],
  [
    "exposure far from its limit",
    () => solverLog.exposure(false, 9n, 10n),
    "info",
    { event: "exposure_normal", ...bound },
  ],
];

for (const [name, log, level, properties] of cases) {
  Deno.test(`solverLog: the line of a ${name} has its amounts and identifiers`, () =>
    withLogs("debug", (records) => {
      log();
      const [record] = records;
      assert.deepEqual([records.length, record?.category[1], record?.level], [1, "solver", level]);
      assert.deepEqual(record?.properties, properties);
      return Promise.resolve();
    }));
}

Deno.test("solverLog: the line at start shows no password of a URL", () =>
  withLogs("info", (records) => {
    const [rpcUrl, database] = ["http://user:SECRET@node", "postgres://user:SECRET@host/name"];
    const start = withDefaults(options, { rpcUrl, database });
    solverLog.started(start, user.address, 1n);
    assert.equal(records[0]?.properties.event, "started");
    assert.doesNotMatch(Deno.inspect(records), /SECRET/);
    return Promise.resolve();
  }));

Deno.test("solverLog: an exposure above its limit is not called near", () =>
  withLogs("warning", (records) => {
    for (const exposure of [10n, 11n]) solverLog.exposure(true, exposure, 10n);
    const words = records.map(({ message }) => /near|above/.exec(message.join(""))?.[0]);
    assert.deepEqual(words, ["near", "above"]);
    return Promise.resolve();
  }));
