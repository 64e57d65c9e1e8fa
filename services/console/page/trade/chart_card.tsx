import { type Signal, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type CancelTimer, type Market, systemClock } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import type { PriceFeed } from "../data/price_feed.ts";
import { formatAmount, formatQuotePrice, toNumber } from "../format.ts";
import { askQuote, clearBox, placeBox, sayBox, undo } from "./bet_panel.tsx";
import type { BetSlip } from "./bet_slip.ts";
import {
  betAt,
  boxOfDraft,
  boxOfQuote,
  boxOfThesis,
  type ChartBox,
  countdownOf,
  whereabouts,
} from "./chart_boxes.ts";
import type { ChartContent } from "./chart_frame.ts";
import { ChartPointer } from "./chart_pointer.ts";
import { type ChartProbe, draftAt } from "./chart_probe.ts";
import { pastShare } from "./chart_scales.ts";
import { labelOf, spanFor, ZOOM_STEP, zoomed } from "./chart_spans.ts";
import { betOf, describeDraft } from "./draft.ts";
import { parseDecimal } from "./input.ts";
import { Legend, nextBet } from "./legend.tsx";
import { LiveChart } from "./live_chart.ts";
import { marketObstacle } from "./next_step.ts";
import { quoteLife } from "./quote_life.ts";

interface ChartCardProps {
  model: PageModel;
  slip: BetSlip;
  market: Market;
  spanMs: Signal<number>;
  /** The bet that stands out, on the chart and in the list. */
  chosen: Signal<number | undefined>;
  probe: ChartProbe;
}

/** The market: its prices, the user's boxes, and the place to draw one. */
export function ChartCard(props: ChartCardProps) {
  const { model, slip, spanMs } = props;
  return (
    <section class="card" aria-label="Market">
      <MarketChoice model={model} slip={slip} />
      <Chart {...props} />
      <div class="legend">
        <Legend model={model} market={props.market} />
        <SpanChoice spanMs={spanMs} />
      </div>
    </section>
  );
}

/** How much time the chart shows: what wheel and fingers do, with buttons. */
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

/** What can be done with a drawn box, at the chart: on a phone, the fields are far below. */
function BoxButtons({ model, slip }: { model: PageModel; slip: BetSlip }) {
  if (slip.stage.value.name !== "draft") return null;
  return (
    <div class="box-buttons" role="group" aria-label="Box">
      {slip.replaced.value && <button type="button" onClick={() => undo(model, slip)}>Undo</button>}
      {!slip.isEmpty && <button type="button" onClick={() => clearBox(model, slip)}>Clear</button>}
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
            model.announce(`${slip.symbol.value}: ${box}`, { isSpoken: true });
          }}
        >
          <span>{symbol}</span>
          <LivePrice feed={model.feed} symbol={symbol} />
          {isOld(model, symbol) && <span class="spoken">old</span>}
        </button>
      ))}
    </div>
  );
}

/** The newest price is not the one of now. */
function isOld({ stateOf }: PageModel, symbol: string): boolean {
  const state = stateOf(symbol);
  return state === "stale" || state === "away" || state === "offline";
}

/** A price that changes ten times a second: nothing but its text is written anew. */
function LivePrice({ feed, symbol }: { feed: PriceFeed; symbol: string }) {
  const text = useComputed(() => {
    const price = feed.latest.value[symbol]?.price;
    return price === undefined ? "–" : formatQuotePrice(toNumber(price));
  });
  return <strong data-price={symbol}>{text}</strong>;
}

function Chart({ model, slip, market, spanMs, chosen, probe }: ChartCardProps) {
  const area = useRef<HTMLDivElement>(null);
  const { symbol } = market;
  useEffect(() => {
    const element = area.current;
    const canvas = element?.querySelector("canvas");
    const future = element?.querySelector("div");
    if (!element || !canvas || !future) return;
    const ended = new AbortController();
    let cancelSaying: CancelTimer = () => {};
    const content = contentOf({ model, slip, market, spanMs, chosen, probe });
    const chart = new LiveChart(canvas, future, content, ended.signal);
    new ChartPointer(element, {
      ...{ chart, slip, spanMs, keys: keysOf({ model, slip, market, spanMs }) },
      point: (at, grip) => point({ model, slip, market, spanMs, chosen, probe }, chart, at, grip),
      // Once, after the last of several presses.
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
      probe.hide();
      ended.abort();
    };
  }, [symbol]);
  useEffect(() => {
    void model.feed.loadFrom(symbol, model.serverClock.now() - spanMs.value * 0.6);
  }, [symbol, spanMs.value, model.feed.isLive.value]);
  const { draft } = slip;
  const draftEndsInMs = draft && draft.startsInMs + draft.durationMs;
  // A suggested or typed box may end beyond the chart, and so may any after the screen was turned.
  useEffect(() => {
    const fit = () => {
      if (draftEndsInMs === undefined) return;
      const futureShare = 1 - pastShare(area.current?.clientWidth ?? 0);
      if (draftEndsInMs > spanMs.value * futureShare) {
        spanMs.value = spanFor(draftEndsInMs, futureShare);
      }
    };
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
        <div class="future" />
      </div>
      <BoxButtons model={model} slip={slip} />
      <p class="spoken" id="chart-help">{HELP}</p>
      <p class="chart-state warned" role="status">{obstacle?.text}</p>
    </div>
  );
}

const HELP =
  "Enter suggests a box, then asks for its quote. Arrow keys move it, with Shift they size it, Escape " +
  "clears it, Control and Z undo. P tells the price, how an open bet stands, and what the box pays. + and − zoom.";

/** The box is said when it has been still for this long. */
const SAY_AFTER_MS = 600;

/** What keys do on the chart, beside those that move the box. */
function keysOf(
  { model, slip, market, spanMs }: Omit<ChartCardProps, "chosen" | "probe">,
): Record<string, () => void> {
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
        return document.querySelector<HTMLElement>(".action-bar [data-next]")?.focus();
      }
      if (slip.draft === undefined) return placeBox(model, slip);
      askQuote(model, slip);
    },
    p() {
      const price = model.feed.latest.peek()[market.symbol]?.price;
      const text = price === undefined ? "no price yet" : formatQuotePrice(toNumber(price));
      const nowMs = model.serverClock.now();
      const bet = nextBet(model, market, nowMs);
      const open = bet === undefined || price === undefined
        ? ""
        : `${countdownOf(bet, nowMs)}. The price is ${whereabouts(bet, price)}.`;
      say([`${market.symbol}: ${text}.`, open, slip.terms].filter(Boolean).join(" "));
    },
  };
}

/** Shows what is where the pointer is: a bet of the user, or a price and what a box there pays. */
function point(
  { model, slip, market, chosen, probe }: ChartCardProps,
  chart: LiveChart,
  at: { x: number; y: number } | undefined,
  grip: string,
): void {
  const { scales } = chart;
  if (at === undefined || scales === undefined) {
    chosen.value = undefined;
    return probe.hide();
  }
  const { x, y, nowMs } = scales;
  const place = { timeMs: x.invert(at.x), price: y.invert(at.y) };
  const theses = model.session.user.peek()?.portfolio.theses.peek() ?? [];
  const own = theses.filter(({ base }) => base === market.base)
    .map((thesis) => boxOfThesis(thesis, nowMs)).reverse();
  chosen.value = betAt(own, place.timeMs, place.price);
  const isFree = chosen.value === undefined && grip === "new" && place.timeMs > nowMs;
  const isDraft = slip.stage.peek().name === "draft";
  const [, endMs = 0] = x.domain();
  const spot = model.feed.seriesOf(market.symbol).prices.at(-1) ?? 0;
  const draft = draftAt(place, nowMs, { futureMs: endMs - nowMs, spot });
  const parsed = parseDecimal(slip.fields.peek().amount);
  const amount = typeof parsed === "bigint" ? parsed : 10_000_000n;
  const bet = isFree && isDraft && model.stateOf(market.symbol) === "fresh" && draft
    ? betOf(market.symbol, draft, amount, model.serverClock.now())
    : undefined;
  probe.show(place, bet);
}

/** Content of the chart at each frame. Boxes of bets are made when bets or prices change. */
function contentOf({ model, slip, market, spanMs, chosen, probe }: ChartCardProps) {
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
      // The oldest first.
      placed = newest.filter(({ base }) => base === market.base)
        .map((thesis) => boxOfThesis(model.withBreach(thesis), nowMs)).reverse();
    }
    const own = ownBox(slip, nowMs);
    const place = probe.place.peek();
    return {
      series,
      boxes: own === undefined ? placed : [...placed, own],
      draft: own?.kind === "draft" ? slip.draft : undefined,
      highlighted: chosen.peek(),
      probe: place && { place, text: probe.textAt(place, series) },
      hint: own === undefined && placed.every(({ toMs }) => toMs < nowMs) ? "Draw here" : undefined,
      isOld: isOld(model, market.symbol),
      nowMs,
      spanMs: spanMs.peek(),
    };
  };
}

/** The box that is being made: as drawn, or as quoted until the quote has expired. */
function ownBox(slip: BetSlip, nowMs: number): ChartBox | undefined {
  const stage = slip.stage.peek();
  if (stage.name === "placed") return undefined;
  const isQuoted = "offer" in stage &&
    (stage.name !== "quoted" || quoteLife(stage.offer.quote, nowMs).state === "valid");
  if (isQuoted) return boxOfQuote(stage.offer.quote);
  const { draft } = slip;
  if (draft === undefined) return undefined;
  const estimate = slip.estimator.state.peek();
  const label = estimate !== undefined && "estimate" in estimate
    ? `pays ${formatAmount(estimate.estimate.payout)}`
    : "";
  return boxOfDraft(draft, nowMs, label);
}
