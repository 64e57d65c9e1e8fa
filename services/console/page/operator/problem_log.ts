/** A log of when problems began and ended, kept in the browser, so that it survives a reload. */
import * as z from "zod";
import { tryParseJson } from "../../../../lib/json.ts";
import { type Finding, isAway, isCritical } from "./finding.ts";
import { formatTime } from "../format.ts";
import { HEALTH, TO_BACKFILL, withCause } from "./problems.ts";

const serviceSchema = z.enum(["exchanges", "oracle", "node", "proxy", "bridge", "solver"]);

const recordSchema = z.object({
  service: serviceSchema,
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
  /** The service whose absence caused it. */
  cause: serviceSchema.optional(),
  /** The window of its alert, if it counts events. */
  countedMs: z.number().optional(),
  sinceMs: z.number(),
  /** The page found it at its first poll, and does not know when it began. */
  mayBeOlder: z.boolean(),
  /** When it was last found. */
  seenMs: z.number(),
  /** When it was last found, or could not be checked, for example because its service was away. */
  lastMs: z.number(),
  /** When its end was noticed. */
  endedMs: z.number().optional(),
});

/** A problem that lasts or has ended. If it returns, that is a new record. */
export type ProblemRecord = z.output<typeof recordSchema>;

/** A problem that has ended, or a figure that exceeded its bound several times. */
export type Episode = ProblemRecord & {
  /** It lasted as long as its alert waits. When the alert fired is known to Prometheus only. */
  hasAlerted: boolean;
  /** Neither it nor what it caused lasted until an alert. */
  isBlip: boolean;
};

/** A hanging service is detected this long after its consequences: a request waits for seconds. */
const CAUSE_LATE_MS = 10_000;

/** After a longer time without polls, such as with a closed page, a problem is a new one. */
const UNWATCHED_MAX_MS = 120_000;

/** A figure that exceeds its bound again this soon is shown as one problem. */
const EPISODE_MS = 30_000;

/** Shorter problems are not listed: they had no effect. */
const EPISODE_MIN_MS = 1_000;

const RECORDS_MAX = 200;

const isLasting = ({ endedMs, lastMs }: ProblemRecord, nowMs: number) =>
  endedMs === undefined && nowMs - lastMs <= UNWATCHED_MAX_MS;

const isSame = (one: Pick<ProblemRecord, "service" | "chapter">, other: typeof one) =>
  one.service === other.service && one.chapter === other.chapter;

/** The record of a problem that lasts. */
export function recordOf(
  records: readonly ProblemRecord[],
  finding: Finding,
  nowMs: number,
): ProblemRecord | undefined {
  return records.find((one) => isSame(one, finding) && isLasting(one, nowMs));
}

/** Whether one state of a problem is worse than another one. */
const isWorse = (
  one: Pick<ProblemRecord, "severity" | "extent">,
  other: Pick<ProblemRecord, "severity" | "extent">,
) => one.severity === other.severity ? one.extent > other.extent : one.severity === "critical";

/**
 * A finding with its start: its own, or the logged one, and whether that is exact. A later outage
 * does not change its logged cause.
 */
export function asLogged(
  finding: Finding,
  records: readonly ProblemRecord[],
  nowMs: number,
): Finding & { sinceMs: number } {
  const record = recordOf(records, finding, nowMs);
  const { sinceMs = nowMs, mayBeOlder, cause } = record ?? finding;
  const known = finding.cause === undefined ? finding : withCause(finding, cause);
  return { ...known, mayBeOlder, sinceMs: finding.sinceMs ?? sinceMs };
}

/**
 * Whether a finding is the problem of a record: it still lasts, or it began before it was last
 * seen, and so has never ended.
 */
function continues(finding: Finding, one: ProblemRecord, nowMs: number): boolean {
  const { sinceMs = nowMs } = finding;
  return isSame(one, finding) && !replaces(finding, one) &&
    (isLasting(one, nowMs) || sinceMs <= one.lastMs);
}

/**
 * The problems whose alerts still count what this page no longer can: it was loaded again, or their
 * service is away.
 */
export function stillCounted(
  records: readonly ProblemRecord[],
  found: readonly Finding[],
  nowMs: number,
): Finding[] {
  return records.flatMap((one) => {
    const { countedMs, seenMs, cause, service, chapter, severity, text, mayBeOlder } = one;
    const isKnown = found.some((finding) => isSame(finding, one));
    if (countedMs === undefined || nowMs - seenMs >= countedMs) return [];
    if (isKnown || !isLasting(one, nowMs)) return [];
    const until = formatTime(seenMs + countedMs);
    return [{
      ...{ service, chapter, severity, text, mayBeOlder, countedMs },
      ...(one.afterS !== undefined && { afterS: one.afterS }),
      ...pickCause(cause),
      details: [`Seen at ${formatTime(seenMs)}. Its alert may count this until ${until}.`],
      firstStep: "Nothing, unless it comes back: the page counts again.",
    }];
  });
}

/** Whether a finding began after a record was last found: another problem of the same kind. */
const replaces = (finding: Finding, one: ProblemRecord) =>
  isSame(one, finding) && (finding.sinceMs ?? 0) > Math.max(one.sinceMs, one.seenMs);

/** Whether the figures of a finding are older than the end of its problem, as another tab saw it. */
export const isOutdated = (finding: Finding, records: readonly ProblemRecord[]) =>
  records.some((one) => isSame(one, finding) && (finding.atMs ?? Infinity) < (one.endedMs ?? 0));

/** The record of a finding and of the records that it continues. */
function merged(finding: Finding, known: readonly ProblemRecord[], nowMs: number): ProblemRecord {
  const { service, chapter, afterS, cause, sinceMs, mayBeOlder, atMs = nowMs } = finding;
  const { countedMs } = finding;
  // Until its start is known, a gap may be another one than that before its service was away.
  const isUnsure = TO_BACKFILL.has(chapter) && sinceMs === undefined &&
    known.some((one) => one.lastMs > one.seenMs);
  const isRoot = known.some((one) => one.isCause && nowMs - one.sinceMs > CAUSE_LATE_MS);
  const now = { text: finding.text, extent: finding.extent ?? 0, severity: finding.severity };
  const { text, extent, severity } = [...(isUnsure ? [] : [now]), ...known]
    .reduce((worst, one) => isWorse(one, worst) ? one : worst);
  return {
    service,
    chapter,
    severity,
    text,
    extent,
    isAlarm: isCritical(finding),
    ...(afterS !== undefined && { afterS }),
    ...(countedMs !== undefined && { countedMs }),
    ...pickCause(known.find((one) => one.cause)?.cause ?? (isRoot ? undefined : cause)),
    isCause: cause === undefined || isRoot,
    sinceMs: Math.min(sinceMs ?? atMs, ...known.map((one) => one.sinceMs)),
    mayBeOlder: sinceMs === undefined && (known[0]?.mayBeOlder ?? mayBeOlder),
    seenMs: Math.max(isUnsure ? 0 : atMs, ...known.map((one) => one.seenMs)),
    // A service is away until it answers; figures are of the time when they were read.
    lastMs: Math.max(isAway(finding) ? nowMs : atMs, ...known.map((one) => one.lastMs)),
  };
}

const pickCause = (cause: ProblemRecord["cause"]) => cause === undefined ? {} : { cause };

/** A record whose problem a poll did not find. */
function notFound(one: ProblemRecord, wasVisible: boolean, nowMs: number): ProblemRecord {
  return isLasting(one, nowMs) && !wasVisible
    ? { ...one, lastMs: nowMs, isAlarm: one.isAlarm && one.countedMs !== undefined }
    : { ...one, endedMs: one.endedMs ?? nowMs, isAlarm: false };
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
  const present = findings.filter((finding) => !isOutdated(finding, before));
  const current = present.map((finding) =>
    merged(finding, before.filter((one) => continues(finding, one, nowMs)), nowMs)
  );
  const others = before
    .filter((one) => !present.some((finding) => continues(finding, one, nowMs)))
    .map((one) => {
      const isReplaced = isLasting(one, nowMs) &&
        present.some((finding) => replaces(finding, one));
      const { seenMs, lastMs } = one;
      return notFound(
        isReplaced ? { ...one, lastMs: Math.min(seenMs, lastMs) } : one,
        isReplaced || isVisible(one),
        nowMs,
      );
    });
  return [...current, ...others].slice(0, RECORDS_MAX);
}

/** Each outage has its own start, and each gap is filled separately. */
const isSeparate = (chapter: string) => isAway({ chapter }) || TO_BACKFILL.has(chapter);

/** Whether a service was unhealthy around an outage of its own, as before it ends and after its start. */
const isBeside = (one: ProblemRecord, outage: ProblemRecord) =>
  one.service === outage.service && one.sinceMs <= outage.lastMs + CAUSE_LATE_MS &&
  one.lastMs >= outage.sinceMs - CAUSE_LATE_MS;

/** Whether the alert of a problem was sent, or it ended before that. */
const hasAlerted = ({ sinceMs, lastMs, afterS = Infinity }: ProblemRecord) =>
  sinceMs + 1_000 * afterS <= lastMs;

/** Problems that have ended, the last one first: causes, and problems that sent an alert. */
export function endedOf(records: readonly ProblemRecord[]): Episode[] {
  const outages = records.filter(isAway);
  const ended = records.filter((one) => one.endedMs !== undefined)
    .map((one) => ({ ...one, hasAlerted: hasAlerted(one), isBlip: false }))
    .filter((one) => one.isCause || one.hasAlerted)
    .filter((one) => !(one.chapter === HEALTH && outages.some((other) => isBeside(one, other))))
    .sort((a, b) => a.sinceMs - b.sinceMs);
  const episodes: Episode[] = [];
  for (const one of ended) {
    const index = episodes.findLastIndex((other) =>
      isSame(one, other) && !isSeparate(one.chapter) && one.sinceMs - other.lastMs <= EPISODE_MS &&
      !outages.some(({ sinceMs }) => sinceMs > other.lastMs && sinceMs <= one.sinceMs)
    );
    const before = episodes[index];
    if (before === undefined) episodes.push(one);
    else {
      const { sinceMs, mayBeOlder } = before;
      const hasAlerted = before.hasAlerted || one.hasAlerted;
      const worst = isWorse(one, before) ? one : before;
      episodes[index] = { ...worst, sinceMs, mayBeOlder, hasAlerted, lastMs: one.lastMs };
    }
  }
  return belowCauses(
    episodes.filter(({ sinceMs, lastMs }) => lastMs - sinceMs >= EPISODE_MIN_MS)
      .sort((a, b) => b.lastMs - a.lastMs),
  );
}

/** Puts what an outage caused below it. */
function belowCauses(episodes: readonly Episode[]): Episode[] {
  const outages = episodes.filter(isAway);
  const outageOf = (one: Episode) =>
    outages.find((outage) =>
      !isAway(one) && isDuring(one, outage) &&
      // The start of a gap is exact.
      (one.cause === outage.service ||
        TO_BACKFILL.has(one.chapter) && STOPS_PRICES.has(outage.service))
    );
  const followers = Map.groupBy(episodes, outageOf);
  return (followers.get(undefined) ?? []).flatMap((one) => {
    const own = (followers.get(one) ?? [])
      .map((other) => ({ ...other, cause: one.service, isBlip: isShort(other) }));
    return [{ ...one, isBlip: isShort(one) && own.every(({ isBlip }) => isBlip) }, ...own];
  });
}

/** Without one of these, the node has no prices. */
const STOPS_PRICES: ReadonlySet<string> = new Set(["exchanges", "oracle", "node"]);

/** Whether a problem began during an outage, or seconds later. */
const isDuring = (one: Episode, outage: Episode) =>
  one.sinceMs >= outage.sinceMs - CAUSE_LATE_MS && one.sinceMs <= outage.lastMs + EPISODE_MS;

/** A problem without an alert is too short below this time, as if its health had failed. */
const SHORT_MS = 15_000;

/** Whether a problem ended before an alert could fire. */
const isShort = ({ afterS, hasAlerted, sinceMs, lastMs }: Episode) =>
  !hasAlerted && (afterS !== undefined || lastMs - sinceMs < SHORT_MS);

/** What caused a problem that has ended. A service's own failure is not named twice. */
export const causeText = ({ service, cause = service }: Pick<ProblemRecord, "service" | "cause">) =>
  cause === service ? "itself" : `${cause} was away`;

export const LOG_KEY = "rangemaker.problems";

export function storedRecords(store: Pick<Storage, "getItem">): ProblemRecord[] {
  const records = z.array(recordSchema).safeParse(tryParseJson(store.getItem(LOG_KEY) ?? ""));
  return records.data ?? []; // written by another version, or edited
}

export function storeRecords(
  store: Pick<Storage, "setItem">,
  records: readonly ProblemRecord[],
): void {
  store.setItem(LOG_KEY, JSON.stringify(records));
}
