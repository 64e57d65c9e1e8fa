import { type Signal, useComputed } from "@preact/signals";
import type { RenderableProps } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type CancelTimer, type Market, type Quote, systemClock } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { firstOutside } from "../data/live_breaches.ts";
import type { Point } from "../data/price_series.ts";
import { formatAmount, formatQuotePrice, toNumber } from "../format.ts";
import { useNow } from "../use_now.ts";
import { askQuote, clearBox, placeBox, sayBox, undo } from "./bet_panel.tsx";
import type { BetSlip } from "./bet_slip.ts";
import {
  betAt,
  boxOfDraft,
  boxOfQuote,
  boxOfThesis,
  type ChartBox,
  countdownOf,
  nextToEnd,
  whereabouts,
} from "./chart_boxes.ts";
import type { ChartContent } from "./chart_frame.ts";
import { ChartPointer } from "./chart_pointer.ts";
import { ChartProbe } from "./chart_probe.ts";
import { pastShare } from "./chart_scales.ts";
import { labelOf, spanFor, ZOOM_STEP, zoomed } from "./chart_spans.ts";
import { describeDraft } from "./draft.ts";
import { LiveChart } from "./live_chart.ts";
import { marketObstacle } from "./next_step.ts";
import { estimateNow } from "./quote_button.tsx";
import { quoteLife } from "./quote_life.ts";
import { focusNextStep } from "./show_chart.ts";

interface ChartCardProps {
  model: PageModel;
  slip: BetSlip;
  market: Market;
  spanMs: Signal<number>;
  /** The highlighted bet, on the chart and in the list. */
  chosen: Signal<number | undefined>;
}

/** The chart of a market: its prices, and the user's boxes, which are drawn here. */
export function ChartCard(props: ChartCardProps) {
  const { model, slip, spanMs } = props;
  return (
    <section class="card" aria-label="Market">
      <MarketChoice model={model} slip={slip} />
      <Chart {...props} />
      <div class="row legend">
        <Legend model={model} market={props.market} />
        <SpanChoice spanMs={spanMs} />
      </div>
    </section>
  );
}

/** The countdown of the bet that ends next. */
function Legend({ model, market }: { model: PageModel; market: Market }) {
  const nowMs = useNow(model.serverClock, 500);
  const bet = nextBet(model, market, nowMs);
  return <p class="open">{bet && `● ${countdownOf(bet, nowMs)}`}</p>;
}

/** The user's open bet of a market that ends next. Breaches that the page has seen count. */
function nextBet({ session, withBreach }: PageModel, { base }: Market, nowMs: number) {
  const theses = session.user.value?.portfolio.theses.value ?? [];
  return nextToEnd(theses.filter((thesis) => thesis.base === base).map(withBreach), nowMs);
}

/** Buttons for how much time the chart shows, as an alternative to wheel and fingers. */
function SpanChoice({ spanMs }: { spanMs: Signal<number> }) {
  const zoom = (factor: number) => spanMs.value = zoomed(spanMs.value, factor);
  const label = labelOf(spanMs.value);
  return (
    <div class="choice" role="group" aria-label={`Time shown: ${label}`}>
      <button type="button" aria-label="Show more time" onClick={() => zoom(ZOOM_STEP)}>−</button>
      <span class="span">{label}</span>
      <button type="button" aria-label="Show less time" onClick={() => zoom(1 / ZOOM_STEP)}>
        +
      </button>
    </div>
  );
}

/** Buttons for a drawn box at the chart, because on a phone the fields are far below. */
function BoxButtons(
  { model, slip, children }: RenderableProps<{ model: PageModel; slip: BetSlip }>,
) {
  if (slip.stage.value.name !== "draft") return null;
  return (
    <div class="box-buttons" role="group" aria-label="Box">
      {slip.replaced.value && <button type="button" onClick={() => undo(model, slip)}>Undo</button>}
      {!slip.isEmpty && <button type="button" onClick={() => clearBox(model, slip)}>Clear</button>}
      {children}
    </div>
  );
}

function MarketChoice({ model, slip }: { model: PageModel; slip: BetSlip }) {
  return (
    <div class="markets" role="group" aria-label="Market">
      {model.markets.symbols.map((symbol) => (
        <button
          key={symbol}
          type="button"
          class={isOld(model, symbol) ? "old" : undefined}
          aria-pressed={slip.symbol.value === symbol}
          onClick={() => {
            slip.choose(symbol);
            const box = slip.draft === undefined ? "no box yet." : describeDraft(slip.draft);
            model.announce(`${symbol} at ${priceText(model, symbol)}: ${box}`, { isSpoken: true });
          }}
        >
          <span>{symbol}</span>
          <LivePrice model={model} symbol={symbol} />
          {isOld(model, symbol) && <span class="spoken">old</span>}
        </button>
      ))}
    </div>
  );
}

/** Whether the newest price is out of date. */
function isOld({ stateOf }: PageModel, symbol: string): boolean {
  const state = stateOf(symbol);
  return state === "stale" || state === "away" || state === "offline";
}

/**
 * A price that changes ten times a second; only its text is updated. It is not part of its button's
 * name, which would otherwise change as often.
 */
function LivePrice({ model, symbol }: { model: PageModel; symbol: string }) {
  const text = useComputed(() => priceText(model, symbol));
  return <strong data-price={symbol} aria-hidden>{text}</strong>;
}

function priceText({ feed }: PageModel, symbol: string): string {
  const price = feed.latest.value[symbol]?.price;
  return price === undefined ? "–" : formatQuotePrice(toNumber(price));
}

function Chart(props: ChartCardProps) {
  const { model, slip, market, spanMs, chosen } = props;
  const area = useRef<HTMLDivElement>(null);
  const { symbol } = market;
  useEffect(() => {
    const element = area.current;
    const canvas = element?.querySelector("canvas");
    if (!element || !canvas) return;
    const ended = new AbortController();
    let cancelSaying: CancelTimer = () => {};
    const probe = new ChartProbe(props);
    const content = contentOf(props, probe);
    const chart = new LiveChart(canvas, content, ended.signal);
    new ChartPointer(element, {
      ...{ chart, slip, spanMs, keys: keysOf(props) },
      point(at, isFree) {
        const { scales } = chart;
        const place = at && scales && { time: scales.x.invert(at.x), price: scales.y.invert(at.y) };
        chosen.value = place && ownBetAt(props, place, scales.nowMs);
        probe.show(place, isFree && chosen.value === undefined ? scales?.x.domain()[1] : undefined);
      },
      tapped() {
        if (content().hint !== undefined) placeBox(model, slip);
      },
      // Announced once, after the last of several presses.
      nudged() {
        cancelSaying();
        cancelSaying = systemClock.after(SAY_AFTER_MS, () => {
          if (slip.draft !== undefined) return sayBox(model, slip, "Box");
          model.announce("No box yet: press Enter for one around the price.");
        });
      },
    }, ended.signal);
    return () => {
      cancelSaying();
      probe.show(undefined);
      ended.abort();
    };
  }, [symbol]);
  useEffect(() => {
    void model.feed.loadFrom(symbol, model.serverClock.now() - spanMs.value * 0.6);
  }, [symbol, spanMs.value, model.feed.isLive.value]);
  const { draft } = slip;
  const draftEndsInMs = draft ? draft.startsInMs + draft.durationMs : 0;
  const futureShare = () => 1 - pastShare(area.current?.clientWidth ?? 0);
  const fit = () => {
    if (draftEndsInMs <= spanMs.value * futureShare()) return;
    spanMs.value = spanFor(draftEndsInMs, futureShare());
  };
  const isBeyond = draft !== undefined && draft.startsInMs >= spanMs.value * futureShare();
  // A suggested or typed box may end beyond the chart, and so may any box after the screen was
  // rotated.
  useEffect(() => {
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [draftEndsInMs]);
  const obstacle = marketObstacle(model.stateOf(symbol), symbol);
  return (
    <div class="chart">
      <div
        ref={area}
        class="area"
        role="application"
        tabIndex={0}
        aria-label={`Live prices of ${symbol}`}
        aria-describedby="chart-help"
      >
        <canvas />
      </div>
      <BoxButtons model={model} slip={slip}>
        {isBeyond && <button type="button" onClick={fit}>Show the box →</button>}
      </BoxButtons>
      <p class="keys note" id="chart-help" aria-hidden="true">{HELP}</p>
      <p class={`chart-state ${obstacle ? "warned" : ""}`} role="status">{obstacle?.text}</p>
    </div>
  );
}

const HELP = "Enter: suggest a box, then quote it. Arrows: move, with Shift: size. " +
  "Escape: clear. Ctrl+Z: undo. P: say price and bet. + −: zoom.";

/** The box is announced when it has not moved for this long. */
const SAY_AFTER_MS = 600;

/** Actions of keys on the chart, besides the keys that move the box. */
function keysOf({ model, slip, market, spanMs }: ChartCardProps): Record<string, () => void> {
  const say = (text: string) => model.announce(text, { isSpoken: true });
  const zoom = (factor: number) => {
    spanMs.value = zoomed(spanMs.peek(), factor);
    say(`Time shown: ${labelOf(spanMs.peek())}`);
  };
  const clear = () => {
    if ("offer" in slip.stage.peek()) slip.back();
    else if (!slip.isEmpty) clearBox(model, slip);
  };
  return {
    "+": () => zoom(1 / ZOOM_STEP),
    "-": () => zoom(ZOOM_STEP),
    "ctrl z": () => undo(model, slip),
    escape: clear,
    delete: clear,
    enter() {
      if (slip.stage.peek().name === "placed") slip.back();
      if (slip.stage.peek().name !== "draft") {
        return focusNextStep();
      }
      if (slip.draft === undefined) return placeBox(model, slip);
      askQuote(model, slip);
    },
    p() {
      if (model.isOffline.peek()) {
        return say(`You are offline. The last price was ${priceText(model, market.symbol)}.`);
      }
      const price = model.feed.latest.peek()[market.symbol]?.price;
      const text = price === undefined ? "no price yet" : priceText(model, market.symbol);
      const nowMs = model.serverClock.now();
      const bet = nextBet(model, market, nowMs);
      const open = bet === undefined || price === undefined
        ? ""
        : `${countdownOf(bet, nowMs)}. The price is ${whereabouts(bet, price)}.`;
      say([`${market.symbol}: ${text}.`, open, slip.terms].filter(Boolean).join(" "));
    },
  };
}

/** The user's topmost bet at a position. */
function ownBetAt({ model, market }: ChartCardProps, { time, price }: Point, nowMs: number) {
  const theses = model.session.user.peek()?.portfolio.theses.peek() ?? [];
  const own = theses.filter(({ base }) => base === market.base)
    .map((thesis) => boxOfThesis(thesis, nowMs)).reverse();
  return betAt(own, time, price);
}

/** Content of the chart at each frame. Bets' boxes are updated only when bets or prices change. */
function contentOf(
  { model, slip, market, spanMs, chosen }: ChartCardProps,
  probe: ChartProbe,
) {
  const { feed, serverClock, session } = model;
  const series = feed.seriesOf(market.symbol);
  let theses: unknown;
  let version = -1;
  let placed: ChartBox[] = [];
  return (): ChartContent => {
    const newest = session.user.peek()?.portfolio.theses.peek() ?? [];
    const nowMs = serverClock.now();
    if (newest !== theses || series.version !== version) {
      theses = newest;
      version = series.version;
      // Oldest first.
      placed = newest.filter(({ base }) => base === market.base)
        .map((thesis) => boxOfThesis(model.withBreach(thesis), nowMs)).reverse();
    }
    const own = ownBox(model, slip, nowMs);
    const place = probe.place.peek();
    return {
      series,
      boxes: own === undefined ? placed : [...placed, own],
      draft: own?.kind === "draft" ? slip.draft : undefined,
      highlighted: chosen.peek(),
      probe: place && { place, text: probe.textAt(place, series, nowMs) },
      hint: own === undefined && placed.every(({ toMs }) => toMs < nowMs)
        ? "Tap or draw here"
        : undefined,
      isOld: isOld(model, market.symbol),
      nowMs,
      spanMs: spanMs.peek(),
    };
  };
}

/** The box that the user is making: as quoted until the quote has expired, otherwise as drawn. */
function ownBox(model: PageModel, slip: BetSlip, nowMs: number): ChartBox | undefined {
  const stage = slip.stage.peek();
  if (stage.name === "placed") return undefined;
  const series = model.feed.seriesOf(slip.symbol.peek());
  const isLive = (quote: Quote) =>
    quoteLife(quote, nowMs).state === "valid" && firstOutside(quote, series) === undefined;
  const isQuoted = "offer" in stage && (stage.name !== "quoted" || isLive(stage.offer.quote));
  if (isQuoted) return boxOfQuote(stage.offer.quote);
  const { draft } = slip;
  if (draft === undefined) return undefined;
  const estimate = estimateNow(model, slip);
  return boxOfDraft(draft, nowMs, estimate ? `pays ${formatAmount(estimate.payout)}` : "");
}
