import assert from "node:assert/strict";
import type { IntentOutcome } from "../../lib/intents/intent.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { usdcText } from "../../lib/protocol/price.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { depositLog, logStart } from "../../services/bridge/deposit_log.ts";
import { options } from "../../services/bridge/options.ts";
import { depositKey, encodeDeposit } from "../../services/bridge/depositor.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { relayer, signedRequest } from "./support.ts";

Deno.test("depositLog: the end of a deposit is a line with its fields, and so is a refusal", () =>
  withLogs("info", async (records) => {
    const request = depositRequestSchema.parse(signedRequest({ deadline: 5 }));
    const { user, amount, nonce } = request;
    const deposit = { user, amount: `${amount}`, nonce: `${nonce}` };
    depositLog.refused(request, new RangemakerError("NONCE_USED", "It is used"));
    const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
    const txHash = `0x${"1".repeat(64)}` as const;
    const failure = { code: "PERMISSION_DENIED", message: "no relayer" };
    const endOf = async (nonce: bigint, transaction: typeof signed | null, end: IntentOutcome) => {
      const payload = encodeDeposit(request, `0x${"2".repeat(64)}`);
      const times = { expiresAtMs: 5, createdAtMs: 1 };
      const key = depositKey(user, nonce);
      const { intent } = await store.insert({ key, user, payload, transaction, ...times });
      depositLog.finished((await store.finish(intent, end, 2)).intent);
    };
    const signed = { txHash, text: "{}" };
    await endOf(1n, signed, { state: "committed", receipt: null, failure: null });
    await endOf(2n, signed, { state: "failed", receipt: null, failure });
    await endOf(3n, null, { state: "failed", receipt: null, failure: null });
    await store.close();
    assert.deepEqual(records.map(({ properties }) => properties), [
      { event: "deposit_refused", ...deposit, code: "NONCE_USED", reason: "It is used" },
      { event: "deposit_committed", ...deposit, txHash, usdc: usdcText(amount) },
      { event: "deposit_failed", ...deposit, txHash, code: failure.code, reason: failure.message },
      {
        event: "deposit_failed",
        ...deposit,
        txHash: undefined,
        code: undefined,
        reason: undefined,
      },
    ]);
  }));

Deno.test("Bridge: the lines at start have each problem, and no password of a URL", () =>
  withLogs("info", (records) => {
    const [rpcUrl, database] = ["http://user:SECRET@node", "postgres://user:SECRET@host/name"];
    logStart(withDefaults(options, { rpcUrl, database }), relayer.address, undefined, [
      "No relayer",
    ]);
    const events = records.map(({ properties: { event, problem } }) => [event, problem]);
    assert.deepEqual(events, [["started", undefined], ["not_ready", "No relayer"]]);
    assert.doesNotMatch(Deno.inspect(records), /SECRET/);
    return Promise.resolve();
  }));
