import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { findProvider, type ProviderName } from "../../lib/protocol/providers.ts";
import { VENUE_FAULT_NAMES, type VenueFault } from "./faults.ts";
import type { Venue } from "./venue.ts";

/** A fault that is to happen, counted from the start. */
export interface PlannedFault {
  provider: ProviderName;
  fault: VenueFault;
  afterMs: number;
  /** Undefined lasts to the end. */
  forMs?: number;
}

const PATTERN =
  /^(?<venue>[^=]+)=(?<fault>[a-z_]+)(?:@(?<after>\d{1,9})(?:\+(?<length>\d{1,9}))?)?$/;

/** `kraken=stall@10000+5000`: the venue, what goes wrong, after and for how many milliseconds. */
export const plannedFaultSchema = z.string().transform((text, context): PlannedFault => {
  const { venue = "", fault: wanted, after, length } = PATTERN.exec(text)?.groups ?? {};
  const provider = findProvider(venue);
  const fault = VENUE_FAULT_NAMES.find((name) => name === wanted);
  if (provider === undefined || fault === undefined) {
    context.addIssue(
      `Expected venue=fault, venue=fault@after_ms or venue=fault@after_ms+for_ms, with a fault of ` +
        VENUE_FAULT_NAMES.join(", "),
    );
    return z.NEVER;
  }
  return {
    provider,
    fault,
    afterMs: Number(after ?? 0),
    forMs: length === undefined ? undefined : Number(length),
  };
});

/** Lets faults begin and end when their time comes. @returns What calls it off. */
export function planFaults(
  faults: readonly PlannedFault[],
  venueOf: (provider: ProviderName) => Venue | undefined,
  clock: Clock,
): () => void {
  const cancels = faults.flatMap(({ provider, fault, afterMs, forMs }) => [
    clock.after(afterMs, () => venueOf(provider)?.inject(fault)),
    ...forMs === undefined
      ? []
      : [clock.after(afterMs + forMs, () => venueOf(provider)?.clear(fault))],
  ]);
  return () => cancels.forEach((cancel) => cancel());
}
