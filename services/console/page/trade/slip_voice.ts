import type { CancelTimer, Clock } from "@rangemaker/client";
import type { Announce } from "../data/messages.ts";
import { formatCents } from "../parts/format.ts";
import { changesOf } from "./odds.ts";
import { overText, signableMs, signWithinText } from "./quote_life.ts";
import type { QuotedStage } from "./stage.ts";

/** The payout of the box is announced when the box has not changed for this long. */
const STILL_MS = 1_000;

/** The deadline of a quote is announced again this long before it. */
const DEADLINE_WARNING_MS = 10_000;

export interface SlipVoiceOptions {
  announce: Announce;
  clock: Clock;
  serverClock: Pick<Clock, "now">;
}

/** Announces changes of the bet slip to screen readers, each once. */
export class SlipVoice {
  readonly #options: SlipVoiceOptions;
  #cancelStill: CancelTimer = () => {};
  /** They end the announcements about a quote. */
  #cancels: (() => void)[] = [];

  constructor(options: SlipVoiceOptions) {
    this.#options = options;
  }

  /** Announces a text to screen readers only. */
  speak(text: string): void {
    this.#options.announce(text, { isSpoken: true });
  }

  /** Announces a quote, and later its expiry. Its terms are the description of its button. */
  announceQuote(stage: QuotedStage): void {
    const { quote } = stage.offer;
    this.endQuote();
    const { announce, clock, serverClock } = this.#options;
    const nowMs = serverClock.now();
    const remainingMs = signableMs(quote, nowMs);
    const ended = `${overText(quote)} Enter asks for a new quote.`;
    if (remainingMs === 0) return this.speak(stage.refusal ?? ended);
    const deadline = signWithinText(quote, nowMs).toLowerCase();
    const pays = `It pays ${formatCents(quote.payout)} USDC.`;
    const name = stage.refusal ? "New quote" : "Quote";
    const text = `${name}: ${deadline} ${pays} ${changesOf(stage)}`.trim();
    this.#cancels.push(announce(text, { isSpoken: true })); // the slip shows it
    const warnInMs = remainingMs - DEADLINE_WARNING_MS;
    const warn = () => this.speak(signWithinText(quote, nowMs + warnInMs));
    if (warnInMs > 0) this.#cancels.push(clock.after(warnInMs, warn));
    this.#cancels.push(clock.after(remainingMs, () => {
      this.endQuote();
      this.speak(ended);
    }));
  }

  /** Ends announcements about a quote that was signed or dropped. */
  endQuote(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  /**
   * Announces a text once the box has not changed for a while.
   *
   * @param textOf Returns undefined while the text is unknown, and "" to say nothing.
   */
  speakWhenUnchanged(textOf: () => string | undefined): void {
    this.#cancelStill();
    this.#cancelStill = this.#options.clock.after(STILL_MS, () => {
      const text = textOf();
      if (text === undefined) return this.speakWhenUnchanged(textOf);
      if (text !== "") this.speak(text);
    });
  }
}
