import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { findProvider, type ProviderName } from "../../lib/protocol/providers.ts";

const VENUE_FAULTS = {
  stall: "sends nothing, though the socket stays open",
  mute: "sends no trades, though heartbeats and pongs go on",
  stuck_time: "keeps sending the same exchange time",
  garbage: "sends a broken frame before every trade",
  duplicate: "sends every trade a second time, after the next one",
  gap: "leaves out every fifth trade",
  refuse: "refuses subscriptions",
  close: "closes every connection, also new ones at once",
  no_ack: "acknowledges no subscription and sends no trades on it",
  slow: "sends everything two seconds late",
  wrong_clock: "has its clock an hour ahead",
  shutdown: "gives notice and closes ten seconds later, new connections too",
} as const;

export type VenueFault = keyof typeof VENUE_FAULTS;

export const VENUE_FAULT_NAMES = Object.keys(VENUE_FAULTS) as VenueFault[]; // its own keys

/** Delay of all frames under `slow`, in milliseconds. */
export const SLOW_MS = 2_000;

/** How far ahead the clock is under `wrong_clock`, in milliseconds. */
export const WRONG_CLOCK_MS = 3_600_000;

/** Under `gap`, trades whose number is a multiple of this are left out. */
export const GAP_EVERY = 5;

/** Time from the notice to the end under `shutdown`, in milliseconds. */
export const SHUTDOWN_NOTICE_MS = 10_000;

interface FaultTarget {
  inject(fault: VenueFault): void;
  clear(fault: VenueFault): void;
}

/** A planned fault; times count from the start. */
interface PlannedFault {
  provider: ProviderName;
  fault: VenueFault;
  afterMs: number;
  /** Undefined: the fault never ends. */
  forMs?: number;
}

const PATTERN =
  /^(?<venue>[^=]+)=(?<fault>[a-z_]+)(?:@(?<after>\d{1,9})(?:\+(?<length>\d{1,9}))?)?$/;

/** `kraken=stall@10000+5000`: the venue, the fault, its start and its duration in milliseconds. */
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

/** Schedules faults. @returns Cancels the schedule. */
export function scheduleFaults(
  faults: readonly PlannedFault[],
  venueOf: (provider: ProviderName) => FaultTarget | undefined,
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
