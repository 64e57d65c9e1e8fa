/** What an error adds to its message. */
export interface RangemakerErrorOptions extends ErrorOptions {
  /** Facts a caller needs to find the fault, safe to show: never a key, never a stack. */
  details?: Record<string, unknown>;
}

/**
 * The one base of all errors that this program raises on purpose.
 *
 * `code` comes from a finite list and is what programs switch on; `message` is one sentence that a
 * person can act on; `details` are the facts behind it.
 */
export class RangemakerError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: RangemakerErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** The message of anything that was thrown, for logs and answers. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Why a call over the network failed: what stands behind the errors around it, since those of
 * `fetch` say no more than that it failed.
 */
export function reasonOf(thrown: unknown): string {
  let innermost = thrown;
  while (innermost instanceof Error && innermost.cause instanceof Error) {
    innermost = innermost.cause;
  }
  return messageOf(innermost).replace(/^error sending request for url \([^)]*\): /, "");
}
