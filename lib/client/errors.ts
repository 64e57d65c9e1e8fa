/**
 * Errors of the client. Every error has a `code` for programs, a message for people, `details`, and
 * `retry`: how to try again.
 */
import { RangemakerError, type RangemakerErrorOptions } from "../errors.ts";

export { RangemakerError, type RangemakerErrorOptions, type Retry } from "../errors.ts";
export { ServiceError } from "../net/call_json.ts";
export { NetworkError } from "../net/http_request.ts";
export { RpcError } from "../protocol/jsonrpc.ts";

/** Why a wallet gave no signature. */
export type WalletErrorCode =
  /** The value is not a viem account or WalletClient, nor an ethers signer or EIP-1193 provider. */
  | "UNSUPPORTED_WALLET"
  /** No wallet was given. */
  | "WALLET_REQUIRED"
  /** The wallet shares no account. */
  | "NO_ACCOUNT"
  /** The wallet is on another chain: see `switchChain`. */
  | "WRONG_CHAIN"
  /** The user rejected the request. */
  | "USER_REJECTED"
  /** Another request waits for the user. */
  | "WALLET_BUSY"
  /** The signature does not have 65 bytes. */
  | "UNSUPPORTED_SIGNATURE"
  /** The signature is by another account. */
  | "WRONG_SIGNER"
  /** Anything else; `cause` has the wallet's own error. */
  | "WALLET_FAILED";

/**
 * The wallet gave no usable signature.
 *
 * @example
 * ```ts
 * if (error instanceof WalletError && error.code === "WRONG_CHAIN") await client.switchChain();
 * ```
 */
export class WalletError extends RangemakerError {
  declare readonly code: WalletErrorCode;

  constructor(
    code: WalletErrorCode,
    message: string,
    options: RangemakerErrorOptions = {},
  ) {
    super(code, message, options);
  }
}

/**
 * A service has another chain than the client; nothing was signed. `details` has both chain ids,
 * `expected` and `actual`, and the `service`.
 */
export class ChainError extends RangemakerError {
  declare readonly code: "CHAIN_MISMATCH";

  constructor(service: string, expected: number, actual: number) {
    const message = `The ${service} is of chain ${actual}: this client is for chain ${expected}`;
    super("CHAIN_MISMATCH", message, { details: { service, expected, actual } });
  }
}

/** Codes of an {@link InputError}. */
export type InputErrorCode =
  /** An argument or option of the wrong type, sign or size. */
  | "INVALID_INPUT"
  /** No such market. */
  | "UNSUPPORTED_PAIR";

/** An argument or option is wrong; nothing was signed or sent. `details.field` is its name. */
export class InputError extends RangemakerError {
  declare readonly code: InputErrorCode;

  constructor(code: InputErrorCode, message: string, details: { field: string }) {
    super(code, message, { details });
  }
}

/** Codes of a {@link QuoteError}. */
export type QuoteErrorCode =
  /** The stored text is not an offer. */
  | "INVALID_OFFER"
  | "QUOTE_TERMS_MISMATCH"
  | "QUOTE_HASH_MISMATCH"
  | "QUOTE_SIGNER_MISMATCH";

/** The quote differs from the request, or is not signed by the solver: do not sign it. */
export class QuoteError extends RangemakerError {
  declare readonly code: QuoteErrorCode;

  constructor(code: QuoteErrorCode, message: string, details: Record<string, unknown>) {
    super(code, message, { details });
  }
}

/**
 * The chain refused the bet; no money moved. `code` is the chain's, such as
 * `INSUFFICIENT_BALANCE` or `QUOTE_EXPIRED`; `details` has the numbers in its message and, as
 * `txHash`, the failed transaction.
 */
export class ExecutionError extends RangemakerError {}

/** Why a watch has no answer. */
export type WatchErrorCode =
  | "NO_WEBSOCKET"
  | "NOT_CONNECTED"
  | "UNKNOWN_THESIS"
  | "WATCH_TIMEOUT"
  | "WATCH_CLOSED";

/** A watch could not be opened, was closed, or saw no matching thesis in time. */
export class WatchError extends RangemakerError {
  declare readonly code: WatchErrorCode;

  constructor(code: WatchErrorCode, message: string, details: Record<string, unknown> = {}) {
    const isTemporary = code === "NOT_CONNECTED" || code === "WATCH_TIMEOUT";
    super(code, message, { details, retry: isTemporary ? "later" : "never" });
  }
}

/**
 * Whether something thrown is an error of this package. Unlike `instanceof`, it also works if a
 * page loads the package twice.
 *
 * @param code Narrows to errors with this code.
 * @example
 * ```ts
 * try {
 *   await client.execute(offer);
 * } catch (error) {
 *   if (isRangemakerError(error, "USER_REJECTED")) return;
 *   if (isRangemakerError(error) && error.retry === "later") return retryLater();
 *   throw error;
 * }
 * ```
 */
export function isRangemakerError(thrown: unknown, code?: string): thrown is RangemakerError {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" &&
    "retry" in thrown && "details" in thrown && (code === undefined || thrown.code === code);
}

/**
 * Whether `quote` or `execute` failed because the price, or the time, has moved on. No bet was
 * placed: get a new quote, for a box around the new price if the price has left the box.
 *
 * @example
 * ```ts
 * const shown = hasPriceMoved(error) ? "The odds have changed" : "The bet was not placed";
 * ```
 */
export function hasPriceMoved(thrown: unknown): boolean {
  return isRangemakerError(thrown) && thrown.retry === "new_quote";
}

/**
 * Whether `execute` may have placed the bet although it failed. Send the same offer with the same
 * signature again: it is placed at most once. After any other error of a first attempt, the bet was
 * not placed; nor after one of a later attempt that refuses the bet itself, such as `WINDOW_ENDED`.
 *
 * @example
 * ```ts
 * if (isOutcomeUnknown(error)) await client.execute(offer);
 * ```
 */
export function isOutcomeUnknown(thrown: unknown): boolean {
  return !isRangemakerError(thrown) || thrown.retry === "same";
}
