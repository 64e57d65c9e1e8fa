import { type Signal, signal } from "@preact/signals";
import {
  type CancelTimer,
  type Clock,
  type Estimate,
  isRangemakerError,
  type Offer,
} from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import type { ServerClock } from "../data/server_clock.ts";
import type { Session, User } from "../data/session.ts";
import { betOf, type Draft, type DraftFields, fieldsOf, parseFields } from "./draft.ts";
import { explain, type Explanation } from "./explain.ts";
import { quoteLife } from "./quote_life.ts";

/** Where a bet is on its way. */
export type Stage =
  | { name: "draft"; failure?: Explanation }
  | { name: "quoting" }
  | { name: "quoted"; offer: Offer; estimated: Estimate | undefined }
  | { name: "signing"; offer: Offer }
  | { name: "sending"; offer: Offer }
  | { name: "placed"; thesisId: number; offer: Offer };

/** An estimate ages with the price: asked again this often. */
const REFRESH_MS = 1_000;

export interface BetSlipOptions {
  session: Pick<Session, "user" | "pending">;
  estimate: Estimator;
  serverClock: Pick<ServerClock, "now">;
  clock: Clock;
  announce(text: string): void;
}

const NO_FIELDS: DraftFields = { lower: "", upper: "", startsIn: "3", lasts: "15", amount: "10" };

/** The bet that the user is making: drawn, estimated, quoted, signed, sent. */
export class BetSlip {
  readonly symbol: Signal<string>;
  readonly fields: Signal<DraftFields> = signal(NO_FIELDS);
  readonly stage: Signal<Stage> = signal({ name: "draft" });
  readonly estimator: Estimator;
  readonly #options: BetSlipOptions;
  #cancelRefresh: CancelTimer = () => {};
  /** Rises when the bet changes: a quote of an earlier one is dropped. */
  #version = 0;

  constructor(symbol: string, options: BetSlipOptions) {
    this.symbol = signal(symbol);
    this.estimator = options.estimate;
    this.#options = options;
  }

  /** The box as its fields say it; undefined while they are empty or wrong. */
  get draft(): Draft | undefined {
    const parsed = parseFields({ ...this.fields.value, amount: "1" }); // whatever the amount
    return "draft" in parsed ? parsed.draft : undefined;
  }

  /** Takes what the user typed. */
  edit(fields: Partial<DraftFields>): void {
    this.fields.value = { ...this.fields.value, ...fields };
    this.#changed();
  }

  /** Takes a box that the user drew. */
  draw(draft: Draft): void {
    this.edit(fieldsOf(draft));
  }

  /** Forgets the box; the amount stays. */
  clear(): void {
    const { amount } = this.fields.value;
    this.fields.value = { ...NO_FIELDS, amount };
    this.#changed();
  }

  /** Chooses a market: a box of another one means nothing there. */
  choose(symbol: string): void {
    if (symbol === this.symbol.value) return;
    this.symbol.value = symbol;
    this.clear();
  }

  /** Asks for a firm quote. */
  async quote(): Promise<void> {
    const user = this.#options.session.user.value;
    const parsed = parseFields(this.fields.value);
    if (user === undefined || "errors" in parsed) return;
    const version = this.#version += 1;
    const state = this.estimator.state.value;
    const estimated = state !== undefined && "estimate" in state ? state.estimate : undefined;
    this.stage.value = { name: "quoting" };
    const nowMs = this.#options.serverClock.now();
    const bet = betOf(this.symbol.value, parsed.draft, parsed.betAmount, nowMs);
    try {
      const offer = await user.client.quote(bet);
      if (version !== this.#version) return; // the user has changed the bet
      this.estimator.clear();
      this.stage.value = { name: "quoted", offer, estimated };
    } catch (thrown) {
      if (version === this.#version) this.#fail(thrown);
    }
  }

  /** Signs the quote and has it executed. */
  async place(): Promise<void> {
    const user = this.#options.session.user.value;
    const stage = this.stage.value;
    if (user === undefined || stage.name !== "quoted") return;
    const { offer } = stage;
    if (!this.#isValid(offer)) return;
    const version = this.#version;
    try {
      this.stage.value = { name: "signing", offer };
      const signature = await user.client.sign(offer);
      if (version !== this.#version) return;
      // A prompt may have been open for long: nothing is sent too late.
      if (!this.#isValid(offer)) return void (this.stage.value = stage);
      await this.#send(user, offer, signature);
    } catch (thrown) {
      if (version === this.#version) this.#fail(thrown);
    }
  }

  /** Back to the box, without a quote. */
  back(): void {
    this.#changed();
  }

  async #send(user: User, offer: Offer, signature: `0x${string}`): Promise<void> {
    const { pending } = this.#options.session;
    this.stage.value = { name: "sending", offer };
    pending.add({ offer, signature });
    try {
      const { thesisId } = await user.client.execute(offer, signature);
      this.#options.announce(`Bet ${thesisId} is placed.`);
      this.clear();
      this.stage.value = { name: "placed", thesisId, offer };
    } catch (thrown) {
      // After a lost answer the chain may have taken it: it is sent again at the next start.
      if (!isRangemakerError(thrown) || !thrown.retryable) pending.remove(offer.quoteHash);
      throw thrown;
    }
    void user.portfolio.refresh();
  }

  #isValid({ quote }: Offer): boolean {
    return quoteLife(quote, this.#options.serverClock.now()).state === "valid";
  }

  #fail(thrown: unknown): void {
    const failure = explain(thrown);
    this.#options.announce(failure.text);
    this.stage.value = { name: "draft", failure };
    this.#refresh();
  }

  #changed(): void {
    this.#version += 1;
    this.stage.value = { name: "draft" };
    if ("errors" in parseFields(this.fields.value)) this.estimator.clear();
    this.#refresh();
  }

  /** Estimates now and then for as long as there is a box. */
  #refresh(): void {
    const { clock, serverClock } = this.#options;
    this.#cancelRefresh();
    const parsed = parseFields(this.fields.value);
    if ("errors" in parsed || this.stage.value.name !== "draft") return;
    const { draft, betAmount } = parsed;
    this.estimator.ask(betOf(this.symbol.value, draft, betAmount, serverClock.now()));
    this.#cancelRefresh = clock.after(REFRESH_MS, () => this.#refresh());
  }
}
