/** When problems began and ended, as far as this page has seen since it was opened. */
import { BACK_MS } from "./causes.ts";
import { type Finding, isAbsence, isAlarm, isCritical, type StartedFinding } from "./finding.ts";

type Named = Pick<Finding, "service" | "chapter">;

/** A problem that this page has seen, as it was last found. */
export interface SeenProblem extends StartedFinding {
  /** The same problem when it was worst. */
  worst: Finding;
  seenAtMs: number;
}

export interface SeenProblems {
  found: readonly SeenProblem[];
  /** Those that could not be checked since they were found. */
  unchecked: readonly SeenProblem[];
  /** The last one first. */
  ended: readonly SeenProblem[];
}

/** Older ones are forgotten. */
export const ENDED_MAX = 20;

/** Figures that exceed their bounds for a shorter time have no effect. */
const LISTED_MIN_MS = 3_000;

const isSame = (finding: Named) => (other: Named) =>
  finding.service === other.service && finding.chapter === other.chapter;

/** What is known of problems at a look at the services. */
interface Look {
  /**
   * Whether a problem would be found if it lasted. Else it neither ends nor begins again, for
   * example while its service is away.
   */
  isChecked(problem: Named): boolean;
  isJudged(problem: Omit<StartedFinding, "isJudged">): boolean;
  mayBeOlder(problem: Named): boolean;
}

/** The problems after a look at the services. */
export function seenAfter(
  { found, unchecked, ended }: SeenProblems,
  findings: readonly Finding[],
  { isChecked, isJudged, mayBeOlder }: Look,
  nowMs: number,
): SeenProblems {
  const known = [...found, ...unchecked];
  const others = known.filter((finding) => !findings.some(isSame(finding)));
  return {
    found: findings.map((finding) => {
      const before = known.find(isSame(finding));
      const started = {
        ...finding,
        sinceMs: Math.min(finding.sinceMs ?? nowMs, before?.sinceMs ?? nowMs),
        mayBeOlder: finding.sinceMs === undefined && (before?.mayBeOlder ?? mayBeOlder(finding)),
      };
      const worst = before !== undefined && !isWorse(finding, before.worst)
        ? before.worst
        : finding;
      return { ...started, worst, seenAtMs: nowMs, isJudged: isJudged(started) };
    }),
    unchecked: others.filter((finding) => !isChecked(finding)),
    ended: [...others.filter((finding) => isChecked(finding) && isListed(finding)), ...ended]
      .slice(0, ENDED_MAX),
  };
}

/** A service that fails may be noticed this much later than its consequences. */
const NOTICED_LATE_MS = 15_000;

/** Whether a problem has lasted without a cause: no later outage is its cause. */
export const hadNoCause = ({ found, unchecked }: SeenProblems, finding: Named) =>
  [...found, ...unchecked].some((other) =>
    isSame(finding)(other) && other.isJudged && other.cause === undefined &&
    other.seenAtMs - other.sinceMs >= NOTICED_LATE_MS
  );

/** What decides about causes now. */
export const pastOf = (seen: SeenProblems, nowMs: number) => ({
  isOlder: (finding: Finding) => hadNoCause(seen, finding),
  // Those of the last look that are not found now have just ended.
  ended: [...seen.found, ...seen.ended].filter(({ seenAtMs }) => nowMs - seenAtMs <= BACK_MS),
});

const isWorse = (finding: Finding, other: Finding) =>
  finding.severity === other.severity
    ? (finding.excess ?? 0) > (other.excess ?? 0)
    : finding.severity === "critical";

/** Whether it is listed when it has ended: no consequence, no late answer, and not too short. */
const isListed = ({ chapter, cause, worst, sinceMs, seenAtMs }: SeenProblem) =>
  cause === undefined &&
  (isAbsence({ chapter }) ? worst.severity === "critical" : seenAtMs - sinceMs >= LISTED_MIN_MS);

/** The first alarm that was none at the look before. */
export const newAlarmOf = (after: SeenProblems, before: SeenProblems) =>
  after.found.find((finding) => {
    const last = [...before.found, ...before.unchecked].find(isSame(finding));
    const wasAlarm = last?.isJudged && isCritical(last.worst) && last.cause === undefined;
    return finding.isJudged && isAlarm(finding) && !wasAlarm;
  });
