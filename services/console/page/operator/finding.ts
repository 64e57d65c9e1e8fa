/** A problem as the operator reads it. */
import { type Problem, SERVICE_DOWN } from "../../../../lib/problems/mod.ts";
import { isAway, type ServiceName, type ServiceState } from "../data/service_watch.ts";
import { counted } from "../parts/format.ts";

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
  /** What its figures show; absent if it is away, or only says that it is not healthy. */
  problem?: Problem;
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

/** Something that this page sees, and since when. */
export type Seen<T> = T & { sinceMs: number };

/** The verdict on a service. */
interface Verdict {
  state: ServiceState;
  style: string;
  text: string;
}

/** What the page sees of the services. */
export interface Look {
  findings: readonly Seen<Finding>[];
  verdicts: readonly Seen<Verdict>[];
}

/** The next look. What the last one has as well is seen since then. */
export function nextLook(
  last: Look,
  states: readonly ServiceState[],
  findings: readonly Finding[],
  nowMs: number,
): Look {
  return {
    findings: findings.map((finding) => {
      const { service, chapter } = finding;
      const same = last.findings.find((one) => one.service === service && one.chapter === chapter);
      return { ...finding, sinceMs: same?.sinceMs ?? nowMs };
    }),
    verdicts: states.map((state) => {
      const [style, text] = serviceVerdictOf(state, findings);
      const same = last.verdicts.find((one) => one.state.name === state.name && one.text === text);
      return { state, style, text, sinceMs: same?.sinceMs ?? nowMs };
    }),
  };
}
