/** Stores drafts by market, and the tolerance. */
import * as z from "zod/mini";
import type { Clock } from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import { HOUR_MS } from "../../../../lib/time.ts";
import { tryParseJson } from "../../../../lib/json.ts";
import type { TextStore } from "../data/wallets.ts";
import type { DraftFields } from "./draft.ts";

const STORAGE_KEY = "rangemaker.drafts";

/** Older drafts are dropped, because the price has moved away. */
const DRAFT_LIFE_MS = HOUR_MS;

const text = z.string().check(z.maxLength(40));
export const fieldsSchema = z.object({
  lower: text,
  upper: text,
  startsIn: text,
  lasts: text,
  amount: text,
});

/** Default of the tolerance, in percent; `suggested_draft_test.ts` measures it. */
const TOLERANCE_PERCENT = 15;

/** A draft with something long in a field is dropped alone. */
const draftSchema = z.catch(
  z.optional(z.object({ atMs: z.number(), fields: fieldsSchema })),
  undefined,
);

const keptSchema = z.object({
  symbol: z._default(z.string(), ""),
  drafts: z._default(z.record(z.string(), draftSchema), {}),
  /** Undefined until the user sets it: a stored default would outlive a better one. */
  tolerancePercent: z.optional(z.int().check(z.minimum(0), z.maximum(50))),
});

/** Keeps drafts across a change of the market and a reload. */
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
  readDraft(symbol: string): DraftFields | undefined {
    const kept = this.#read().drafts[symbol];
    return kept && this.#clock.now() - kept.atMs < DRAFT_LIFE_MS ? kept.fields : undefined;
  }

  keep(symbol: string, fields: DraftFields): void {
    const drafts = { ...this.#read().drafts, [symbol]: { atMs: this.#clock.now(), fields } };
    this.#write({ symbol, drafts });
  }

  /** By how much a payout may change during signing, in percent. */
  get tolerancePercent(): number {
    return this.#read().tolerancePercent ?? TOLERANCE_PERCENT;
  }

  set tolerancePercent(tolerancePercent: number) {
    this.#write({ tolerancePercent });
  }

  #write(part: Partial<z.output<typeof keptSchema>>): void {
    const text = JSON.stringify({ ...this.#read(), ...part });
    try {
      this.#store.setItem(STORAGE_KEY, text);
    } catch (thrown) { // the store is full: a reload loses the newest box or tolerance
      console.info(`Neither box nor tolerance was stored: ${messageOf(thrown)}`);
    }
  }

  #read(): z.output<typeof keptSchema> {
    const kept = keptSchema.safeParse(tryParseJson(this.#store.getItem(STORAGE_KEY) ?? ""));
    return kept.data ?? keptSchema.parse({}); // written by another program
  }
}
