/** A log of when problems began and ended, kept in the browser, so that it survives a reload. */
import * as z from "zod";
import { type Finding, isAlarm } from "./finding.ts";
import { HEALTH, isAway, TO_BACKFILL } from "./problems.ts";

const recordSchema = z.object({
  service: z.string(),
  chapter: z.string(),
  /** The text of its worst state. */
  text: z.string(),
  /** How far it was beyond its bound then. */
  extent: z.number(),
  severity: z.enum(["critical", "warning"]),
  /** How long its alert waits; undefined if it has none. */
  afterS: z.number().optional(),
  /** Whether the view's tab counts it. */
  isAlarm: z.boolean(),
  /** Whether it was a cause, and not only a consequence of another service's absence. */
  isCause: z.boolean(),
  sinceMs: z.number(),
  /** The page found it at its first poll, and does not know when it began. */
  mayBeOlder: z.boolean(),
  /** When it was last found, or could not be checked, for example because its service was away. */
  lastMs: z.number(),
  hasEnded: z.boolean(),
});

/** A problem that lasts or has ended. If it returns, that is a new record. */
export type ProblemRecord = z.output<typeof recordSchema>;

/** A problem that has ended, or a figure that exceeded its bound several times. */
export type Episode = ProblemRecord & { alertedAtMs: number | undefined };

/** A hanging service is detected this long after its consequences: a request waits for seconds. */
const CAUSE_LATE_MS = 10_000;

/** After a longer time without polls, such as with a closed page, a problem is a new one. */
const UNWATCHED_MAX_MS = 120_000;

/** A figure that exceeds its bound again this soon is shown as one problem. */
const EPISODE_MS = 30_000;

/** Shorter problems are not listed: they had no effect. */
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

/** Whether one state of a problem is worse than another one. */
const isWorse = (
  one: Pick<ProblemRecord, "severity" | "extent">,
  other: Pick<ProblemRecord, "severity" | "extent">,
) => one.severity === other.severity ? one.extent > other.extent : one.severity === "critical";

/** A finding with its start: its own, or the logged one, and whether that is exact. */
export function withStart(
  finding: Finding,
  records: readonly ProblemRecord[],
  nowMs: number,
): Finding & { sinceMs: number } {
  const { sinceMs = nowMs, mayBeOlder } = recordOf(records, finding, nowMs) ?? finding;
  return { ...finding, mayBeOlder, sinceMs: finding.sinceMs ?? sinceMs };
}

/**
 * Whether a finding is the problem of a record: it still lasts, or it began before it was last
 * seen, and so has never ended.
 */
function continues(finding: Finding, one: ProblemRecord, nowMs: number): boolean {
  const { service, chapter, sinceMs = nowMs } = finding;
  return one.service === service && one.chapter === chapter &&
    (isLasting(one, nowMs) || sinceMs <= one.lastMs);
}

/** The record of a finding and of the records that it continues. */
function merged(finding: Finding, known: readonly ProblemRecord[], nowMs: number): ProblemRecord {
  const { service, chapter, afterS, cause, sinceMs, mayBeOlder } = finding;
  const now = { text: finding.text, extent: finding.extent ?? 0, severity: finding.severity };
  const { text, extent, severity } = [now, ...known]
    .reduce((worst, one) => isWorse(one, worst) ? one : worst);
  return {
    service,
    chapter,
    severity,
    text,
    extent,
    isAlarm: isAlarm(finding),
    ...(afterS !== undefined && { afterS }),
    isCause: cause === undefined ||
      known.some((one) => one.isCause && nowMs - one.sinceMs > CAUSE_LATE_MS),
    sinceMs: Math.min(sinceMs ?? nowMs, ...known.map((one) => one.sinceMs)),
    mayBeOlder: sinceMs === undefined && (known[0]?.mayBeOlder ?? mayBeOlder),
    lastMs: nowMs,
    hasEnded: false,
  };
}

/** A record whose problem a poll did not find. */
function notFound(one: ProblemRecord, wasVisible: boolean, nowMs: number): ProblemRecord {
  return isLasting(one, nowMs) && !wasVisible
    ? { ...one, lastMs: nowMs, isAlarm: false }
    : { ...one, hasEnded: true, isAlarm: false };
}

/**
 * The records after a poll of the services, newest first.
 *
 * @param isVisible Whether the problem would have been found if it still lasted.
 */
export function updatedLog(
  before: readonly ProblemRecord[],
  findings: readonly Finding[],
  isVisible: (record: ProblemRecord) => boolean,
  nowMs: number,
): ProblemRecord[] {
  const current = findings.map((finding) =>
    merged(finding, before.filter((one) => continues(finding, one, nowMs)), nowMs)
  );
  const others = before
    .filter((one) => !findings.some((finding) => continues(finding, one, nowMs)))
    .map((one) => notFound(one, isVisible(one), nowMs));
  return [...current, ...others].slice(0, RECORDS_MAX);
}

/** Each outage has its own start, and each gap is filled separately. */
const isSeparate = (chapter: string) => isAway({ chapter }) || TO_BACKFILL.has(chapter);

/** Whether a service was unhealthy around an outage of its own, as before it ends and after its start. */
const isBeside = (one: ProblemRecord, outage: ProblemRecord) =>
  one.service === outage.service && one.sinceMs <= outage.lastMs + CAUSE_LATE_MS &&
  one.lastMs >= outage.sinceMs - CAUSE_LATE_MS;

/** When the alert of a problem was sent; undefined if it ended before that. */
function alertOf({ sinceMs, lastMs, afterS = Infinity }: ProblemRecord): number | undefined {
  const atMs = sinceMs + 1_000 * afterS;
  return atMs <= lastMs ? atMs : undefined;
}

/** Problems that have ended, the last one first: causes, and problems that sent an alert. */
export function endedOf(records: readonly ProblemRecord[]): Episode[] {
  const outages = records.filter(isAway);
  const ended = records.map((one) => ({ ...one, alertedAtMs: alertOf(one) }))
    .filter((one) => one.hasEnded && (one.isCause || one.alertedAtMs !== undefined))
    .filter((one) => !(one.chapter === HEALTH && outages.some((other) => isBeside(one, other))))
    .sort((a, b) => a.sinceMs - b.sinceMs);
  const episodes: Episode[] = [];
  for (const one of ended) {
    const index = episodes.findLastIndex(({ service, chapter, lastMs }) =>
      service === one.service && chapter === one.chapter && !isSeparate(chapter) &&
      one.sinceMs - lastMs <= EPISODE_MS
    );
    const before = episodes[index];
    if (before === undefined) episodes.push(one);
    else {
      const { sinceMs, mayBeOlder, alertedAtMs = one.alertedAtMs } = before;
      const worst = isWorse(one, before) ? one : before;
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
    return []; // written by another version, or edited
  }
}

export function storeRecords(
  store: Pick<Storage, "setItem">,
  records: readonly ProblemRecord[],
): void {
  store.setItem(LOG_KEY, JSON.stringify(records));
}
