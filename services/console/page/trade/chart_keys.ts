import { spanText } from "../parts/format.ts";
import { announceBox, askQuote, clearBox, focusNextStep, suggestBox } from "./box_actions.ts";
import { countdownOf, nextToEnd, whereabouts } from "./chart_boxes.ts";
import { betsOf, type ChartSource } from "./chart_content.ts";
import { boundedSpan, ZOOM_STEP } from "./chart_spans.ts";
import { MARKET_TEXTS } from "./next_step.ts";
import { signableMs } from "./quote_life.ts";
import { obstacleNow, priceText } from "./situation.ts";

/** The keys on the chart, for users. */
export const CHART_KEYS = [
  "Enter: suggest a box, then quote it. ",
  "Arrows: move, with Shift: size. ",
  "Escape: undo a drag, close a message, leave the quote, clear the box: the first that is there. ",
  "Delete: leave the quote, clear the box. ",
  "M: move the box to the price, or fit its height. ",
  "P: say price and bet. ",
  "+ −: show less or more time.",
];

/** Multiplies the time that the chart shows, and announces it. */
export function zoomBy({ model, spanMs }: Pick<ChartSource, "model" | "spanMs">, factor: number) {
  spanMs.value = boundedSpan(spanMs.peek() * factor);
  const text = `Time shown: ${spanText(spanMs.peek())}`;
  model.announce(text, { isSpoken: true, isAnswer: true });
}

/** Actions of keys on the chart, besides the keys that move the box. */
export function keyActionsOf(source: ChartSource): Record<string, () => void> {
  const { model, slip, market } = source;
  const answer = (text: string) => model.announce(text, { isSpoken: true, isAnswer: true });
  const clear = () => {
    if (slip.stage.peek().name === "placed") answer("Ready for the next box.");
    if ("offer" in slip.stage.peek()) slip.back();
    else if (!slip.isEmpty) clearBox(model, slip);
  };
  return {
    "+": () => zoomBy(source, 1 / ZOOM_STEP),
    "-": () => zoomBy(source, ZOOM_STEP),
    "?": () => {
      const list = document.querySelector<HTMLDetailsElement>("details.keys");
      if (list?.toggleAttribute("open")) answer(CHART_KEYS.join(""));
      else answer("Keys hidden.");
    },
    escape: clear,
    delete: clear,
    enter() {
      if (slip.stage.peek().name === "placed") slip.back();
      const stage = slip.stage.peek();
      if (stage.name === "quoted" && signableMs(stage.offer.quote, model.serverClock.now()) === 0) {
        return void slip.quote();
      }
      if (stage.name !== "draft") return focusNextStep();
      if (slip.draft === undefined) return suggestBox(model, slip);
      askQuote(model, slip);
    },
    m() {
      if (slip.draft === undefined) return announceBox(model, slip);
      if (slip.stage.peek().name !== "draft") return;
      suggestBox(model, slip, { keepsHeight: obstacleNow(model, slip)?.action !== "fit" });
    },
    p() {
      const state = model.feed.stateOf(market.symbol);
      const price = model.feed.latest.peek()[market.symbol]?.price;
      const shown = priceText(model, market.symbol);
      if (state !== "fresh" || price === undefined) {
        const why = MARKET_TEXTS[state === "fresh" ? "missing" : state];
        return answer(price === undefined ? why : `${why} The last price was ${shown}.`);
      }
      const nowMs = model.serverClock.now();
      const bet = nextToEnd(betsOf(model, market), nowMs);
      const open = bet && `${countdownOf(bet, nowMs)}. The price is ${whereabouts(bet, price)}.`;
      const stage = slip.stage.peek();
      const box = stage.name === "quoted" ? stage.offer.quote : slip.draft;
      const own = box && `The price is ${whereabouts(box, price)} of your box.`;
      answer([`${market.symbol}: ${shown}.`, open, own, slip.terms].filter(Boolean).join(" "));
    },
  };
}
