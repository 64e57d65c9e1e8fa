import { effect, untracked } from "@preact/signals";
import type { CancelTimer, Clock, Estimate, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain } from "../data/explain.ts";
import type { Announce } from "../data/messages.ts";
import { formatAmount, formatTime } from "../format.ts";
import { chanceText, leastPayout, type Odds, oddsOf } from "./odds.ts";
import { overText, quoteLife, signWithinMs, signWithinText, windowText } from "./quote_life.ts";
import type { QuotedStage } from "./stage.ts";

/** The payout of the box is announced when the box has not changed for this long. */
const STILL_MS = 1_000;

/** The deadline of a quote is announced again this long before it. */
const DEADLINE_WARNING_MS = 10_000;

const CHECKING = "The maker has not answered: whether your bet was placed is being checked.";

export interface SlipVoiceOptions {
  announce: Announce;
  clock: Clock;
  serverClock: Pick<Clock, "now">;
}

/** Announces changes of the bet slip to screen readers, each once. */
export class SlipVoice {
  readonly #options: SlipVoiceOptions;
  #cancelStill: CancelTimer = () => {};
  #endQuote: () => void = () => {};

  constructor(options: SlipVoiceOptions) {
    this.#options = options;
  }

  /**
   * Announces once that the outcome of a signed bet is unknown.
   *
   * @param isChecking Reads signals.
   */
  checking(isChecking: () => boolean | undefined): void {
    let before: boolean | undefined = false;
    effect(() => {
      const now = isChecking();
      if (now && !before) untracked(() => this.#options.announce(CHECKING));
      before = now;
    });
  }

  /** Announces a text to screen readers only. */
  speak(text: string): void {
    this.#options.announce(text, { isSpoken: true });
  }

  /**
   * Announces a quote: its changes, terms and window, and later its expiry.
   *
   * @param terms A sentence about what it pays.
   */
  quote(stage: QuotedStage, terms: string): void {
    const { quote } = stage.offer;
    this.endQuote();
    const { announce, clock, serverClock } = this.#options;
    const nowMs = serverClock.now();
    const { remainingMs } = quoteLife(quote, nowMs);
    if (remainingMs === 0) return this.speak(overText(quote, nowMs));
    const text = [...changesOf(stage), terms, windowText(quote, nowMs)].join(" ");
    const remove = announce(text, { isSpoken: true }); // the slip shows it
    const cancels = [remove];
    this.#endQuote = () => cancels.forEach((cancel) => cancel());
    const { startTime } = quote;
    if (startTime > nowMs && startTime < nowMs + remainingMs) {
      cancels.push(clock.after(startTime - nowMs, () => this.speak(windowText(quote, startTime))));
    }
    const warnInMs = signWithinMs(quote, nowMs) - DEADLINE_WARNING_MS;
    if (warnInMs > 0 && nowMs < startTime) {
      const warning = `${signWithinText(DEADLINE_WARNING_MS)}.`;
      cancels.push(clock.after(warnInMs, () => this.speak(warning)));
    }
    cancels.push(clock.after(remainingMs, () => {
      this.endQuote();
      this.speak(overText(quote, serverClock.now()));
    }));
  }

  /** Ends announcements about a quote that was signed or dropped. */
  endQuote(): void {
    this.#endQuote();
    this.#endQuote = () => {};
  }

  /**
   * Announces a text once the box is still.
   *
   * @param textOf Returns undefined while the text is unknown.
   */
  still(textOf: () => string | undefined): void {
    this.#cancelStill();
    this.#cancelStill = this.#options.clock.after(STILL_MS, () => {
      const text = textOf();
      if (text === undefined) return this.still(textOf);
      if (text !== "") this.speak(text);
    });
  }
}

/** A sentence about what a box pays, or why it cannot be priced. */
export function estimateText(state: EstimateState, minBetAmount: bigint): string {
  if ("failure" in state) {
    return explain(state.failure, { betAmount: state.bet.betAmount, minBetAmount }).text;
  }
  const odds = oddsOf(state.estimate, undefined);
  const pays = `Your box pays ${formatAmount(state.estimate.payout)} USDC if it stays`;
  return `${pays}${chancesText(odds)}.${odds.warning === undefined ? "" : ` ${odds.warning}`}`;
}

/** The odds of a shorter window change while it is signed by more than a smaller tolerance. */
const SHORT_WINDOW = { ms: 10_000, tolerancePercent: 20 };

/** What to expect of a box with a short window; undefined if it lasts longer, or more is accepted. */
export function shortWindowText(
  durationMs: number | undefined,
  tolerancePercent: number,
): string | undefined {
  if (durationMs === undefined || durationMs > SHORT_WINDOW.ms) return undefined;
  return tolerancePercent >= SHORT_WINDOW.tolerancePercent
    ? undefined
    : `So short a window is often refused: accept ${SHORT_WINDOW.tolerancePercent} % less, ` +
      "or let it last longer.";
}

/** Smaller changes of a payout, as a share, are not announced. */
const QUIET_SHARE = 0.01;

/** A payout that is smaller by this share gets a warning. */
const WARNED_SHARE = 0.05;

/** The offer or estimate shown before a quote, and by which share the quote pays more. */
function changeOf({ estimated, replaces, offer: { quote } }: QuotedStage) {
  const seen = replaces ? { ...replaces.quote, ...replaces } : estimated;
  return { seen, share: seen === undefined ? 0 : Number(quote.payout) / Number(seen.payout) - 1 };
}

/** Whether a quote pays so much less than the last quote or estimate that it needs a warning. */
export function isWorse(stage: QuotedStage): boolean {
  return changeOf(stage).share <= -WARNED_SHARE;
}

/** The reason of a refusal by the maker, who cannot raise a signed payout either. */
export const ODDS_CHANGED = "the odds changed";

/** Sentences about changes since the last quote or estimate, announced before signing. */
export function changesOf(stage: QuotedStage): string[] {
  const { replaces, notPlaced, offer } = stage;
  const { seen, share } = changeOf(stage);
  const from = formatTime(offer.quote.startTime);
  const isBetter = notPlaced?.startsWith(ODDS_CHANGED) && share > 0;
  const why = isBetter ? ", and a better payout needs a new signature too" : "";
  const changes = notPlaced === undefined
    ? []
    : [`Not placed: ${notPlaced}${why}. This is a new quote, for a window from ${from}.`];
  if (seen !== undefined && Math.abs(share) >= QUIET_SHARE) {
    const before = `${replaces ? "quote before" : "estimate"} of ${formatAmount(seen.payout)} USDC`;
    const percent = Math.round(100 * Math.abs(share));
    const reason = Math.abs(share) >= WARNED_SHARE ? reasonOf(seen, offer) : "";
    changes.push(
      `It pays ${percent} % ${share < 0 ? "less" : "more"} than the ${before}${reason}.`,
    );
  }
  return changes;
}

/**
 * The main reason why a quote pays less or more: another chance, or another price of the maker; empty
 * if it is unknown.
 */
function reasonOf(
  seen: Pick<Estimate, "payout" | "probability">,
  { quote, probability }: Offer,
): string {
  if (seen.probability === undefined || probability === undefined) return "";
  const byChance = Number(seen.payout) * seen.probability / probability;
  const middle = Number(seen.payout + quote.payout) / 2;
  const before = chanceText(seen.probability);
  if (quote.payout > seen.payout) {
    return byChance >= middle ? `: the chance fell from ${before}` : "";
  }
  return byChance <= middle
    ? `: the chance rose from ${before}`
    : ": the maker charges more, as it has similar bets open";
}

/** The outcome of a bet whose price moved while it was signed. */
export function repricedText(first: Offer, { quote: { payout }, probability }: Offer): string {
  const chance = probability === undefined ? "" : `, chance ${chanceText(probability)}`;
  return `You signed for ${formatAmount(first.quote.payout)} USDC; the odds changed as you did: ` +
    `it pays ${formatAmount(payout)} USDC${chance}.`;
}

/** The terms of a quote, as parts of a sentence. */
export function termsOf({ quote, probability }: Offer, tolerancePercent: number) {
  const least = leastPayout(quote, tolerancePercent);
  const isFirm = least === quote.payout;
  return {
    bet: `Bet ${formatAmount(quote.betAmount)}, get `,
    pays: `${formatAmount(quote.payout)} USDC`,
    accepts: isFirm ? "" : `, accepting ${tolerancePercent} % less: `,
    least: isFirm ? "" : `at least ${formatAmount(least)}`,
    chances: chancesText(oddsOf({ ...quote, probability }, undefined)),
  };
}

/** The terms of a quote as a sentence; once it is over, that it is, and how to get a new one. */
export function termsText(offer: Offer, tolerancePercent: number, nowMs: number): string {
  const { quote } = offer;
  return quoteLife(quote, nowMs).state === "valid"
    ? `${Object.values(termsOf(offer, tolerancePercent)).join("")}.`
    : `${overText(quote, nowMs)} Enter goes to the button for a new one.`;
}

/** The chance of a bet, if the maker reports it, and its break-even. */
export function chancesText({ chance, breakEven }: Pick<Odds, "chance" | "breakEven">): string {
  return `${chance === undefined ? "" : `, chance ${chance}`}, break-even ${breakEven}`;
}
