/** A problem as the operator reads it. */
import { type Problem, SERVICE_DOWN } from "../../../../lib/problems/mod.ts";
import { isAway, type ServiceName, type ServiceState } from "../data/service_watch.ts";
import { counted, formatTime } from "../parts/format.ts";

/** A problem that an operator must look at. */
export interface Finding {
  service: ServiceName;
  severity: Problem["severity"];
  /** A short description. */
  text: string;
  effect?: string;
  /** Messages of the service itself. */
  details: readonly string[];
  firstStep: string;
  /** When it began, if its service says so. */
  sinceMs?: number;
  /** Heading of the chapter in docs/runbooks.md or docs/operating.md. */
  chapter: string;
  /** The likely cause: a needed service that fails or was away, or the service itself. */
  cause?: ServiceName | undefined;
  /** Whether the cause answers, but does not work. */
  isCauseFailing?: boolean;
  /** Chapter of the problem of the same service that explains this one. */
  explainedBy?: string;
  /** The window of the alert, if it counts events. */
  alertWindowMs?: number;
  /** How far it exceeds its bound, over all markets or exchanges. */
  excess?: number | undefined;
}

/** A problem with its start. */
export interface StartedFinding extends Finding {
  sinceMs: number;
  /** Its service was not watched before, so it may have begun earlier. */
  mayBeOlder: boolean;
  /** Whether its cause is known, or that it has none. */
  isJudged: boolean;
}

/** Whether a service is away or late. */
export const isAbsence = ({ chapter }: Pick<Finding, "chapter">) => chapter === SERVICE_DOWN.name;

export const isCritical = ({ severity }: Pick<Finding, "severity">) => severity === "critical";

/** Whether a problem is critical and has no other cause. */
export const isAlarm = (finding: Finding) => isCritical(finding) && finding.cause === undefined;

/** The text that all watched services work, and how to watch the others. */
export function noProblemText(watched: readonly ServiceName[]): string {
  const unwatched = (["oracle", "node"] as const).filter((name) => !watched.includes(name));
  if (unwatched.length === 0) return "✓ All services work.";
  const options = unwatched.map((name) => `--${name}-url`).join(" and ");
  return `✓ The services below work. To watch all, start the console with ${options}.`;
}

/**
 * How much is wrong with its consequences, as a class and a text; only for lists that are not
 * empty.
 */
export function verdictOf(findings: readonly Finding[]): [style: string, text: string] {
  const criticals = findings.filter(isCritical).length;
  const warnings = findings.length - criticals;
  const parts = [
    criticals > 0 && `✕ ${counted(criticals, "critical problem")}`,
    warnings > 0 && `▲ ${counted(warnings, "warning")}`,
  ].filter((part) => part);
  const services = [...new Set(findings.map(({ service }) => service))].join(", ");
  return [criticals > 0 ? "lost" : "warning", `${parts.join(", ")}: ${services}.`];
}

/** The state of a service as a sign, a word and a class. */
export function serviceVerdictOf(
  state: ServiceState,
  findings: readonly StartedFinding[],
): [style: string, text: string] {
  const { name, presence, isReady } = state;
  const own = findings.filter(({ service }) => service === name);
  if (presence === "overdue") return ["warning", "▲ no answer yet"];
  if (presence === "forbidden") return ["lost", "✕ does not allow this page to read it"];
  if (isAway(state)) return ["lost", "✕ does not answer"];
  if (presence === "unknown" || own.some(({ isJudged }) => !isJudged)) return ["note", "… asking"];
  if (own.some(isAlarm)) return ["lost", "✕ has a problem"];
  const [first] = own;
  if (first?.cause === name) return ["warning", "▲ was away"];
  if (first?.cause !== undefined) return ["warning", `▲ probably because of ${first.cause}`];
  if (first !== undefined) return ["warning", "▲ has a warning"];
  return ["won", isReady === undefined ? "✓ healthy" : "✓ healthy, ready"];
}

/** The chapter of docs/deploying.md that starts each service in a terminal. */
export const START_CHAPTER = "Each service on its own";

/** Path of a chapter of the runbook, with commands for a service. */
export const runbookOf = ({ chapter, service }: Pick<Finding, "chapter" | "service">) =>
  `/runbook/${encodeURIComponent(chapter)}?service=${service}`;

/** When it began, as far as that is known. */
export function startText(finding: StartedFinding): string {
  const time = formatTime(finding.sinceMs);
  if (finding.mayBeOlder) return `seen since ${time}, may be older`;
  return isAbsence(finding) ? `last answer ${time}` : `since ${time}`;
}
