/** The base class of all errors that are raised on purpose, and how to try again after each. */
import { toWire } from "./json.ts";

/** How to try again after an error. */
export type Retry =
  /** Whether it was done is unknown: send the same request again, which is done at most once. */
  | "same"
  /** Nothing was done: the same request may succeed later. */
  | "later"
  /** Nothing was done, and the price or the time has moved on: ask for a new quote. */
  | "new_quote"
  /** Only after a change, by the caller or the operator: the message says which. */
  | "never";

/** Properties of an error besides its message. */
export interface RangemakerErrorOptions extends ErrorOptions {
  /** Facts that help a caller find the fault, safe to show: never a key, never a stack. */
  details?: Readonly<Record<string, unknown>>;
  /** `never` by default. */
  retry?: Retry;
}

/**
 * Base class of every error this program raises on purpose.
 *
 * `code` is for programs and comes from a finite list, `message` is one sentence a person can act
 * on, `details` are the facts behind it. Domain code knows no protocol: tables next to each
 * protocol map codes to its statuses (`ErrorAnswers` of a service, `services/node/rpc/`). What
 * they say of a retry is what callers get; `retry` here is for code that decides by it.
 */
export class RangemakerError extends Error {
  readonly code: string;
  readonly retry: Retry;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: RangemakerErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = options.retry ?? "never";
    this.details = options.details ?? {};
  }
}

/**
 * Makes the errors of a table: message and `details` come from the same facts, so that a program
 * can read what the message says.
 *
 * @param texts The message of each code, made from the facts behind it.
 * @returns Makes an error of a code; bigints in its `details` are decimal strings.
 */
export function createErrors<T extends { [Code in keyof T]: (facts: never) => string }>(texts: T) {
  return <Code extends keyof T & string>(
    code: Code,
    ...[facts]: Parameters<T[Code]>
  ): RangemakerError => {
    const text: (facts: never) => string = texts[code];
    // The caller's type matches the parameter of this code's text.
    const message = text(facts as never);
    const details: Record<string, unknown> = { ...toWire<object | undefined>(facts) };
    return new RangemakerError(code, message, { details });
  };
}

/** The code of anything thrown, as services answer and count it. */
export function errorCodeOf(thrown: unknown): string {
  return thrown instanceof RangemakerError ? thrown.code : "INTERNAL_ERROR";
}

/** The message of anything thrown, for logs and answers. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * The reason why a network call failed: the innermost cause, since the error of `fetch` itself
 * gives no reason.
 */
export function reasonOf(thrown: unknown): string {
  let innermost = thrown;
  while (innermost instanceof Error && innermost.cause instanceof Error) {
    innermost = innermost.cause;
  }
  return messageOf(innermost).replace(/^error sending request for url \([^)]*\): /, "");
}
