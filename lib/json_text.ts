/**
 * Reads JSON text without parsing it: how much work parsing is, and where values are, so that one can
 * be replaced while every other byte stays as it was written: numbers beyond 2^53, escapes and spacing
 * included.
 *
 * Results are correct for text that `JSON.parse` accepts. For other text they are meaningless, but
 * every function returns.
 */
import { tryParseJson } from "./json.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
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
  /**
   * Commas: with the parts, a bound on all values. `JSON.parse` takes 25 ms for a list of 500,000
   * digits. Not set: no limit, for short texts.
   */
  commas?: number;
}

/** Whether a text exceeds the limits. */
export function isTooComplex(text: string, max: Complexity): boolean {
  const { commas: commasMax = Infinity } = max;
  let depth = 0;
  let parts = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = Math.max(at, endOfString(text, at) - 1);
    else if (code === COLON) parts += 1;
    else if (code === COMMA) commas += 1;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      parts += 1;
      depth += 1;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    if (depth > max.depth || parts > max.parts || commas > commasMax) return true;
  }
  return false;
}

/** The position of a value: from `start` up to, not including, `end`. */
export interface Span {
  start: number;
  end: number;
}

export function arrayElements(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, text.indexOf("[") + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = endOfValue(text, at);
    if (end === at) break; // no value starts here
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return elements;
}

/** Calls `visit` for each member of a JSON object, in order, with its name as it is written. */
export function visitMembers(text: string, visit: (name: Span, value: Span) => void): void {
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACE) {
    const nameEnd = endOfValue(text, at);
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1); // beyond the colon
    const end = endOfValue(text, start);
    visit({ start: at, end: nameEnd }, { start, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
}

/** The value of a member of a JSON object. Of repeated names, the last counts, as in parsing. */
export function memberSpan(text: string, name: string): Span | undefined {
  let found: Span | undefined;
  visitMembers(text, ({ start, end }, value) => {
    if (isKey(text, start, end, name)) found = value;
  });
  return found;
}

/** The text of a member of a JSON object; undefined if it has no such member. */
export function memberText(text: string, name: string): string | undefined {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

/** The text with the value of one member replaced; unchanged if there is no such member. */
export function replaceMember(text: string, name: string, value: string): string {
  const span = memberSpan(text, name);
  return span ? text.slice(0, span.start) + value + text.slice(span.end) : text;
}

function isKey(text: string, start: number, end: number, name: string): boolean {
  const length = end - start - 2; // without its quotes
  if (length === name.length && text.startsWith(name, start + 1)) return true;
  if (length <= name.length) return false;
  const quoted = text.slice(start, end);
  return quoted.includes("\\") && tryParseJson(quoted) === name;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The position just after the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, start);
  let at = start;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at += 1;
  return at;
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE || isSpace(code);
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** The position just after a string that starts at `start`. `indexOf` is fast for long strings. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
