import { z } from "zod";
import { HOUR_MS } from "../../lib/time.ts";
import type { Clock } from "../../lib/clock.ts";
import { findProvider, type ProviderName } from "../../lib/protocol/providers.ts";

const EXCHANGE_FAULTS = {
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

export type ExchangeFault = keyof typeof EXCHANGE_FAULTS;

export const EXCHANGE_FAULT_NAMES = Object.keys(EXCHANGE_FAULTS) as ExchangeFault[]; // its own keys

/** Delay of all frames under `slow`, in milliseconds. */
export const SLOW_MS = 2_000;

/** How far ahead the clock is under `wrong_clock`, in milliseconds. */
export const WRONG_CLOCK_MS = HOUR_MS;

/** Under `gap`, trades whose number is a multiple of this are left out. */
export const GAP_EVERY = 5;

/** Time from the notice to the end under `shutdown`, in milliseconds. */
export const SHUTDOWN_NOTICE_MS = 10_000;

interface FaultTarget {
  inject(fault: ExchangeFault): void;
  clear(fault: ExchangeFault): void;
}

/** A planned fault; times count from the start. */
interface PlannedFault {
  provider: ProviderName;
  fault: ExchangeFault;
  afterMs: number;
  /** Undefined: the fault never ends. */
  forMs?: number;
}

const PATTERN =
  /^(?<exchange>[^=]+)=(?<fault>[a-z_]+)(?:@(?<after>\d{1,9})(?:\+(?<length>\d{1,9}))?)?$/;

/** `kraken=stall@10000+5000`: the exchange, the fault, its start and its duration in milliseconds. */
export const plannedFaultSchema = z.string().transform((text, context): PlannedFault => {
  const { exchange = "", fault: wanted, after, length } = PATTERN.exec(text)?.groups ?? {};
  const provider = findProvider(exchange);
  const fault = EXCHANGE_FAULT_NAMES.find((name) => name === wanted);
  if (provider === undefined || fault === undefined) {
    context.addIssue(
      "Expected exchange=fault, exchange=fault@after_ms or exchange=fault@after_ms+for_ms, with a " +
        `fault of ${EXCHANGE_FAULT_NAMES.join(", ")}`,
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
  exchangeOf: (provider: ProviderName) => FaultTarget | undefined,
  clock: Clock,
): () => void {
  const cancels = faults.flatMap(({ provider, fault, afterMs, forMs }) => [
    clock.after(afterMs, () => exchangeOf(provider)?.inject(fault)),
    ...forMs === undefined
      ? []
      : [clock.after(afterMs + forMs, () => exchangeOf(provider)?.clear(fault))],
  ]);
  return () => cancels.forEach((cancel) => cancel());
}
