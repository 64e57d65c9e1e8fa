/** What to write instead of a name that is unknown, because letters of it are wrong. */
import { listedWithOr } from "./option_kinds.ts";

/** Typed names have at most this many wrong letters; two letters that changed places are two. */
const EDITS_MAX = 2;

/** The known names close to a typed one, as the end of an error: ` (did you mean …?)`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const close = [...known].filter((each) => isClose(name, each));
  return close.length > 0 ? ` (did you mean ${listedWithOr(close)}?)` : "";
}

/** Whether at most so many letters are inserted, deleted or replaced to make one word of another. */
function isClose(one: string, other: string, edits = EDITS_MAX): boolean {
  if (one === other) return true;
  const [oneRest, otherRest] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return isClose(oneRest, otherRest, edits);
  if (edits === 0) return false;
  return isClose(oneRest, other, edits - 1) || isClose(one, otherRest, edits - 1) ||
    isClose(oneRest, otherRest, edits - 1);
}
