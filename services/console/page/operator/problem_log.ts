/** When problems began and ended, kept in the browser: a reload forgets nothing. */
import * as z from "zod";
import { type Finding, keyOf } from "./problems.ts";

const recordSchema = z.object({
  key: z.string(),
  service: z.string(),
  /** Of its worst state. */
  text: z.string(),
  extent: z.number(),
  /** It did not only follow from another service's absence. */
  isCause: z.boolean(),
  sinceMs: z.number(),
  /** It was there when the page began to look, and nobody says since when. */
  mayBeOlder: z.boolean(),
  lastSeenMs: z.number(),
});

/** A problem that lasts or has ended. */
export type ProblemRecord = z.output<typeof recordSchema>;

/** A service that hangs is noticed so long after what follows from it: a request waits for seconds. */
const CAUSE_LATE_MS = 10_000;

/** Absent for less, it lasts: rates need some seconds after a reload. */
const ABSENT_MAX_MS = 15_000;

const RECORDS_MAX = 200;

/** Whether it was seen so lately that it counts as lasting. */
const isLasting = ({ lastSeenMs }: ProblemRecord, nowMs: number) =>
  nowMs - lastSeenMs <= ABSENT_MAX_MS;

/** The record of a problem that lasts. */
export function recordOf(
  records: readonly ProblemRecord[],
  finding: Finding,
  nowMs: number,
): ProblemRecord | undefined {
  return records.find((one) => one.key === keyOf(finding) && isLasting(one, nowMs));
}

/** The records after a look at the services, newest first. */
export function logged(
  before: readonly ProblemRecord[],
  findings: readonly Finding[],
  nowMs: number,
): ProblemRecord[] {
  const current = findings.map((finding): ProblemRecord => {
    const known = recordOf(before, finding, nowMs);
    const { service, text, extent = 0, cause, sinceMs = known?.sinceMs, mayBeOlder } = finding;
    const worst = known !== undefined && known.extent > extent ? known : { text, extent };
    return {
      ...{ key: keyOf(finding), service, lastSeenMs: nowMs },
      ...{ text: worst.text, extent: worst.extent },
      isCause: cause === undefined ||
        known?.isCause === true && nowMs - known.sinceMs > CAUSE_LATE_MS,
      sinceMs: sinceMs ?? nowMs,
      mayBeOlder: finding.sinceMs === undefined && (known?.mayBeOlder ?? mayBeOlder),
    };
  });
  const keys = new Set(current.map(({ key }) => key));
  const others = before.filter((one) => !keys.has(one.key) || !isLasting(one, nowMs));
  return [...current, ...others].slice(0, RECORDS_MAX);
}

/** Problems that have ended, the last one first, without what only followed from another one. */
export function endedOf(records: readonly ProblemRecord[], nowMs: number): ProblemRecord[] {
  return records.filter((one) => one.isCause && !isLasting(one, nowMs))
    .sort((a, b) => b.lastSeenMs - a.lastSeenMs);
}

const STORAGE_KEY = "rangemaker.problems";

export function storedRecords(store: Pick<Storage, "getItem">): ProblemRecord[] {
  try {
    return z.array(recordSchema).parse(JSON.parse(store.getItem(STORAGE_KEY) ?? "[]"));
  } catch {
    return []; // of another version, or changed by hand
  }
}

export function storeRecords(
  store: Pick<Storage, "setItem">,
  records: readonly ProblemRecord[],
): void {
  store.setItem(STORAGE_KEY, JSON.stringify(records));
}
