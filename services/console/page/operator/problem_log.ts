/** When problems began and ended, as the page showed it, kept in the browser: a reload forgets nothing. */
import * as z from "zod";
import { type Finding, isAlarm, TO_BACKFILL } from "./problems.ts";

const recordSchema = z.object({
  service: z.string(),
  chapter: z.string(),
  /** Of its worst state. */
  text: z.string(),
  extent: z.number(),
  severity: z.enum(["critical", "warning"]),
  /** How long its alert waits; undefined if it has none. */
  afterS: z.number().optional(),
  /** It counts in the view's tab. */
  isAlarm: z.boolean(),
  /** It did not only follow from another service's absence. */
  isCause: z.boolean(),
  sinceMs: z.number(),
  /** It was there when the page began to look, and nobody says since when. */
  mayBeOlder: z.boolean(),
  /** When it was there, or nobody could tell, such as while its service was away. */
  lastMs: z.number(),
  hasEnded: z.boolean(),
});

/** A problem that lasts or has ended. One that comes back is another one. */
export type ProblemRecord = z.output<typeof recordSchema>;

/** One that has ended, or several that followed each other. */
export type Episode = ProblemRecord & { alertedAtMs: number | undefined };

/** A service that hangs is noticed so long after what follows from it: a request waits for seconds. */
const CAUSE_LATE_MS = 10_000;

/** Nobody looked for longer, such as while the page was closed: what is found then is another one. */
const UNWATCHED_MAX_MS = 120_000;

/** What comes back so soon goes on. Gaps in the prices do not: each is filled by itself. */
const EPISODE_MS = 30_000;

/** What was shorter had no effect. */
const EPISODE_MIN_MS = 1_000;

const RECORDS_MAX = 200;

const isLasting = ({ hasEnded, lastMs }: ProblemRecord, nowMs: number) =>
  !hasEnded && nowMs - lastMs <= UNWATCHED_MAX_MS;

/** The record of a problem that lasts. */
export function recordOf(
  records: readonly ProblemRecord[],
  { service, chapter }: Finding,
  nowMs: number,
): ProblemRecord | undefined {
  return records.find((one) =>
    one.service === service && one.chapter === chapter && isLasting(one, nowMs)
  );
}

/**
 * The records after a look at the services, newest first.
 *
 * @param isVisible Whether a problem would have been found if it lasted.
 */
export function logged(
  before: readonly ProblemRecord[],
  findings: readonly Finding[],
  isVisible: (record: ProblemRecord) => boolean,
  nowMs: number,
): ProblemRecord[] {
  const continued = new Set<ProblemRecord>();
  const current = findings.map((finding): ProblemRecord => {
    const { service, chapter, severity, text, extent = 0, afterS, cause, mayBeOlder } = finding;
    const { sinceMs = nowMs } = finding;
    // One that nobody saw end has not ended, if it began before it was last seen.
    const known = before.filter((one) =>
      one.service === service && one.chapter === chapter &&
      (isLasting(one, nowMs) || sinceMs <= one.lastMs)
    );
    for (const one of known) continued.add(one);
    const worst = [{ text, extent }, ...known].reduce((a, b) => b.extent > a.extent ? b : a);
    return {
      ...{ service, chapter, severity, text: worst.text, extent: worst.extent },
      ...{ isAlarm: isAlarm(finding), ...(afterS !== undefined && { afterS }) },
      isCause: cause === undefined ||
        known.some((one) => one.isCause && nowMs - one.sinceMs > CAUSE_LATE_MS),
      sinceMs: Math.min(sinceMs, ...known.map((one) => one.sinceMs)),
      mayBeOlder: finding.sinceMs === undefined && (known[0]?.mayBeOlder ?? mayBeOlder),
      ...{ lastMs: nowMs, hasEnded: false },
    };
  });
  const others = before.filter((one) => !continued.has(one)).map((one) =>
    isLasting(one, nowMs) && !isVisible(one)
      ? { ...one, lastMs: nowMs, isAlarm: false }
      : { ...one, hasEnded: true, isAlarm: false }
  );
  return [...current, ...others].slice(0, RECORDS_MAX);
}

/** When the alert of a problem was sent; undefined if it ended before that. */
function alertOf({ sinceMs, lastMs, afterS = Infinity }: ProblemRecord): number | undefined {
  const atMs = sinceMs + 1_000 * afterS;
  return atMs <= lastMs ? atMs : undefined;
}

/** Problems that have ended, the last one first: causes, and what somebody was alerted of. */
export function endedOf(records: readonly ProblemRecord[]): Episode[] {
  const ended = records.map((one) => ({ ...one, alertedAtMs: alertOf(one) }))
    .filter((one) => one.hasEnded && (one.isCause || one.alertedAtMs !== undefined))
    .sort((a, b) => a.sinceMs - b.sinceMs);
  const episodes: Episode[] = [];
  for (const one of ended) {
    const index = episodes.findLastIndex(({ service, chapter, lastMs }) =>
      service === one.service && chapter === one.chapter && !TO_BACKFILL.has(chapter) &&
      one.sinceMs - lastMs <= EPISODE_MS
    );
    const before = episodes[index];
    if (before === undefined) episodes.push(one);
    else {
      const { sinceMs, mayBeOlder, alertedAtMs = one.alertedAtMs } = before;
      const worst = one.extent > before.extent ? one : before;
      episodes[index] = { ...worst, sinceMs, mayBeOlder, alertedAtMs, lastMs: one.lastMs };
    }
  }
  return episodes.filter(({ sinceMs, lastMs }) => lastMs - sinceMs >= EPISODE_MIN_MS)
    .sort((a, b) => b.lastMs - a.lastMs);
}

export const LOG_KEY = "rangemaker.problems";

export function storedRecords(store: Pick<Storage, "getItem">): ProblemRecord[] {
  try {
    return z.array(recordSchema).parse(JSON.parse(store.getItem(LOG_KEY) ?? "[]"));
  } catch {
    return []; // of another version, or changed by hand
  }
}

export function storeRecords(
  store: Pick<Storage, "setItem">,
  records: readonly ProblemRecord[],
): void {
  store.setItem(LOG_KEY, JSON.stringify(records));
}
