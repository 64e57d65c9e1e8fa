/** What can be wrong with a service: alerts, the operator's page and the runbook are made of it. */
import type { Figures, Measure, Sample } from "./measure.ts";

/** A bound that must not be crossed: the problem is there while the value is beyond it. */
export type Bound = `${">" | "<" | "=="} ${number}`;

/** One kind of problem. */
export interface Problem {
  /** Of the alert, and the heading of the chapter in docs/operating.md. */
  name: string;
  /** What is measured, in words. */
  figure: string;
  measure: Measure;
  bound: Bound;
  /** How values are written. */
  unit?: "share" | "seconds" | "bytes";
  /** `critical` loses money or users now; `warning` will, if nobody looks at it today. */
  severity: "critical" | "warning";
  /** How long it must last before somebody is alerted. */
  afterS?: number;
  /** What is wrong; `{value}` and names of labels in braces are filled in. */
  words: string;
  /** What to do first. */
  advice: string;
}

/** The values of a service that are beyond the bound of a problem. */
export function beyondBound({ measure, bound }: Problem, figures: Figures): Sample[] {
  return measure.read(figures).filter(({ value }) => isBeyond(value, bound));
}

export function isBeyond(value: number, bound: Bound): boolean {
  const limit = limitOf(bound);
  if (bound.startsWith("==")) return value === limit;
  return bound.startsWith(">") ? value > limit : value < limit;
}

/** The number in a bound. */
export function limitOf(bound: Bound): number {
  return Number(bound.split(" ")[1]);
}

/** A text with `{names}` replaced. */
export function filledIn(words: string, valueOf: (name: string) => string): string {
  return words.replaceAll(/\{(\w+)\}/g, (_, name) => valueOf(name));
}
