import assert from "node:assert/strict";
import { acceptedIntent } from "../../lib/intents/intent.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { usdcText } from "../../lib/protocol/price.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { depositLog, logStart } from "../../services/bridge/deposit_log.ts";
import { options } from "../../services/bridge/options.ts";
import { encodeDeposit } from "../../services/bridge/depositor.ts";
import { newIntent } from "../support/intents.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { relayer, signedRequest } from "./support.ts";

Deno.test("depositLog: the end of a deposit is a line with its fields, and so is a refusal", () =>
  withLogs("info", (records) => {
    const request = depositRequestSchema.parse(signedRequest({ deadline: 5 }));
    const { user, amount, nonce } = request;
    const deposit = { user, amount: `${amount}`, nonce: `${nonce}` };
    const txHash = `0x${"1".repeat(64)}` as const;
    const payload = encodeDeposit(request, `0x${"2".repeat(64)}`);
    const unsigned = acceptedIntent(newIntent("key", { user, payload }), 1, false);
    const signed = { ...unsigned, transaction: { txHash, text: "{}" } };
    const failure = { code: "PERMISSION_DENIED", message: "no relayer" };
    depositLog.refused(request, new RangemakerError("NONCE_USED", "It is used"));
    depositLog.finished({ ...signed, state: "committed" });
    depositLog.finished({ ...signed, state: "failed", failure });
    depositLog.finished({ ...unsigned, state: "failed" });
    const damage = { code: "STORE_DAMAGED", message: "it was changed" };
    depositLog.finished({ ...unsigned, payload: "{}", state: "failed", failure: damage });
    const none = { txHash: undefined, code: undefined, reason: undefined };
    assert.deepEqual(records.map(({ properties }) => properties), [
      { event: "deposit_refused", ...deposit, code: "NONCE_USED", reason: "It is used" },
      { event: "deposit_committed", ...deposit, txHash, usdc: usdcText(amount) },
      { event: "deposit_failed", ...deposit, txHash, code: failure.code, reason: failure.message },
      { event: "deposit_failed", ...deposit, ...none },
      { ...none, event: "deposit_failed", user, code: damage.code, reason: damage.message },
    ]);
  }));

Deno.test("Bridge: the line at start has no password of a URL", () =>
  withLogs("info", (records) => {
    const [rpcUrl, database] = ["http://user:SECRET@node", "postgres://user:SECRET@host/name"];
    logStart(withDefaults(options, { rpcUrl, database }), relayer.address, undefined);
    assert.equal(records[0]?.properties["event"], "started");
    assert.doesNotMatch(Deno.inspect(records), /SECRET/);
  }));

Deno.test("Bridge: the line at start has its balance as the other events have amounts", () =>
  withLogs("info", (records) => {
    const start = withDefaults(options, {});
    const { address } = relayer;
    const account = { address, balance: 2_000_000n, locked: 0n, permissions: [], frozen: false };
    for (const known of [account, undefined]) logStart(start, address, known);
    assert.deepEqual(records.map(({ properties }) => properties["balance"]), ["2000000", null]);
    const texts = records.map(({ message }) => message.join(""));
    assert.match(texts[0] ?? "", /no relayer permission and 2 USDC/);
    assert.match(texts[1] ?? "", /an unknown permission and an unknown balance/);
  }));
