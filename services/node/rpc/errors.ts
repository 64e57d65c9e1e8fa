import { RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/http/logging.ts";
import { JournalError } from "../chain/journal.ts";
import { RpcCode, RpcError, type RpcErrorBody } from "../../../lib/protocol/jsonrpc.ts";

/** The JSON-RPC code of each domain error that a caller can cause. All others are internal errors. */
const RPC_CODES: Readonly<Record<string, number>> = {
  INVALID_SIGNATURE: RpcCode.transactionRejected,
  TIMESTAMP_OUT_OF_RANGE: RpcCode.transactionRejected,
  UNKNOWN_THESIS: RpcCode.invalidParams,
  UNKNOWN_SNAPSHOT: RpcCode.invalidParams,
  DEVELOPMENT_ONLY: RpcCode.methodNotFound,
  NotEnded: RpcCode.settlementRefused,
  NeedsBackfill: RpcCode.settlementRefused,
  TOO_MANY_SUBSCRIPTIONS: RpcCode.limitExceeded,
  NODE_BUSY: RpcCode.limitExceeded,
  BATCH_TOO_LONG: RpcCode.limitExceeded,
};

/** The answers of a batch are too long already. */
export class BatchTooLongError extends RangemakerError {
  constructor() {
    super("BATCH_TOO_LONG", "Answers of the batch are too long: send this call in another batch", {
      retryable: true,
    });
  }
}

/** The error part of an answer, from anything that was thrown. */
export function rpcErrorBody(thrown: unknown): RpcErrorBody {
  if (thrown instanceof RpcError) {
    const { rpcCode: code, message, data } = thrown;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (thrown instanceof RangemakerError) {
    const code = RPC_CODES[thrown.code];
    if (code !== undefined) {
      return { code, message: thrown.message, data: { code: thrown.code, ...thrown.details } };
    }
  }
  if (thrown instanceof JournalError) {
    // Its message may name files; `/health` has the reason, and the log has one line.
    const message = "The node cannot write to its disk now: send the same transaction again later";
    return { code: RpcCode.resourceUnavailable, message, data: { code: thrown.code } };
  }
  serviceLog("node").error("A JSON-RPC call failed: {error}", { error: thrown });
  return { code: RpcCode.internalError, message: "Internal error: see the log of the node" };
}
