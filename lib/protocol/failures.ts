/** Makes errors of a table of texts. */
import { RangemakerError } from "../errors.ts";
import { toWire } from "./wire.ts";

/**
 * Makes the errors of a table: message and `details` come from the same facts, so that a program
 * can read what the message says.
 *
 * @param texts The message of each code, made from the facts behind it.
 * @returns Makes an error of a code; bigints in its `details` are decimal strings.
 */
export function failuresOf<T extends { [Code in keyof T]: (facts: never) => string }>(
  texts: T,
) {
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
