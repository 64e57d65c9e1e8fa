import { effect, untracked } from "@preact/signals";
import type { CancelTimer, Clock, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain } from "../data/explain.ts";
import type { Announce } from "../data/messages.ts";
import { formatAmount } from "../format.ts";
import { oddsOf } from "./odds.ts";
import { quoteLife, windowText } from "./quote_life.ts";

/** The estimate is spoken when the box has been still for this long. */
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
  #cancelEstimate: CancelTimer = () => {};
  #endQuote: () => void = () => {};

  constructor(options: SlipVoiceOptions) {
    this.#options = options;
  }

  announce(text: string): void {
    this.#options.announce(text);
  }

  /** Says once that the outcome of a signed bet is unknown. @param isChecking Reads signals. */
  checking(isChecking: () => boolean | undefined): void {
    let before: boolean | undefined = false;
    effect(() => {
      const now = isChecking();
      if (now && !before) untracked(() => this.announce(CHECKING));
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
   * @param least Payout that is accepted if the price moves.
   * @param why A sentence before it.
   */
  quote(
    { quote }: Offer,
    { least, chance }: { least: bigint; chance: string | undefined },
    why: string,
  ): void {
    this.endQuote();
    const { announce, clock, serverClock } = this.#options;
    const nowMs = serverClock.now();
    const { remainingMs } = quoteLife(quote, nowMs);
    const [bet, pays, atLeast] = [quote.betAmount, quote.payout, least].map(formatAmount);
    const terms = (least < quote.payout ? ` (at least ${atLeast})` : "") +
      (chance === undefined ? "" : `, chance ${chance}`);
    const remove = announce(
      `${why}The quote pays ${pays} USDC for ${bet}${terms}. ${windowText(quote, nowMs)} ` +
        `Sign it within ${Math.ceil(remainingMs / 1_000)} s.`,
      { isSpoken: why === "" }, // the slip shows it
    );
    const cancels = [remove];
    this.#endQuote = () => cancels.forEach((cancel) => cancel());
    const { startTime } = quote;
    if (startTime > nowMs) {
      cancels.push(clock.after(startTime - nowMs, () => this.speak(windowText(quote, startTime))));
    }
    cancels.push(clock.after(remainingMs, () => {
      this.endQuote();
      this.announce("The quote has expired.");
    }));
  }

  /** The quote is signed, or dropped: nothing is said about it any more. */
  endQuote(): void {
    this.#endQuote();
    this.#endQuote = () => {};
  }

  /** Speaks an estimate once the box is still and the estimate is there. @param stateOf Undefined until then. */
  estimate(isWanted: () => boolean, stateOf: () => EstimateState | undefined): void {
    this.#cancelEstimate();
    this.#cancelEstimate = this.#options.clock.after(STILL_MS, () => {
      if (!isWanted()) return;
      const state = stateOf();
      if (state === undefined) return this.estimate(isWanted, stateOf);
      if ("failure" in state) return this.speak(explain(state.failure).text);
      const { chance, breakEven, warning } = oddsOf(state.estimate, undefined);
      this.speak(
        `Pays ${formatAmount(state.estimate.payout)} USDC if it stays` +
          `${chance === undefined ? "" : `, chance ${chance}`}, break-even ${breakEven}.` +
          (warning === undefined ? "" : ` ${warning}`),
      );
    });
  }
}
