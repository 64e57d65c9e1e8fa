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
  /** Heading of the chapter in docs/runbooks.md or docs/operating.md. */
  chapter: string;
  /** The likely cause: a needed service that does not work, or itself if another figure explains it. */
  cause?: ServiceName | undefined;
  /** Chapter of the problem of the same service that explains this one. */
  explainedBy?: string;
}

/** Whether a service is away. */
export const isAbsence = ({ chapter }: Pick<Finding, "chapter">) => chapter === SERVICE_DOWN.name;

export const isCritical = ({ severity }: Pick<Finding, "severity">) => severity === "critical";

/** Whether a problem is critical and has no other cause. */
export const isAlarm = (finding: Finding) => isCritical(finding) && finding.cause === undefined;

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

/** The state of a service: a class, and a sign with a few words. */
export function serviceVerdictOf(
  state: ServiceState,
  findings: readonly Finding[],
): [style: string, text: string] {
  const { name, presence, isReady } = state;
  const own = findings.filter(({ service }) => service === name);
  if (presence === "forbidden") return ["lost", "✕ does not allow this page to read it"];
  if (isAway(state)) return ["lost", "✕ does not answer"];
  if (presence === "unknown") return ["note", "… asking"];
  if (own.some(isAlarm)) return ["lost", "✕ has a problem"];
  const [first] = own;
  if (first?.cause !== undefined) return ["warning", `▲ probably because of ${first.cause}`];
  if (first !== undefined) return ["warning", "▲ has a warning"];
  return ["won", isReady === undefined ? "✓ healthy" : "✓ healthy, ready"];
}

/** Path of a chapter of the runbook. */
export const runbookOf = (chapter: string) => `/runbook/${encodeURIComponent(chapter)}`;

/** When each problem and each verdict on a service was first seen by this page. */
export type FirstSeen = ReadonlyMap<string, number>;

const keyOf = (service: ServiceName, what: string) => `${service}: ${what}`;

/** What is present now, with the time when it was first seen; what has ended is forgotten. */
export function firstSeenAfter(
  before: FirstSeen,
  states: readonly ServiceState[],
  findings: readonly Finding[],
  nowMs: number,
): FirstSeen {
  const keys = [
    ...findings.map(({ service, chapter }) => keyOf(service, chapter)),
    ...states.map((state) => keyOf(state.name, serviceVerdictOf(state, findings)[1])),
  ];
  return new Map(keys.map((key) => [key, before.get(key) ?? nowMs]));
}

/** @param what The chapter of a problem, or a verdict. */
export const firstSeenText = (firstSeen: FirstSeen, service: ServiceName, what: string) =>
  formatTime(firstSeen.get(keyOf(service, what)) ?? Date.now());
