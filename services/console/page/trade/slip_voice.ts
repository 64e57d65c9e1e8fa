import { computed, effect, untracked } from "@preact/signals";
import { formatCents } from "../parts/format.ts";
import type { BetSlip, TradeModel } from "./bet_slip.ts";
import { stillText } from "./next_step.ts";
import { repricedText } from "../data/odds.ts";
import { checkingText, overText, signableMs, signWithinText } from "./quote_life.ts";
import { changesOf, type QuotedStage, type Stage } from "./stage.ts";

/** The payout of the box is announced when the box has not changed for this long. */
const STILL_MS = 1_000;

/** The deadline of a quote is announced again this long before it. */
const DEADLINE_WARNING_MS = 10_000;

/** Announces the stages of a bet slip to screen readers. @returns Ends the announcements. */
export function speakStages(model: TradeModel, slip: BetSlip): () => void {
  const { serverClock } = model;
  /** They end what is said, or waits to be said, of the present stage. */
  const cancels: (() => void)[] = [];
  const fallSilent = () => cancels.splice(0).forEach((cancel) => cancel());
  const speak = (text: string) => model.announce(text, { isSpoken: true }); // the page shows it
  const later = (ms: number, act: () => void) => cancels.push(serverClock.after(ms, act));
  /** Its terms are the description of its button. */
  const speakQuote = (stage: QuotedStage) => {
    const { quote } = stage.offer;
    const nowMs = serverClock.now();
    const remainingMs = signableMs(quote, nowMs);
    const ended = `${overText(quote)} Enter asks for a new quote.`;
    if (remainingMs === 0) return void speak(stage.refusal ?? ended);
    const deadline = signWithinText(quote, nowMs).toLowerCase();
    const pays = `It pays ${formatCents(quote.payout)} USDC.`;
    const name = stage.refusal ? "New quote" : "Quote";
    cancels.push(speak(`${name}: ${deadline} ${pays} ${changesOf(stage)}`.trim()));
    const warnInMs = remainingMs - DEADLINE_WARNING_MS;
    const warning = signWithinText(quote, nowMs + warnInMs);
    if (warnInMs > 0) later(warnInMs, () => speak(warning));
    later(remainingMs, () => {
      fallSilent();
      speak(ended);
    });
  };
  /** What the box pays, or what is wrong, once the box is still and that is known. */
  const speakBox = () => {
    fallSilent();
    later(STILL_MS, () => {
      const text = stillText(slip.obstacle.value, slip);
      if (text === undefined) speakBox();
      else if (text !== "") speak(text);
    });
  };
  const speakStage = (stage: Stage) => {
    fallSilent();
    if (stage.name === "quoted") speakQuote(stage);
    else if (stage.name === "placed" && stage.signedFirst !== undefined) {
      speak(repricedText(stage.signedFirst, stage.offer));
    } else if (stage.name === "draft") {
      if (stage.failure === undefined) speakBox();
      else speak(stage.failure);
    }
  };
  const checked = computed(() =>
    model.session.user.value?.portfolio.bets.unresolved.value.find((bet) => bet.isChecking)
  );
  const ends = [
    effect(() => {
      const stage = slip.stage.value;
      untracked(() => speakStage(stage));
    }),
    effect(() => {
      const quote = checked.value?.offer.quote;
      if (quote) untracked(() => speak(checkingText(quote)));
    }),
  ];
  return () => [...ends, fallSilent].forEach((end) => end());
}
