import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import {
  RejectedTransactionError,
  UnknownThesisError,
} from "../../../services/node/chain/errors.ts";
import { StorageError } from "../../../services/node/store/database.ts";
import { rpcErrorBody } from "../../../services/node/rpc/dispatcher.ts";
import { NodeBusyError } from "../../../services/node/rpc/serial_queue.ts";
import { withLogs } from "../../support/recorded_logs.ts";

const { invalidParams, limitExceeded, transactionRejected } = RpcCode;

Deno.test("rpcErrorBody: an error caused by the caller has its code and details", () => {
  const cases: [thrown: Error, code: number, data: unknown][] = [
    [new RpcError(invalidParams, "Wrong"), invalidParams, undefined],
    [new RpcError(-32_601, "None", { data: { a: 1 } }), RpcCode.methodNotFound, { a: 1 }],
    [new UnknownThesisError(5), invalidParams, { code: "UNKNOWN_THESIS", id: 5 }],
    [new RejectedTransactionError(1, 2), transactionRejected, {
      code: "TIMESTAMP_OUT_OF_RANGE",
      timestamp: 1,
      offMs: 2,
    }],
    [new NodeBusyError(), limitExceeded, { code: "NODE_BUSY" }],
  ];
  for (const [thrown, code, data] of cases) {
    const { message } = thrown;
    const expected = data === undefined ? { code, message } : { code, message, data };
    assert.deepEqual(rpcErrorBody(thrown), expected);
  }
});

Deno.test("rpcErrorBody: other errors hide their message, and are logged unless they come from the storage", () =>
  withLogs("info", (records) => {
    const storage = rpcErrorBody(new StorageError("Database /secret cannot be written"));
    assert.deepEqual([storage.code, storage.data], [
      RpcCode.resourceUnavailable,
      { code: "STORAGE" },
    ]);
    assert.equal(records.length, 0);
    const unknown = [new TypeError("/secret"), new RangemakerError("OTHER", "/secret"), "/secret"];
    for (const thrown of unknown) {
      const { message: _, ...rest } = rpcErrorBody(thrown);
      assert.deepEqual(rest, { code: RpcCode.internalError });
    }
    assert.deepEqual(records.map(({ level }) => level), ["error", "error", "error"]);
    const messages = [storage, ...unknown.map(rpcErrorBody)].map(({ message }) => message);
    assert.doesNotMatch(messages.join(), /secret/);
    return Promise.resolve();
  }));
