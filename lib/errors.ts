/** Properties of an error besides its message. */
export interface RangemakerErrorOptions extends ErrorOptions {
  /** Facts that help a caller find the fault, safe to show: never a key, never a stack. */
  details?: Readonly<Record<string, unknown>>;
  /** The same call may succeed later without a change by the caller. Default: false. */
  retryable?: boolean;
}

/**
 * Base class of every error this program raises on purpose.
 *
 * `code` is for programs and comes from a finite list, `message` is one sentence a person can act
 * on, `details` are the facts behind it. Domain code knows no protocol: tables next to each
 * protocol map codes to its statuses (`failures.ts` of a service, `services/node/rpc/`).
 */
export class RangemakerError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: RangemakerErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
  }
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
