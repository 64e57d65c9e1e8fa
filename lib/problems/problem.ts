/** A problem of a service: alerts, the operator's page and the runbook are made from it. */
import { type Figures, gauge, type Measure, type Sample } from "./measure.ts";

/** A problem exists while its value is above, below or equal to a limit. */
interface Bound {
  op: ">" | "<" | "==";
  limit: number;
}

export interface Problem {
  /** Name of the alert, and heading of the chapter in docs/runbooks.md. */
  name: string;
  /** Name of its figure on the operator's page; absent if another problem has the same figure. */
  title?: string;
  measure: Measure;
  /** The parts of the value that the operator's page shows, such as refusals by code. */
  breakdown?: Measure;
  bound: Bound;
  unit?: "share" | "seconds" | "bytes" | "rate";
  /** The value is 1 for yes and 0 for no. */
  isFlag?: boolean;
  /** The cause is never a service that does not answer. */
  isRootCause?: boolean;
  /** Its service stays healthy and ready: although it may be critical, it explains no other problem. */
  isBesideHealth?: boolean;
  /** Name of a problem of the same service that explains this one while both exist. */
  follows?: string;
  /** `critical` costs money or users now; `warning` will, unless somebody acts today. */
  severity: "critical" | "warning";
  /** How long the problem must last before the alert fires. */
  afterS?: number;
  /** It is normal for this long after the start of the process: its alert waits for longer. */
  warmUpS?: number;
  /** What is wrong. `{value}` and names of labels in braces are filled in. */
  message: string;
  /** What users notice; of a critical problem, by default, what they do without the service. */
  effect?: string;
  /** Names of labels in braces are filled in, from one that it concerns. */
  firstStep: string;
}

/** What a problem measures: a gauge that should be 1, for yes, and is 0. */
export function whenFalse(metric: string): Pick<Problem, "measure" | "bound" | "isFlag"> {
  return { measure: gauge(metric), bound: { op: "==", limit: 0 }, isFlag: true };
}

export function beyondBound({ measure, bound }: Problem, figures: Figures): Sample[] {
  return measure.read(figures).filter(({ value }) => isBeyond(value, bound));
}

export function isBeyond(value: number, { op, limit }: Bound): boolean {
  if (op === "==") return value === limit;
  return op === ">" ? value > limit : value < limit;
}

/** Replaces each `{name}`. */
export function fillPlaceholders(text: string, valueOf: (name: string) => string): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name) => valueOf(name));
}
