import { effect, type Signal, signal } from "@preact/signals";
import {
  type CancelTimer,
  type Clock,
  type Estimate,
  isRangemakerError,
  type Offer,
  RangemakerError,
} from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import { explain, type Explanation } from "../data/explain.ts";
import type { ServerClock } from "../data/server_clock.ts";
import type { Session, User } from "../data/session.ts";
import { formatAmount } from "../format.ts";
import { betOf, type Draft, type DraftFields, fieldsOf, parseFields } from "./draft.ts";
import type { DraftStore } from "./draft_store.ts";
import { quoteLife } from "./quote_life.ts";

/** Where a bet is on its way. */
export type Stage =
  | { name: "draft"; failure?: Explanation }
  | { name: "quoting" }
  /** `replaces`: the quote before, which has expired or was refused because the price moved. */
  | {
    name: "quoted";
    offer: Offer;
    estimated: Estimate | undefined;
    replaces: Offer | undefined;
  }
  | { name: "signing"; offer: Offer }
  | { name: "sending"; offer: Offer }
  | { name: "placed"; thesisId: number; offer: Offer };

/** Refusals of a signed quote after which another quote can be had at once. */
const MOVED: ReadonlySet<string> = new Set(["PRICE_MOVED", "PRICE_IMPROVED"]);

/** An estimate ages with the price: asked again this often. */
const REFRESH_MS = 1_000;

export interface BetSlipOptions {
  session: Pick<Session, "user">;
  estimate: Estimator;
  serverClock: Pick<ServerClock, "now">;
  clock: Clock;
  drafts: DraftStore;
  announce(text: string): void;
}

const NO_FIELDS: DraftFields = {
  lower: "",
  upper: "",
  startsIn: "3 s",
  lasts: "15 s",
  amount: "10",
};

/** The bet that the user is making: drawn, estimated, quoted, signed, sent. */
export class BetSlip {
  readonly symbol: Signal<string>;
  readonly fields: Signal<DraftFields>;
  readonly stage: Signal<Stage> = signal({ name: "draft" });
  readonly estimator: Estimator;
  readonly #options: BetSlipOptions;
  #cancelRefresh: CancelTimer = () => {};
  #cancelExpiry: CancelTimer = () => {};
  /** Rises when the bet or its user changes: a quote or signature of an earlier one is dropped. */
  #version = 0;

  constructor(symbol: string, options: BetSlipOptions) {
    this.symbol = signal(symbol);
    this.fields = signal(options.drafts.of(symbol) ?? NO_FIELDS);
    this.estimator = options.estimate;
    this.#options = options;
    let address = options.session.user.peek()?.address;
    effect(() => {
      const next = options.session.user.value?.address;
      if (next === address) return;
      address = next;
      this.estimator.clear();
      this.#changed();
    });
    this.#refresh();
  }

  /** The box as its fields say it; undefined while they are empty or wrong. */
  get draft(): Draft | undefined {
    const parsed = parseFields({ ...this.fields.value, amount: "1" }); // whatever the amount
    return "draft" in parsed ? parsed.draft : undefined;
  }

  /** Takes what the user typed. A bet that was signed is not changed any more. */
  edit(fields: Partial<DraftFields>): void {
    if (this.stage.value.name === "sending") return;
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
    this.edit({ ...NO_FIELDS, amount });
  }

  /** Chooses a market: each has a box of its own. */
  choose(symbol: string): void {
    if (symbol === this.symbol.value || this.stage.value.name === "sending") return;
    const { amount } = this.fields.value;
    this.symbol.value = symbol;
    this.estimator.clear();
    this.fields.value = { ...this.#options.drafts.of(symbol) ?? NO_FIELDS, amount };
    this.#changed();
  }

  /** Asks for a firm quote, unless the outcome of an earlier bet is unknown. */
  async quote(): Promise<void> {
    const user = this.#user;
    const parsed = parseFields(this.fields.value);
    if (user === undefined || "errors" in parsed) return;
    const before = this.stage.value;
    if (before.name !== "draft" && before.name !== "quoted") return;
    const version = this.#version += 1;
    const state = this.estimator.state.value;
    const estimated = state !== undefined && "estimate" in state ? state.estimate : undefined;
    this.stage.value = { name: "quoting" };
    const nowMs = this.#options.serverClock.now();
    const bet = betOf(this.symbol.value, parsed.draft, parsed.betAmount, nowMs);
    const replaces = "offer" in before ? before.offer : undefined;
    try {
      const offer = await user.client.quote(bet);
      if (version !== this.#version) return; // the bet or its user is another one
      this.estimator.clear();
      this.stage.value = { name: "quoted", offer, estimated, replaces };
      this.#announceQuote(offer);
    } catch (thrown) {
      if (version === this.#version) this.#fail(thrown);
    }
  }

  /** Signs the quote and has it executed. */
  async place(): Promise<void> {
    const user = this.#user;
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
      if (version !== this.#version) return;
      if (isRangemakerError(thrown) && MOVED.has(thrown.code)) {
        this.#options.announce("The price moved, and nothing was taken. Here is a new quote.");
        this.stage.value = stage;
        return await this.quote();
      }
      // Not every wallet reports that it changed its chain.
      if (isRangemakerError(thrown, "WRONG_CHAIN")) {
        user.walletChainId.value = Number(thrown.details.actual);
      }
      this.#fail(thrown);
    }
  }

  /** Back to the box, without a quote. */
  back(): void {
    if (this.stage.value.name !== "sending") this.#changed();
  }

  /** The user, unless a bet of theirs is on its way. */
  get #user(): User | undefined {
    const user = this.#options.session.user.value;
    return user?.portfolio.bets.unresolved.value.length === 0 ? user : undefined;
  }

  async #send(user: User, offer: Offer, signature: `0x${string}`): Promise<void> {
    const version = this.#version;
    this.stage.value = { name: "sending", offer };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    void user.portfolio.refresh();
    if (version !== this.#version) return;
    this.stage.value = { name: "draft" };
    if (outcome.name === "refused") throw outcome.reason;
    if (outcome.name === "expired") {
      throw new RangemakerError("NOT_PLACED", "The bet was not placed: nothing was taken.");
    }
    this.clear();
    this.stage.value = { name: "placed", thesisId: outcome.thesisId, offer };
  }

  #isValid({ quote }: Offer): boolean {
    return quoteLife(quote, this.#options.serverClock.now()).state === "valid";
  }

  /** Says once what the quote pays, and when it has expired. */
  #announceQuote(offer: Offer): void {
    const { clock, serverClock, announce } = this.#options;
    const { remainingMs } = quoteLife(offer.quote, serverClock.now());
    announce(
      `The quote pays ${formatAmount(offer.quote.payout)} USDC. ` +
        `Sign it within ${Math.ceil(remainingMs / 1_000)} s.`,
    );
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(remainingMs, () => {
      const stage = this.stage.value;
      if (stage.name === "quoted" && stage.offer === offer) announce("The quote has expired.");
    });
  }

  #fail(thrown: unknown): void {
    const failure = explain(thrown);
    this.stage.value = { name: "draft", failure };
    this.#refresh();
  }

  #changed(): void {
    this.#version += 1;
    this.#cancelExpiry();
    this.stage.value = { name: "draft" };
    if ("errors" in parseFields(this.fields.value)) this.estimator.clear();
    this.#options.drafts.keep(this.symbol.value, this.fields.value);
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
