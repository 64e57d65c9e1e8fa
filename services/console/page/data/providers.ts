import { type Signal, signal } from "@preact/signals";
import { z } from "zod";
import type { Clock } from "../../../../lib/clock.ts";
import { callJson } from "../../../../lib/net/call_json.ts";
import { PollingLoop } from "../../../../lib/net/polling_loop.ts";
import { uint64Schema } from "../../../../lib/protocol/scalars.ts";

/** Between two questions to the oracle. */
const POLL_MS = 1_500;

/** The parts of the oracle's `GET /providers` that are shown. */
export const providersSchema = z.object({
  providers: z.array(z.object({
    name: z.string(),
    exchange: z.string(),
    ready: z.boolean(),
    streams: z.record(z.string(), z.object({ lastTradeAgeMs: z.number().nullable() })),
    reconnects: z.number(),
    lastError: z.string().nullable(),
  })),
  pairSources: z.record(
    z.string(),
    z.object({
      price: uint64Schema.optional(),
      sourcePrices: z.record(z.string(), uint64Schema),
      deviationBasisPoints: z.record(z.string(), z.number()).optional(),
      outliers: z.array(z.string()),
    }),
  ),
});

/** The oracle's sources of each market. */
export type Providers = z.output<typeof providersSchema>;

/** Follows the oracle's sources while it is started. */
export class ProvidersWatch {
  /** Undefined while the oracle does not answer. */
  readonly providers: Signal<Providers | undefined> = signal(undefined);
  readonly #loop: PollingLoop;

  constructor(oracleUrl: string, clock: Clock) {
    const url = `${oracleUrl.replace(/\/+$/, "")}/providers`;
    this.#loop = new PollingLoop({
      clock,
      intervalMs: POLL_MS,
      poll: async (signal) => {
        const providers = await callJson(url, providersSchema, undefined, { signal });
        if (!signal.aborted) this.providers.value = providers;
      },
      onFailure: () => this.providers.value = undefined,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.pause();
  }
}
