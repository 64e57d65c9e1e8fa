import { computed, effect, type Signal, signal, untracked } from "@preact/signals";
import {
  type Bet,
  type CancelTimer,
  isRangemakerError,
  type Offer,
  RangemakerError,
} from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import type { ResolvedBet } from "../data/bet_keeper.ts";
import { explain } from "../data/explain.ts";
import type { Session, User } from "../data/session.ts";
import {
  betOf,
  type Draft,
  type DraftFields,
  EMPTY_FIELDS,
  isSameBet,
  parseFields,
} from "./draft.ts";
import type { DraftStore } from "./draft_store.ts";
import { quoteLife } from "./quote_life.ts";
import { againOf, hasMoved, isSignedAgain } from "./signed_again.ts";
import type { Obstacle } from "./next_step.ts";
import {
  estimateText,
  repricedText,
  SlipVoice,
  type SlipVoiceOptions,
  termsOf,
} from "./slip_voice.ts";
import { failureText, type QuotedStage, type Stage } from "./stage.ts";

/** An estimate ages with the price: asked again this often. */
const REFRESH_MS = 1_000;

export interface BetSlipOptions extends SlipVoiceOptions {
  session: Pick<Session, "user">;
  estimate: Estimator;
  drafts: DraftStore;
  /** What keeps the user from a quote now. */
  obstacle(): Obstacle | undefined;
  /** The device has no network. */
  isOffline(): boolean;
}

const NOT_PLACED = new RangemakerError("NOT_PLACED", "The bet was not placed: nothing was taken.");

/** The bet that the user is making: drawn, estimated, quoted, signed, sent. */
export class BetSlip {
  readonly symbol: Signal<string>;
  readonly fields: Signal<DraftFields>;
  readonly stage: Signal<Stage> = signal({ name: "draft" });
  readonly estimator: Estimator;
  /** By how much less than quoted a bet may pay, in percent, if the price moves as it is signed. */
  readonly tolerancePercent: Signal<number>;
  /** The first signed payout of bets that were signed again for another one, by quote hash. */
  readonly firstPayouts: Signal<Readonly<Record<string, string>>>;
  /** What the fields were before the box was last drawn, moved or cleared. */
  readonly replaced: Signal<DraftFields | undefined> = signal(undefined);
  readonly #options: BetSlipOptions;
  #cancelRefresh: CancelTimer = () => {};
  readonly #voice: SlipVoice;
  /** The values of the fields, read once for all who need them. */
  readonly parsed = computed(() => parseFields(this.fields.value));
  /** Rises when the bet or its user changes: a quote or signature of an earlier one is dropped. */
  #version = 0;
  /** The box is what the user wants now, and not what was kept from before. */
  #isEdited = false;

  constructor(symbol: string, options: BetSlipOptions) {
    this.symbol = signal(symbol);
    this.fields = signal(options.drafts.of(symbol) ?? EMPTY_FIELDS);
    this.estimator = options.estimate;
    this.tolerancePercent = signal(options.drafts.tolerancePercent);
    this.firstPayouts = signal(options.drafts.firstPayouts);
    this.#options = options;
    this.#voice = new SlipVoice(options);
    let address = options.session.user.peek()?.address;
    effect(() => {
      const next = options.session.user.value?.address;
      if (next === address) return;
      address = next;
      this.estimator.clear();
      this.#changed();
    });
    effect(() => {
      const resolved = options.session.user.value?.portfolio.bets.resolved.value;
      if (resolved !== undefined) untracked(() => this.#recover(resolved));
    });
    this.#voice.checking(() =>
      options.session.user.value?.portfolio.bets.unresolved.value.some((bet) => bet.isChecking)
    );
    this.#refresh();
  }

  /** The box as its fields say it, whatever the amount; undefined while they are empty or wrong. */
  get draft(): Draft | undefined {
    return this.parsed.value.draft;
  }

  /** There is no box yet. */
  get isEmpty(): boolean {
    const { lower, upper } = this.fields.value;
    return lower === "" && upper === "";
  }

  /** What the quote or the box pays, in a sentence; empty if that is unknown. */
  get terms(): string {
    const stage = this.stage.value;
    if (stage.name === "quoted") {
      return `${Object.values(termsOf(stage.offer, this.tolerancePercent.value)).join("")}.`;
    }
    const state = this.#estimated;
    return state === undefined || stage.name !== "draft" ? "" : estimateText(state);
  }

  /** The newest estimate, if it is of the box and the amount as they are now. */
  get #estimated() {
    const state = this.estimator.state.value;
    const bet = this.#bet;
    return state && bet && isSameBet(state.bet, bet) ? state : undefined;
  }

  /** What the fields ask for, from now. */
  get #bet(): Bet | undefined {
    const parsed = this.parsed.value;
    if ("errors" in parsed) return undefined;
    const nowMs = this.#options.serverClock.now();
    return betOf(this.symbol.value, parsed.draft, parsed.betAmount, nowMs);
  }

  /** Takes what the user typed. A bet that was signed is not changed any more. */
  edit(fields: Partial<DraftFields>): void {
    if (this.stage.value.name === "sending") return;
    this.#isEdited = true;
    this.fields.value = { ...this.fields.value, ...fields };
    this.#changed();
  }

  /** Keeps the fields for {@link undo}: the box is about to change. */
  keep(): void {
    this.replaced.value = this.fields.value;
  }

  /** Brings back the box from before the last change; a second time, the changed one. */
  undo(): void {
    const before = this.replaced.value;
    this.keep();
    this.edit({ ...before, amount: this.fields.value.amount });
  }

  /** Forgets the box; the amount stays. */
  clear(): void {
    this.keep();
    this.edit({ ...EMPTY_FIELDS, amount: this.fields.value.amount });
  }

  /** Chooses a market: each has a box of its own. */
  choose(symbol: string): void {
    if (symbol === this.symbol.value || this.stage.value.name === "sending") return;
    const { amount } = this.fields.value;
    this.symbol.value = symbol;
    this.replaced.value = undefined;
    this.estimator.clear();
    this.fields.value = { ...this.#options.drafts.of(symbol) ?? EMPTY_FIELDS, amount };
    this.#changed();
  }

  /** Sets the tolerance, for this bet and the next ones. */
  tolerate(percent: number): void {
    this.tolerancePercent.value = this.#options.drafts.tolerancePercent = percent;
  }

  /** Asks for a firm quote, unless the outcome of an earlier bet is unknown. */
  async quote(): Promise<void> {
    const user = this.#user;
    const bet = this.#bet;
    if (user === undefined || bet === undefined) return;
    const before = this.stage.value;
    if (before.name !== "draft" && before.name !== "quoted") return;
    const version = this.#version += 1;
    const state = this.#estimated;
    const estimated = state !== undefined && "estimate" in state ? state.estimate : undefined;
    this.stage.value = { name: "quoting" };
    try {
      const offer = await user.client.quote(bet);
      if (version !== this.#version) return; // the bet or its user is another one
      const replaces = before.name === "quoted" ? before.offer : undefined;
      this.#show({ name: "quoted", offer, estimated, replaces, isRefused: false });
    } catch (thrown) {
      if (version === this.#version) this.#fail(thrown, false);
    }
  }

  /** Signs the quote and has it executed; again if the price moves by less than the user accepts. */
  async place(): Promise<void> {
    const user = this.#user;
    let stage = this.stage.value;
    if (user === undefined || stage.name !== "quoted" || !this.#isValid(stage.offer)) return;
    const [version, first, tolerance] = [this.#version, stage.offer, this.tolerancePercent.value];
    this.#voice.endQuote();
    try {
      for (let signedAgain = 0;; signedAgain++) {
        const refusal = await this.#sign(user, stage, first);
        if (refusal === undefined || version !== this.#version) return;
        if (!hasMoved(refusal)) throw refusal;
        const { quote: refused } = stage.offer;
        const nowMs = this.#options.serverClock.now();
        const bet = againOf(this.symbol.value, refused, this.draft?.startsInMs, nowMs);
        const offer = await user.client.quote(bet);
        if (version !== this.#version) return;
        const quotes = { first: first.quote, refused, next: offer.quote };
        stage = { ...stage, offer, replaces: first, isRefused: true };
        const isAgain = isSignedAgain(quotes, tolerance, signedAgain);
        if (!isAgain || user !== this.#user) return this.#show(stage);
      }
    } catch (thrown) {
      if (version !== this.#version) return;
      // Not every wallet reports that it changed its chain.
      if (isRangemakerError(thrown, "WRONG_CHAIN")) {
        user.walletChainId.value = Number(thrown.details.actual);
      }
      this.#fail(thrown, thrown !== NOT_PLACED);
    }
  }

  /** Back to the box, without a quote. */
  back(): void {
    const { name } = this.stage.value;
    if (name !== "sending") this.#changed();
    if (name === "quoted" || name === "signing") {
      this.#voice.speak("Back to the box: no bet was placed.");
    }
  }

  /** The user, unless a bet of theirs is on its way. */
  get #user(): User | undefined {
    const user = this.#options.session.user.value;
    return user?.portfolio.bets.unresolved.value.length === 0 ? user : undefined;
  }

  /** Signs one quote and sends it. @returns Why nothing was taken, if it was refused. */
  async #sign(user: User, stage: QuotedStage, first: Offer): Promise<unknown> {
    const { offer } = stage;
    const isAgain = offer !== first;
    const version = this.#version;
    this.stage.value = { name: "signing", offer, isAgain };
    const signature = await user.client.sign(offer);
    if (version !== this.#version) return;
    // A prompt may have been open for long: nothing is sent too late.
    if (!this.#isValid(offer)) return void (this.stage.value = stage);
    this.stage.value = { name: "sending", offer };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    void user.portfolio.refresh();
    if (version !== this.#version) return;
    if (outcome.name === "placed") {
      this.stage.value = { name: "draft" };
      this.clear();
      this.replaced.value = undefined; // it would be the same bet twice
      const { payout } = first.quote;
      if (offer.quote.payout === payout) return void (this.stage.value = { ...outcome, offer });
      this.stage.value = { ...outcome, offer, signedFirst: first };
      this.firstPayouts.value = this.#options.drafts.keepFirstPayout(offer.quoteHash, payout);
      return this.#voice.speak(repricedText(first, offer));
    }
    this.stage.value = { name: "signing", offer, isAgain: true };
    return outcome.name === "refused" ? outcome.reason : NOT_PLACED;
  }

  /** Shows the outcome of a bet that was signed before a reload; that of another tab is shown there. */
  #recover({ bet: { offer, isChecking }, outcome }: ResolvedBet): void {
    const { name } = this.stage.value;
    if (name === "sending" || name === "signing" || outcome.name === "refused") return;
    const { lowerPrice, upperPrice } = offer.quote;
    const { draft } = this;
    const isSame = draft?.lowerPrice === lowerPrice && draft.upperPrice === upperPrice;
    if (outcome.name === "placed") {
      if (isSame) this.clear();
      this.replaced.value = undefined;
      if (isChecking && (isSame || !this.#isEdited)) this.stage.value = { ...outcome, offer };
    } else if (name === "draft") {
      this.stage.value = { name, failure: { ...explain(NOT_PLACED), isSigningFailure: false } };
    }
  }

  #isValid({ quote }: Offer): boolean {
    return quoteLife(quote, this.#options.serverClock.now()).state === "valid";
  }

  #show(stage: QuotedStage): void {
    this.estimator.clear();
    this.stage.value = stage;
    this.#voice.quote(stage, this.terms);
  }

  #fail(thrown: unknown, isSigningFailure: boolean): void {
    const failure = { ...explain(thrown), isSigningFailure };
    this.estimator.clear(); // what is estimated from now on is younger than the failure
    this.stage.value = { name: "draft", failure };
    this.#voice.speak(failureText(failure, undefined, "", this.#options.isOffline()));
    this.#refresh();
  }

  #changed(): void {
    this.#version += 1;
    this.#voice.endQuote();
    this.stage.value = { name: "draft" };
    if ("errors" in this.parsed.value) this.estimator.clear();
    this.#options.drafts.keep(this.symbol.value, this.fields.value);
    this.#refresh();
    this.#voice.still(() => {
      if (this.stage.value.name !== "draft") return "";
      const obstacle = this.#options.obstacle();
      if (obstacle?.field !== undefined || obstacle?.text === "") return obstacle.text; // or the chart's
      return this.draft === undefined ? "" : this.terms || undefined;
    });
  }

  /** Estimates now and then for as long as there is a box. */
  #refresh(): void {
    const { clock } = this.#options;
    this.#cancelRefresh();
    const bet = this.#bet;
    if (bet === undefined || this.stage.value.name !== "draft") return;
    this.estimator.ask(bet);
    this.#cancelRefresh = clock.after(REFRESH_MS, () => this.#refresh());
  }
}
