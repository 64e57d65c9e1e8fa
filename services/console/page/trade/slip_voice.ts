import { effect, untracked } from "@preact/signals";
import type { CancelTimer, Clock, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain } from "../data/explain.ts";
import type { Announce } from "../data/messages.ts";
import { CENT, formatAmount } from "../format.ts";
import { chanceText, leastPayout, type Odds, oddsOf } from "./odds.ts";
import { movedText, quoteLife, windowText } from "./quote_life.ts";
import type { QuotedStage } from "./stage.ts";

/** What the box pays is spoken when it has been still for this long. */
const STILL_MS = 1_000;

const CHECKING = "The maker has not answered: whether your bet was placed is being checked.";

export interface SlipVoiceOptions {
  announce: Announce;
  clock: Clock;
  serverClock: Pick<Clock, "now">;
}

/** Says what the eye sees on the bet slip, each thing once. */
export class SlipVoice {
  readonly #options: SlipVoiceOptions;
  #cancelStill: CancelTimer = () => {};
  #endQuote: () => void = () => {};

  constructor(options: SlipVoiceOptions) {
    this.#options = options;
  }

  /** Says once that the outcome of a signed bet is unknown. @param isChecking Reads signals. */
  checking(isChecking: () => boolean | undefined): void {
    let before: boolean | undefined = false;
    effect(() => {
      const now = isChecking();
      if (now && !before) untracked(() => this.#options.announce(CHECKING));
      before = now;
    });
  }

  /** For those who cannot see it. */
  speak(text: string): void {
    this.#options.announce(text, { isSpoken: true });
  }

  /**
   * Says what a quote pays, and when it has expired.
   *
   * @param terms As {@link quoteText} gives them.
   */
  quote(stage: QuotedStage, terms: string): void {
    const { offer: { quote }, replaces } = stage;
    this.endQuote();
    const { announce, clock, serverClock } = this.#options;
    const nowMs = serverClock.now();
    const { remainingMs } = quoteLife(quote, nowMs);
    const remove = announce(
      [
        ...changesOf(stage),
        terms,
        // Of a later quote, only what changed.
        ...(replaces === undefined ? [windowText(quote, nowMs)] : []),
        `Sign it within ${Math.ceil(remainingMs / 1_000)} s.`,
      ].join(" "),
      { isSpoken: true }, // the slip shows it
    );
    const cancels = [remove];
    this.#endQuote = () => cancels.forEach((cancel) => cancel());
    const { startTime } = quote;
    if (startTime > nowMs) {
      cancels.push(clock.after(startTime - nowMs, () => this.speak(windowText(quote, startTime))));
    }
    cancels.push(clock.after(remainingMs, () => {
      this.endQuote();
      announce("The quote has expired.");
    }));
  }

  /** Says what a bet pays that was signed for something else. */
  repriced(first: Offer, placed: Offer): void {
    this.speak(repricedText(first, placed));
  }

  /** The quote is signed, or dropped: nothing is said about it any more. */
  endQuote(): void {
    this.#endQuote();
    this.#endQuote = () => {};
  }

  /** Speaks once the box is still. @param textOf Undefined as long as it is not known what to say. */
  still(textOf: () => string | undefined): void {
    this.#cancelStill();
    this.#cancelStill = this.#options.clock.after(STILL_MS, () => {
      const text = textOf();
      if (text === undefined) return this.still(textOf);
      if (text !== "") this.speak(text);
    });
  }
}

/** What a box pays, in a sentence, or why nothing. */
export function estimateText(state: EstimateState): string {
  if ("failure" in state) return explain(state.failure).text;
  const odds = oddsOf(state.estimate, undefined);
  const pays = `Pays ${formatAmount(state.estimate.payout)} USDC if it stays`;
  return `${pays}${chancesText(odds)}.${odds.warning === undefined ? "" : ` ${odds.warning}`}`;
}

/** What differs from what the user has seen before, in sentences, said before anything is signed. */
export function changesOf({ estimated, replaces, isRefused, offer: { quote } }: QuotedStage) {
  const seen = replaces?.quote ?? estimated;
  const difference = seen === undefined ? 0n : quote.payout - seen.payout;
  const size = difference < 0n ? -difference : difference;
  const changes = isRefused ? ["The price moved, and nothing was taken."] : [];
  if (seen !== undefined && size >= CENT) {
    changes.push(
      `It pays ${formatAmount(size)} USDC ${difference < 0n ? "less" : "more"} than the ` +
        `${replaces === undefined ? "estimate" : "quote before"}.`,
    );
  }
  const moved = replaces === undefined ? "" : movedText(quote, replaces.quote);
  return moved === "" ? changes : [...changes, moved];
}

/** What became of a bet whose price moved as it was signed. */
export function repricedText(first: Offer, { quote: { payout }, probability }: Offer): string {
  const chance = probability === undefined ? "" : `, chance ${chanceText(probability)}`;
  return `You signed for ${formatAmount(first.quote.payout)} USDC; the price moved as you did: ` +
    `it pays ${formatAmount(payout)} USDC${chance}.`;
}

/** What a quote pays, in a sentence. */
export function quoteText(
  { quote, probability }: Offer,
  tolerancePercent: number,
): string {
  const least = leastPayout(quote, tolerancePercent);
  const [bet, pays, atLeast] = [quote.betAmount, quote.payout, least].map(formatAmount);
  return `The quote pays ${pays} USDC for ${bet}` +
    (least < quote.payout ? ` (at least ${atLeast})` : "") +
    `${chancesText(oddsOf({ ...quote, probability }, undefined))}.`;
}

/** The chance of a bet, if the maker gives it, and the one that it needs. */
export function chancesText({ chance, breakEven }: Pick<Odds, "chance" | "breakEven">): string {
  return `${chance === undefined ? "" : `, chance ${chance}`}, break-even ${breakEven}`;
}
