import { type Signal, signal } from "@preact/signals";
import * as z from "zod";
import type { Clock } from "@rangemaker/client";
import { uint64Schema } from "../../../../lib/protocol/scalars.ts";
import { get, Poll } from "./http.ts";

/** The parts of the oracle's `GET /providers` that are shown. */
export const providersSchema = z.object({
  providers: z.array(z.object({
    name: z.string(),
    exchange: z.string(),
    ready: z.boolean(),
    streams: z.record(
      z.string(),
      z.object({
        lastTradeAgeMs: z.number().nullable(),
        exchangeLagMs: z.number().nullish(),
      }),
    ),
    reconnects: z.number(),
    lastError: z.string().nullable(),
    lastErrorTime: z.number().nullish(),
  })),
  pairSources: z.record(
    z.string(),
    z.object({
      price: z.optional(uint64Schema),
      sourcePrices: z.record(z.string(), uint64Schema),
      deviationBasisPoints: z.record(z.string(), z.number()).optional(),
      outliers: z.array(z.string()),
    }),
  ),
});

/** The oracle's sources of each market. */
export type Providers = z.output<typeof providersSchema>;

/** Polls the oracle's sources while its {@link poll} is started. */
export class ProvidersWatch {
  /** Undefined until the oracle answers, and while it does not. */
  readonly providers: Signal<Providers | undefined> = signal(undefined);
  readonly poll: Poll;

  constructor(oracleUrl: string, clock: Clock) {
    this.poll = new Poll(clock, async (signal) => {
      const providers = await get(`${oracleUrl}/providers`, signal)
        .then(({ text }) => providersSchema.parse(JSON.parse(text)))
        .catch(() => undefined); // the view shows that the oracle does not answer
      if (!signal.aborted) this.providers.value = providers;
    });
  }

  /** Asks at once, and forgets what may be out of date. */
  start(): void {
    this.providers.value = undefined;
    this.poll.start();
  }
}
