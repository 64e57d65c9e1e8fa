/** What can be wrong with a service: alerts, the operator's page and the runbook are made of it. */
import type { Figures, Measure, Sample } from "./measure.ts";

/** The problem is there while the value compares like this to the limit. */
export interface Bound {
  op: ">" | "<" | "==";
  limit: number;
}

export interface Problem {
  /** Of the alert, and the heading of the chapter in docs/operating.md. */
  name: string;
  title: string;
  measure: Measure;
  /** What the value is made of, such as refusals by code; the operator's page names it. */
  parts?: Measure;
  bound: Bound;
  unit?: "share" | "seconds" | "bytes";
  /** The value is 1 for yes and 0 for no. */
  isFlag?: boolean;
  /** It does not follow from the absence of another service, nor from its own. */
  isItsOwn?: boolean;
  /** `critical` loses money or users now; `warning` will, if nobody looks at it today. */
  severity: "critical" | "warning";
  /** How long it must last before somebody is alerted. */
  afterS?: number;
  /**
   * What is wrong. `{value}` and names of labels in braces are filled in, and here and in steps and
   * commands `{service}`.
   */
  message: string;
  /** What users notice; the operator's page says it. */
  effect?: string;
  firstStep: string;
  /** First steps where the parts are these; `firstStep` is for all others. */
  stepsByPart?: Readonly<Record<string, string>>;
  /** Commands of the first step, one for each way in which a service may be run. */
  commandsByWay?: Readonly<Record<string, string>>;
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
