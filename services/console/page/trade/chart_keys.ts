/** Keys on the chart. */
import { type CancelTimer, systemClock } from "@rangemaker/client";
import { betsOn } from "../data/outcome.ts";
import { spanText } from "../parts/format.ts";
import {
  announceBox,
  askQuote,
  clearBox,
  focusNextStep,
  ON_ITS_WAY,
  suggestBox,
} from "./box_actions.ts";
import { nudged } from "./box_drag.ts";
import { countdownOf, nextToEnd, whereabouts } from "./chart_boxes.ts";
import type { ChartSource } from "./chart_content.ts";
import type { ChartPointer } from "./chart_pointer.ts";
import { boundedSpan, ZOOM_STEP } from "./chart_spans.ts";
import { fieldsOf } from "./draft.ts";
import type { LiveChart } from "./live_chart.ts";
import { MARKET_TEXTS } from "./next_step.ts";
import { signableMs } from "./quote_life.ts";

/** The keys on the chart, for users. */
export const CHART_KEYS = [
  "Enter: suggest a box, then quote it. ",
  "Arrows: move, with Shift: size. ",
  "Escape: undo a drag, close a message, leave the quote, clear the box: the first that is there. ",
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

interface KeyTarget extends ChartSource {
  chart: LiveChart;
  pointer: ChartPointer;
}

/** A moved box is announced when no key has moved it for this long. */
const ANNOUNCE_AFTER_MS = 600;

/** Acts on keys that are pressed while the chart has the focus. */
export function followKeys(element: HTMLElement, target: KeyTarget, signal: AbortSignal): void {
  const { model, slip, chart, pointer } = target;
  const actions = actionsOf(target);
  /** The last key was the browser's, or pressed while a bet was on its way: held, it changes nothing. */
  let isStuck = false;
  let cancelAnnouncement: CancelTimer = () => {};
  element.addEventListener("keydown", (event) => {
    const { key, repeat } = event;
    // Such as the browser's "Back".
    if (event.altKey || event.ctrlKey || event.metaKey) return void (isStuck = true);
    if (key === "Escape" && pointer.undoDrag()) {
      return void model.announce("The drag was undone.", { isSpoken: true });
    }
    const isArrow = key.startsWith("Arrow");
    const name = key.toLowerCase();
    const act = actions[name];
    // The list of keys may have scrolled it away.
    if (name !== "?" && (isArrow || act)) element.scrollIntoView({ block: "nearest" });
    const isOfBox = isArrow || name === "m";
    if (!repeat) isStuck = isOfBox && slip.stage.peek().name === "sending";
    // Enter that moves the focus to a button does not press it; arrows do not scroll the page.
    if (key === "Enter" || isStuck || isArrow && chart.scales) event.preventDefault();
    if (isStuck) {
      if (!repeat) model.announce(ON_ITS_WAY, { isAnswer: true });
      return;
    }
    if (!repeat) act?.();
    const moved = chart.scales && slip.draft && nudged(chart.scales, slip.draft, event);
    if (moved !== undefined) slip.edit(fieldsOf(moved));
  }, { signal });
  // Announces the box once, after the last of several presses.
  element.addEventListener("keyup", ({ key }) => {
    if (!key.startsWith("Arrow") || isStuck) return;
    cancelAnnouncement();
    cancelAnnouncement = systemClock.after(ANNOUNCE_AFTER_MS, () => announceBox(model, slip));
  }, { signal });
  signal.addEventListener("abort", () => cancelAnnouncement());
}

/** Actions of keys, by name in lower case, besides those that move the box. */
function actionsOf(source: ChartSource): Record<string, () => void> {
  const { model, slip, market } = source;
  const answer = (text: string) => model.announce(text, { isSpoken: true, isAnswer: true });
  return {
    "+": () => zoomBy(source, 1 / ZOOM_STEP),
    "-": () => zoomBy(source, ZOOM_STEP),
    "?": () => {
      const list = document.querySelector<HTMLDetailsElement>("details.keys");
      if (list?.toggleAttribute("open")) answer(CHART_KEYS.join(""));
      else answer("Keys hidden.");
    },
    escape() {
      if (slip.stage.peek().name === "placed") answer("Ready for the next box.");
      if ("offer" in slip.stage.peek()) slip.back();
      else if (!slip.isEmpty) clearBox(model, slip);
    },
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
      suggestBox(model, slip, { keepsHeight: slip.obstacle.peek()?.action !== "fit" });
    },
    p() {
      const state = model.feed.stateOf(market.symbol);
      const price = model.feed.latest.peek()[market.symbol]?.price;
      const shown = model.feed.textOf(market.symbol);
      if (state !== "fresh" || price === undefined) {
        const why = MARKET_TEXTS[state === "fresh" ? "missing" : state];
        return answer(price === undefined ? why : `${why} The last price was ${shown}.`);
      }
      const nowMs = model.serverClock.now();
      const bet = nextToEnd(betsOn(model.bets, market), nowMs);
      const open = bet && `${countdownOf(bet, nowMs)}. The price is ${whereabouts(bet, price)}.`;
      const stage = slip.stage.peek();
      const box = stage.name === "quoted" ? stage.offer.quote : slip.draft;
      const own = box && `The price is ${whereabouts(box, price)} of your box.`;
      answer([`${market.symbol}: ${shown}.`, open, own, slip.terms].filter(Boolean).join(" "));
    },
  };
}
