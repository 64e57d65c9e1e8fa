/**
 * Positions of values inside JSON text, so that a piece of a message can be passed on or replaced
 * while every other byte stays as it was written: numbers beyond 2^53, escapes and spacing included.
 *
 * The answers are right for text that `JSON.parse` accepts; on any other they end, and mean nothing.
 */

/** Where a value stands: from `start` up to, not including, `end`. */
export interface Span {
  start: number;
  end: number;
}

/** The texts of the elements of a JSON array. */
export function arrayElements(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, text.indexOf("[") + 1);
  while (at < text.length && text[at] !== "]") {
    const end = endOfValue(text, at);
    if (end === at) break; // no value stands here
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return elements;
}

/** The value of a member of a JSON object. Of members named alike the last counts, as in parsing. */
export function memberSpan(text: string, name: string): Span | undefined {
  let found: Span | undefined;
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (at < text.length && text[at] !== "}") {
    const keyEnd = endOfValue(text, at);
    const key = text.slice(at, keyEnd);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1); // beyond the colon
    const end = endOfValue(text, start);
    if (isKey(key, name)) found = { start, end };
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

/** The text of a member of a JSON object, or undefined where it has none of that name. */
export function memberText(text: string, name: string): string | undefined {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

/** The text with the value of one member replaced; unchanged where there is no such member. */
export function replaceMember(text: string, name: string, value: string): string {
  const span = memberSpan(text, name);
  return span ? text.slice(0, span.start) + value + text.slice(span.end) : text;
}

function isKey(quoted: string, name: string): boolean {
  return quoted.includes("\\") ? JSON.parse(quoted) === name : quoted.slice(1, -1) === name;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return at;
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first === "{" || first === "[") return endOfNested(text, start);
  let at = start;
  while (at < text.length && !",]} \n\r\t".includes(text.charAt(at))) at += 1;
  return at;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') at = endOfString(text, at) - 1;
    else if (letter === "{" || letter === "[") depth += 1;
    else if (letter === "}" || letter === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}
