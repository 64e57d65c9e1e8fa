import { computed, effect, type Signal, signal, untracked } from "@preact/signals";
import type { Bet, CancelTimer, Clock, RangemakerClient } from "@rangemaker/client";
import type { PageConfig } from "../../page_config.ts";
import { Estimator } from "../data/estimator.ts";
import type { ResolvedBet } from "../data/bet_keeper.ts";
import type { MakerStatus } from "../data/maker_status.ts";
import type { Announce } from "../data/messages.ts";
import { notPlacedText } from "../data/outcome.ts";
import type { PriceFeed } from "../data/price_feed.ts";
import type { Session, User } from "../data/session.ts";
import {
  betFromDraft,
  type Draft,
  type DraftFields,
  firstError,
  hasNoBox,
  isSameBet,
  parseFields,
} from "./draft.ts";
import { EMPTY_FIELDS } from "./suggested_draft.ts";
import type { DraftStore } from "./draft_store.ts";
import { PressLock, signableMs, signWithinText } from "./quote_life.ts";
import { signingStages } from "./signing.ts";
import { paysText } from "../data/odds.ts";
import { boxText, obstacleOf, type Situation, unpriceableBy } from "./next_step.ts";
import { seenPayout, type Stage } from "./stage.ts";

/** Interval at which an estimate is updated, because the price moves. */
const REFRESH_MS = 1_000;

/** What a bet needs of the page. */
export interface TradeModel {
  config: Pick<PageConfig, "chainId">;
  client: Pick<RangemakerClient, "estimate">;
  session: Pick<Session, "user">;
  maker: Pick<MakerStatus, "info">;
  feed: Pick<PriceFeed, "latest" | "stateOf">;
  nodeChainId: Signal<number | undefined>;
  serverClock: Clock;
  announce: Announce;
}

/**
 * The bet that the user is making: drawn, estimated, quoted, signed, sent.
 *
 * A draft has an estimate (`Estimator`) until its user asks for a quote; the quote is signed
 * (`signing.ts`), and the signed bet belongs to the `BetKeeper`, which sends it until its outcome is
 * known. Then it is a thesis in the `Portfolio`.
 */
export class BetSlip {
  readonly symbol: Signal<string>;
  readonly fields: Signal<DraftFields>;
  readonly stage: Signal<Stage> = signal({ name: "draft" });
  readonly estimator: Estimator;
  /** By how much a payout may change during signing, in percent. */
  readonly tolerancePercent: Signal<number>;
  readonly lock: PressLock;
  readonly #model: TradeModel;
  readonly #drafts: DraftStore;
  #cancelRefresh: CancelTimer = () => {};
  readonly #balance = computed(() =>
    this.#model.session.user.value?.portfolio.account.value?.balance
  );
  readonly parsed = computed(() => {
    const limits = this.#model.maker.info.value?.config;
    return parseFields(this.fields.value, { ...limits, balance: this.#balance.value });
  });
  readonly #situation = computed((): Situation => {
    const { session, config, nodeChainId, maker, feed } = this.#model;
    const user = session.user.value;
    const estimate = this.estimator.state.value;
    return {
      market: feed.stateOf(this.symbol.value),
      chainId: config.chainId,
      nodeChainId: nodeChainId.value,
      hasUser: user !== undefined,
      walletChainId: user?.walletChainId.value,
      balance: this.#balance.value,
      onItsWay: user?.portfolio.bets.unresolved.value[0],
      isEmpty: this.isEmpty,
      errors: this.parsed.value.errors,
      unpriceable: estimate && unpriceableBy(estimate, maker.info.value),
    };
  });
  /** What is in the way of a quote, if anything is. */
  readonly obstacle = computed(() => obstacleOf(this.#situation.value));
  /** The estimate for the present box and amount, if the price is fresh and they can be bet. */
  readonly estimate = computed(() => {
    const state = this.estimator.state.value;
    if (state === undefined || "failure" in state) return undefined;
    // During a drag, the estimate is a moment behind, so only the amount must match.
    const hasSameStake = state.bet.betAmount === this.parsed.value.betAmount;
    const mayBet = this.#situation.value.market === "fresh" &&
      firstError(this.parsed.value.errors) === undefined;
    return hasSameStake && mayBet ? state.estimate : undefined;
  });
  /** Increased when the bet or its user changes, to drop quotes and signatures for earlier ones. */
  #version = 0;
  /** The amount that follows one that was entered for a single bet. */
  #usualAmount: string | undefined;
  /** Whether the user has changed the box that was restored from the store. */
  #isEdited = false;

  constructor(symbol: string, model: TradeModel, drafts: DraftStore) {
    this.symbol = signal(symbol);
    this.fields = signal(drafts.readDraft(symbol) ?? EMPTY_FIELDS);
    this.estimator = new Estimator(model.client, model.serverClock);
    this.tolerancePercent = signal(drafts.tolerancePercent);
    this.lock = new PressLock(model.serverClock);
    this.#model = model;
    this.#drafts = drafts;
    let address = model.session.user.peek()?.address;
    effect(() => {
      const next = model.session.user.value?.address;
      // If the chain was reset or reverted, a bet belongs to the portfolio from before.
      if (next === address && !["sending", "placed"].includes(this.stage.peek().name)) return;
      address = next;
      this.estimator.clear();
      untracked(() => this.#changed());
    });
    effect(() => {
      const resolved = model.session.user.value?.portfolio.bets.resolved.value;
      if (resolved !== undefined) untracked(() => this.#recover(resolved));
    });
  }

  /** The box in the fields, whatever the amount; undefined while they are empty or wrong. */
  get draft(): Draft | undefined {
    return this.parsed.value.draft;
  }

  get isEmpty(): boolean {
    return hasNoBox(this.fields.value);
  }

  /** A sentence about the quote, or about what the box pays; empty if that is unknown. */
  get terms(): string {
    const stage = this.stage.value;
    if (stage.name === "quoted") {
      const { quote, probability } = stage.offer;
      const deadline = signWithinText(quote, this.#model.serverClock.now());
      return `The quote ${paysText({ ...quote, probability })}. ${deadline}`;
    }
    const state = this.#estimated;
    if (state === undefined || stage.name !== "draft") return "";
    return boxText(state, this.#model.maker.info.value);
  }

  /** The newest estimate, if it is for the present box and amount. */
  get #estimated() {
    const state = this.estimator.state.value;
    const bet = this.#bet;
    return state && bet && isSameBet(state.bet, bet) ? state : undefined;
  }

  /** The bet in the fields, if it were placed now. */
  get #bet(): Bet | undefined {
    const { draft, betAmount } = this.parsed.value;
    if (draft === undefined || betAmount === undefined) return undefined;
    const nowMs = this.#model.serverClock.now();
    return betFromDraft(this.symbol.value, draft, betAmount, nowMs);
  }

  /** Applies the user's input. A signed bet is not changed any more. */
  edit(fields: Partial<DraftFields>): void {
    if (this.stage.value.name === "sending") return;
    const { amount } = this.fields.value;
    if ((fields.amount ?? amount) !== amount) this.#usualAmount = undefined;
    this.#isEdited = true;
    this.#fill({ ...this.fields.value, ...fields });
  }

  /** Enters an amount for the next bet only. After that, the amount is the one from before. */
  enterOnce(amount: string): void {
    const usual = this.#usualAmount ?? this.fields.value.amount;
    this.edit({ amount });
    this.#usualAmount = usual;
  }

  /** Clears the box; its times and the amount stay. */
  clear(): void {
    this.edit({ lower: "", upper: "" });
  }

  /** Chooses a market, unless a bet is on its way. Each market has its own box. @returns Whether. */
  choose(symbol: string): boolean {
    if (symbol === this.symbol.value) return true;
    if (this.stage.value.name === "sending") return false;
    const { amount } = this.fields.value;
    this.symbol.value = symbol;
    this.estimator.clear();
    this.#fill({ ...this.#drafts.readDraft(symbol) ?? EMPTY_FIELDS, amount });
    return true;
  }

  /** Sets the tolerance, for this bet and the next ones. */
  setTolerance(percent: number): void {
    this.tolerancePercent.value = this.#drafts.tolerancePercent = percent;
  }

  /** Requests a quote, unless the outcome of an earlier bet is unknown. */
  async quote(): Promise<void> {
    const user = this.#user;
    const bet = this.#bet;
    const before = this.stage.value;
    if (user === undefined || bet === undefined) return;
    if (before.name !== "draft" && before.name !== "quoted") return;
    const seen = seenPayout(before, this.#estimated);
    this.stage.value = { name: "quoting" };
    await this.#follow(async function* (): AsyncGenerator<Stage> {
      yield { name: "quoted", offer: await user.client.quote(bet), before: seen };
    }());
  }

  /** Signs the quote, unless it is locked or the key is held since before. */
  press({ isHeld = false } = {}): void {
    if (!isHeld && this.lock.tryPress()) return void this.sign();
    this.#model.announce("The quote is new: press again to sign it.");
  }

  /** Signs and sends the quote. Signs a new one if the price moves within the user's tolerance. */
  async sign(): Promise<void> {
    const user = this.#user;
    const stage = this.stage.value;
    if (user === undefined || stage.name !== "quoted") return;
    if (signableMs(stage.offer.quote, this.#model.serverClock.now()) === 0) return;
    const stages = signingStages(stage, {
      user,
      symbol: this.symbol.value,
      tolerancePercent: this.tolerancePercent.value,
      serverClock: this.#model.serverClock,
      maySign: () => user === this.#user,
    });
    const { offer } = stage;
    this.stage.value = { name: "signing", offer, first: offer, isAgain: false };
    await this.#follow(stages, stage.offer.quote.startTime);
  }

  /** Returns to the box and drops the quote. */
  back(): void {
    const { name } = this.stage.value;
    if (name !== "sending") this.#changed();
    if (name === "quoting" || name === "quoted" || name === "signing") {
      this.#model.announce("Back to the box: no bet was placed.", { isSpoken: true });
    }
  }

  /** The user, unless the user has an unresolved bet. */
  get #user(): User | undefined {
    const user = this.#model.session.user.value;
    return user?.portfolio.bets.unresolved.value.length === 0 ? user : undefined;
  }

  /** Shows stages until the bet or its user changes. */
  async #follow(stages: AsyncIterable<Stage>, signedStartMs?: number): Promise<void> {
    const version = this.#version += 1;
    try {
      for await (const stage of stages) {
        if (version !== this.#version) return;
        if (stage.name === "placed") this.#clearPlaced();
        this.stage.value = stage;
        if (stage.name !== "quoted") continue;
        this.estimator.clear();
        this.lock.begin();
      }
    } catch (thrown) {
      if (version === this.#version) this.#fail(thrown, signedStartMs);
    }
  }

  /** Shows the outcome of a bet that was signed before a reload. Another tab shows its own bets. */
  #recover({ bet: { offer, isChecking }, outcome }: ResolvedBet): void {
    const { name } = this.stage.value;
    if (name === "sending" || name === "signing") return;
    const { lowerPrice, upperPrice } = offer.quote;
    const { draft } = this;
    const isSame = draft?.lowerPrice === lowerPrice && draft.upperPrice === upperPrice;
    if (outcome.name === "placed") {
      if (isSame) this.#clearPlaced();
      if (isChecking && (isSame || !this.#isEdited)) this.stage.value = { ...outcome, offer };
    } else if (name === "draft") {
      this.#fail(outcome.reason, offer.quote.startTime);
    }
  }

  #clearPlaced(): void {
    const fields = this.fields.value;
    this.#fill({ ...fields, lower: "", upper: "", amount: this.#usualAmount ?? fields.amount });
  }

  #fail(thrown: unknown, signedStartMs: number | undefined): void {
    const failure = notPlacedText(thrown, signedStartMs);
    this.estimator.clear();
    this.stage.value = { name: "draft", failure, isSigned: signedStartMs !== undefined };
    this.refresh();
  }

  #fill(fields: DraftFields): void {
    this.fields.value = fields;
    this.#drafts.keep(this.symbol.value, fields);
    this.#changed();
  }

  #changed(): void {
    this.#version += 1;
    this.lock.end();
    this.stage.value = { name: "draft" };
    if (this.#bet === undefined) this.estimator.clear();
    this.refresh();
  }

  /** Updates the estimate now, and regularly while there is a box. */
  refresh(): void {
    this.#cancelRefresh();
    const bet = this.#bet;
    if (bet === undefined || this.stage.value.name !== "draft") return;
    this.estimator.ask(bet);
    this.#cancelRefresh = this.#model.serverClock.after(REFRESH_MS, () => this.refresh());
  }
}
