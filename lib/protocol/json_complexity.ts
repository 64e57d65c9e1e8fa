/**
 * Estimates the work of parsing a JSON text, by a scan that takes milliseconds for megabytes.
 * Results are correct for text that `JSON.parse` accepts; for other text they are meaningless, but
 * the functions still end.
 */

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Limits on the complexity of a text. */
interface Complexity {
  /** Levels of nesting. */
  depth: number;
  /**
   * Members, arrays and objects. `JSON.parse` takes 1.3 ms for 5,000 different keys, 20 ms for
   * 20,000 and 90 ms for 50,000.
   */
  parts: number;
}

/** Whether a text exceeds the limits. */
export function isTooComplex(text: string, max: Complexity): boolean {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = Math.max(at, endOfString(text, at) - 1);
    else if (code === COLON) parts += 1;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      parts += 1;
      depth += 1;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    if (depth > max.depth || parts > max.parts) return true;
  }
  return false;
}

/** The position behind a string that starts at `start`. `indexOf` is fast for long strings. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
