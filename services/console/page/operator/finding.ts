/** A problem as the operator reads it. */
import { type Problem, SERVICE_DOWN } from "../../../../lib/problems/mod.ts";
import { isAway, isSilent, type ServiceName, type ServiceState } from "../data/service_watch.ts";
import { counted, durationText, formatTime } from "../parts/format.ts";
import type { Repair } from "./repairs.ts";

/** A problem that an operator must look at, with the members of its {@link Repair} if known. */
export interface Finding extends Partial<Repair> {
  service: ServiceName;
  severity: Problem["severity"];
  /** A short description. */
  text: string;
  effect?: string;
  /** Messages of the service itself. */
  details: readonly string[];
  firstStep: string;
  /** Commands by the way in which the service is run; one of them applies. */
  commandsByWay?: Problem["commandsByWay"];
  /** The process that does not answer. */
  pid?: number;
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

/** Path of a chapter of the runbook, with commands for a service and its process. */
export function runbookOf(
  { chapter, service, pid }: Pick<Finding, "chapter" | "service" | "pid">,
): string {
  const process = pid === undefined ? "" : `&pid=${pid}`;
  return `/runbook/${encodeURIComponent(chapter)}?service=${service}${process}`;
}

/**
 * Whether it is shown below its cause, when that is opened: not if its time is running out, and not
 * what a service lacks since its own start, which may never come.
 */
export const isFolded = (
  { service, cause, isCauseFailing, alertWindowMs, deadlinesMs = [] }: Finding,
) =>
  cause !== undefined && deadlinesMs.length === 0 &&
  (cause !== service || isCauseFailing === true || alertWindowMs !== undefined);

/** Such as `3 more problems (2 critical), probably because node does not answer`. */
export function followingText(
  findings: readonly Finding[],
  states: readonly ServiceState[],
): string {
  const following = findings.filter(isFolded);
  const more = following.length < findings.length ? "more " : "";
  const criticals = following.filter(({ severity }) => severity === "critical").length;
  const reasons = [...new Set(following.flatMap(({ cause }) => cause ?? []))].map((name) => {
    const state = states.find((state) => state.name === name);
    if (state === undefined || isSilent(state)) return `${name} does not answer`;
    const own = following.filter(({ cause }) => cause === name);
    if (own.some(({ isCauseFailing }) => isCauseFailing)) return `${name} does not work`;
    const counted = own.flatMap(({ alertWindowMs }) => alertWindowMs ?? []);
    const end = counted.length === 0 ? "a minute" : durationText(Math.max(...counted));
    return `${name} was away or did not work: this should end within ${end}`;
  });
  return counted(following.length, `${more}problem`) +
    (criticals > 0 ? ` (${criticals} critical)` : "") + `, probably because ${reasons.join("; ")}`;
}

/** What waits for prices: the next bet that ends, with the time until then, or bets that have ended. */
export function deadlineText(
  endsMs: readonly number[],
  nowMs: number,
): { left?: string; bets: string } | undefined {
  const open = endsMs.filter((endMs) => endMs > nowMs);
  const count = endsMs.length - open.length;
  const ended = `${counted(count, "bet")} that ended ${count === 1 ? "waits" : "wait"}`;
  if (open.length === 0) return count === 0 ? undefined : { bets: ended };
  const nextMs = Math.min(...open);
  const which = open.length === 1 ? "the bet" : `the next of ${open.length} bets`;
  return {
    left: durationText(nextMs - nowMs),
    bets: `${which} ends at ${formatTime(nextMs)}${count === 0 ? "" : `, and ${ended} for it`}`,
  };
}

/** When it began, as far as that is known. */
export function startText(finding: StartedFinding): string {
  const time = formatTime(finding.sinceMs);
  if (finding.mayBeOlder) return `seen since ${time}, may be older`;
  return isAbsence(finding) ? `last answer ${time}` : `since ${time}`;
}
