import type { TriedBox } from "./boxes.ts";

/** Buckets from 0 to 1. */
export const BUCKETS = 10;

/** Which strategy paid. */
export type Payer = "mock" | "barrier";

/** The boxes whose probability lies in one tenth of the scale. */
export interface Bucket {
  /** Least probability; the bucket reaches up to a tenth more. */
  from: number;
  boxes: number;
  /** Mean probability by the model. */
  predicted: number;
  /** Share of the boxes that held. */
  observed: number;
  /** Deviation of `observed` if the model is right and no box knows of another. */
  samplingError: number;
  /** The maker's mean gain on a bet of 1. */
  gain: Record<Payer, number>;
}

/** The maker's gain on a bet of 1 on a box. */
export function gainOf({ held, mockRatio, barrierRatio }: TriedBox, payer: Payer): number {
  if (!held) return 1;
  return 1 - (payer === "mock" ? mockRatio : barrierRatio);
}

/** Whether a user who knows the model would bet: on average it pays more than it costs. */
export function isWorthIt(
  { probability, mockRatio, barrierRatio }: TriedBox,
  payer: Payer,
): boolean {
  return probability * (payer === "mock" ? mockRatio : barrierRatio) > 1;
}

/** The boxes by probability; empty buckets are left out. */
export function bucketsOf(boxes: readonly TriedBox[]): Bucket[] {
  const groups = new Map<number, TriedBox[]>();
  for (const box of boxes) {
    const index = Math.min(BUCKETS - 1, Math.floor(box.probability * BUCKETS));
    const group = groups.get(index);
    if (group === undefined) groups.set(index, [box]);
    else group.push(box);
  }
  return [...groups].sort(([a], [b]) => a - b).map(([index, group]) => ({
    from: index / BUCKETS,
    boxes: group.length,
    predicted: meanOf(group, ({ probability }) => probability),
    observed: meanOf(group, ({ held }) => held ? 1 : 0),
    samplingError: Math.sqrt(
      meanOf(group, ({ probability }) => probability * (1 - probability)) / group.length,
    ),
    gain: {
      mock: meanOf(group, (box) => gainOf(box, "mock")),
      barrier: meanOf(group, (box) => gainOf(box, "barrier")),
    },
  }));
}

/** Mean squared error of the probabilities: 0 for a prophet, 0.25 for a coin. */
export function brierScore(boxes: readonly TriedBox[]): number {
  return meanOf(boxes, ({ probability, held }) => (probability - (held ? 1 : 0)) ** 2);
}

function meanOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0) / items.length;
}
