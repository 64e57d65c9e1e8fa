import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { StorageError } from "../../../services/node/store/database.ts";
import { rpcErrorBody } from "../../../services/node/rpc/dispatcher.ts";
import { withLogs } from "../../support/recorded_logs.ts";

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
