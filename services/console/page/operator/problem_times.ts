/** When problems began and ended, as far as this page has seen since it was opened. */
import { type Finding, isAbsence, isAlarm, isCritical, type StartedFinding } from "./finding.ts";

type Named = Pick<Finding, "service" | "chapter">;

type State = Pick<Finding, "text" | "severity" | "extent">;

/** A problem that this page has seen. */
export interface SeenProblem
  extends Pick<StartedFinding, "sinceMs" | "mayBeOlder" | "isJudged">, Named {
  worst: State;
  /** The service that probably caused it, when it was last found. */
  cause: Finding["cause"];
  /** When it was last found. */
  seenMs: number;
}

export interface SeenProblems {
  /** Those that are found, or could not be checked. */
  lasting: readonly SeenProblem[];
  /** The last one first. */
  ended: readonly SeenProblem[];
}

/** Older ones are forgotten. */
export const ENDED_MAX = 20;

/** Figures that exceed their bounds for a shorter time have no effect. */
const LISTED_MIN_MS = 3_000;

const isSame = (one: Named) => (other: Named) =>
  one.service === other.service && one.chapter === other.chapter;

/** What is known of problems at a look at the services. */
interface Look {
  /**
   * Whether a problem would be found if it lasted. Else it neither ends nor begins again, for example
   * while its service is away.
   */
  isChecked(problem: Named): boolean;
  isJudged(problem: Omit<StartedFinding, "isJudged">): boolean;
}

/** The problems after a look at the services. */
export function afterLook(
  { lasting, ended }: SeenProblems,
  findings: readonly Finding[],
  { isChecked, isJudged }: Look,
  nowMs: number,
): SeenProblems {
  const found = findings.map((finding): SeenProblem => {
    const { service, chapter, text, severity, extent, cause, sinceMs } = finding;
    const before = lasting.find(isSame(finding));
    const now = { text, severity, extent };
    const start = {
      sinceMs: Math.min(sinceMs ?? nowMs, before?.sinceMs ?? nowMs),
      mayBeOlder: sinceMs === undefined && (before?.mayBeOlder ?? !isChecked(finding)),
    };
    return {
      ...{ service, chapter, cause, seenMs: nowMs, ...start },
      worst: before !== undefined && !isWorse(now, before.worst) ? before.worst : now,
      isJudged: isJudged({ ...finding, ...start }),
    };
  });
  const others = lasting.filter((one) => !findings.some(isSame(one)));
  const over = others.filter(isChecked).filter(isListed);
  return {
    lasting: [...found, ...others.filter((one) => !isChecked(one))],
    ended: [...over, ...ended].slice(0, ENDED_MAX),
  };
}

const isWorse = (one: State, other: State) =>
  one.severity === other.severity
    ? (one.extent ?? 0) > (other.extent ?? 0)
    : one.severity === "critical";

/** Whether it is listed when it has ended: no consequence, no late answer, and not too short. */
const isListed = ({ chapter, cause, worst, sinceMs, seenMs }: SeenProblem) =>
  cause === undefined &&
  (isAbsence({ chapter }) ? worst.severity === "critical" : seenMs - sinceMs >= LISTED_MIN_MS);

/** A finding with its start. */
export function withStart(finding: Finding, { lasting }: SeenProblems): StartedFinding {
  const { sinceMs = 0, mayBeOlder = false, isJudged = false } = lasting.find(isSame(finding)) ?? {};
  return { ...finding, sinceMs, mayBeOlder, isJudged };
}

/** The first alarm that was none at the look before. */
export const newAlarmOf = (findings: readonly StartedFinding[], { lasting }: SeenProblems) =>
  findings.find((one) => {
    const before = lasting.find(isSame(one));
    const wasAlarm = before?.isJudged && isCritical(before.worst) && before.cause === undefined;
    return one.isJudged && isAlarm(one) && !wasAlarm;
  });
