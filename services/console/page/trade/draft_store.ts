/** Boxes that were drawn and not placed, kept in the browser by market. */
import * as z from "zod";
import type { Clock } from "@rangemaker/client";
import type { TextStore } from "../data/wallets.ts";
import type { DraftFields } from "./draft.ts";

const PLACE = "rangemaker.drafts";

/** The price has moved away from an older one. */
const LIFE_MS = 3_600_000;

const text = z.string().max(40);
const fieldsSchema = z.object({
  lower: text,
  upper: text,
  startsIn: text,
  lasts: text,
  amount: text,
});
const keptSchema = z.object({
  symbol: z.string(),
  drafts: z.record(z.string(), z.object({ atMs: z.number(), fields: fieldsSchema })),
}).catch({ symbol: "", drafts: {} });

/** Drafts survive a change of the market and a reload. */
export class DraftStore {
  readonly #store: TextStore;
  readonly #clock: Pick<Clock, "now">;

  constructor(store: TextStore, clock: Pick<Clock, "now">) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The market that was shown last; empty at first. */
  get symbol(): string {
    return this.#read().symbol;
  }

  /** The draft of a market, if it is not too old. */
  of(symbol: string): DraftFields | undefined {
    const kept = this.#read().drafts[symbol];
    return kept && this.#clock.now() - kept.atMs < LIFE_MS ? kept.fields : undefined;
  }

  keep(symbol: string, fields: DraftFields): void {
    const { drafts } = this.#read();
    const kept = { ...drafts, [symbol]: { atMs: this.#clock.now(), fields } };
    this.#store.setItem(PLACE, JSON.stringify({ symbol, drafts: kept }));
  }

  #read(): z.output<typeof keptSchema> {
    try {
      return keptSchema.parse(JSON.parse(this.#store.getItem(PLACE) ?? "null"));
    } catch {
      return { symbol: "", drafts: {} }; // somebody else's
    }
  }
}
