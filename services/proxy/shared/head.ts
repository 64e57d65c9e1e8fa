import { z } from "zod";

/** The newest block of a node. */
export interface Head {
  number: number;
  /** Unix seconds. */
  timestampS: number;
}

const QUANTITY = /^0x[0-9a-fA-F]{1,16}$/;

const quantitySchema = z.string().regex(QUANTITY).transform(Number);

/** The parts of a block that show how far a node is. */
export const headSchema = z.object({ number: quantitySchema, timestamp: quantitySchema })
  .transform(({ number, timestamp }): Head => ({ number, timestampS: timestamp }));

/** The head in the result of a `newHeads` notification; undefined if there is none. */
export function headOf(block: unknown): Head | undefined {
  // A schema would be slower than the rest of a notification's handling.
  if (typeof block !== "object" || block === null) return undefined;
  const { number, timestamp }: { number?: unknown; timestamp?: unknown } = block;
  const height = quantity(number);
  if (height === undefined) return undefined;
  return { number: height, timestampS: quantity(timestamp) ?? 0 };
}

function quantity(value: unknown): number | undefined {
  return typeof value === "string" && QUANTITY.test(value) ? Number(value) : undefined;
}
