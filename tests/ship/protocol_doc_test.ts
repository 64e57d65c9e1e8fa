/** docs/protocol.md says what the code does: types, methods, codes and bounds. */
import assert from "node:assert/strict";
import { DEPOSIT_REQUEST_TYPE } from "../../lib/protocol/deposit.ts";
import { QUOTE_TYPE } from "../../lib/protocol/quote.ts";
import { TRANSACTION_ERROR_CODES } from "../../lib/protocol/receipt.ts";
import {
  BACKFILL_SLOTS_MAX,
  THESIS_DURATION_MAX_MS,
  TIMESTAMP_DRIFT_MAX_MS,
} from "../../lib/protocol/constants.ts";
import { TRANSACTION_TYPES } from "../../lib/protocol/transaction.ts";
import type { FlatType } from "../../lib/protocol/typed_data.ts";
import { BODY_BYTES_MAX } from "../../lib/http/envelope.ts";
import { CHECKPOINT_LATE_MAX_MS } from "../../services/node/chain/checkpoints.ts";
import { BATCH_MAX } from "../../services/node/rpc/dispatcher.ts";
import { MISSING_SPANS_MAX } from "../../services/node/chain/settlement.ts";
import { DEFAULTS } from "../../services/node/settings.ts";
import { OUTLIER_BASIS_POINTS } from "../../services/oracle/deviation.ts";
import { readText } from "./support.ts";

/** The document as one line, so that a phrase may go on in the next. */
const text = readText("docs/protocol.md").replaceAll(/\s+/g, " ");

function typeString({ primaryType, fields }: FlatType): string {
  return `${primaryType}(${fields.map(({ type, name }) => `${type} ${name}`).join(",")})`;
}

Deno.test("docs/protocol.md: the types that are signed are those of the code, and no others", () => {
  const types = [QUOTE_TYPE, DEPOSIT_REQUEST_TYPE, ...Object.values(TRANSACTION_TYPES)];
  const listed = text.match(/Core:\w+\([^)]*\)/g) ?? [];
  assert.deepEqual(new Set(listed), new Set(types.map(typeString)));
});

Deno.test("docs/protocol.md: the methods of the node are those that it answers", () => {
  const [, chapter = ""] = /## JSON-RPC of the core node(.*?) ## /.exec(text) ?? [];
  const names = (from: string) => new Set(from.match(/\b(?:core|eth|net|web3)_\w+/g));
  const keys = readText("services/node/rpc/methods.ts").match(/^ {4}\w+_\w+(?=: \{)/gm) ?? [];
  assert(keys.length > 10);
  assert.deepEqual(
    names(chapter).difference(new Set(["eth_subscribe"])),
    names(keys.join()).difference(new Set(["eth_subscribe", "eth_unsubscribe"])),
  );
});

Deno.test("docs/protocol.md: the codes of failed transactions are those of the code", () => {
  const [, codes = ""] = /with `status: "failed"` and one of (.*?)\. - /.exec(text) ?? [];
  assert.deepEqual(codes.match(/[A-Z_]+/g), [...TRANSACTION_ERROR_CODES]);
});

const seconds = (ms: number) => `${ms / 1_000} s`;

const bounds: Record<string, string> = {
  "slots of a backfill": `at most ${BACKFILL_SLOTS_MAX.toLocaleString("en")}`,
  "age of a transaction": `more than ${seconds(TIMESTAMP_DRIFT_MAX_MS)} off the node's clock`,
  "late checkpoints": `up to ${seconds(CHECKPOINT_LATE_MAX_MS)} late`,
  "timeout of a pull": `a timeout of ${DEFAULTS.oracleTimeoutMs} ms`,
  "age of a price": `Past ${seconds(DEFAULTS.maxStaleMs)} the market is stale`,
  "calls of a batch": `at most ${BATCH_MAX} calls`,
  "missing spans": `at most ${MISSING_SPANS_MAX} spans`,
  "window of a thesis": `longer than ${THESIS_DURATION_MAX_MS / 3_600_000} h`,
  "body of a request": `over ${BODY_BYTES_MAX / 1024} KiB`,
  "outliers": `more than ${OUTLIER_BASIS_POINTS} basis points`,
  "chain id": `\`chainId\` is ${DEFAULTS.chainId} unless`,
};

for (const [what, phrase] of Object.entries(bounds)) {
  Deno.test(`docs/protocol.md: ${what} has the bound of the code`, () => {
    assert(text.includes(phrase), phrase);
  });
}
