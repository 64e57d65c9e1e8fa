import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Market } from "@rangemaker/client";
import { betsOn } from "../data/outcome.ts";
import type { PageModel } from "../data/page_model.ts";
import { spanText } from "../parts/format.ts";
import { useNow } from "../parts/hooks.ts";
import { Signed } from "../parts/parts.tsx";
import { clearBox, ON_ITS_WAY } from "./box_actions.ts";
import { openBetsText, SIGNS } from "./chart_boxes.ts";
import { type ChartSource, createContentReader } from "./chart_content.ts";
import { CHART_KEYS, followKeys, zoomBy } from "./chart_keys.ts";
import { ChartPointer } from "./chart_pointer.ts";
import { ChartProbe } from "./chart_probe.ts";
import { pastShare } from "./chart_scales.ts";
import { spanFor, spanToSee, ZOOM_STEP } from "./chart_spans.ts";
import { describeDraft } from "./draft.ts";
import { LiveChart, textScale } from "./live_chart.ts";
import { MARKET_TEXTS } from "./next_step.ts";

/** The chart of a market: its prices, and the user's boxes, which are drawn here. */
export function ChartCard(props: ChartSource) {
  const { model, slip, spanMs } = props;
  return (
    <section class="card" aria-label="Market">
      <h2 class="spoken">Market</h2>
      <div class="markets" role="group" aria-label="Market">
        {model.markets.symbols.map((symbol) => (
          <MarketButton key={symbol} model={model} slip={slip} symbol={symbol} />
        ))}
      </div>
      <Chart {...props} />
      <div class="row legend">
        <Legend model={model} market={props.market} />
        <details
          class="keys note"
          onToggle={({ currentTarget }) => {
            if (currentTarget.open) currentTarget.scrollIntoView({ block: "nearest" });
          }}
        >
          <summary aria-keyshortcuts="?">Keys</summary>
          <ul>{CHART_KEYS.map((text) => <li key={text}>{text}</li>)}</ul>
        </details>
        <div class="choice">
          <ClearButton model={model} slip={slip} />
          <SpanChoice model={model} spanMs={spanMs} />
        </div>
      </div>
    </section>
  );
}

/**
 * Chooses a market, and shows its price, which changes ten times a second: only its text is updated.
 * Screen readers would read each change of the focused button's name, so the price is not a part of
 * it: a press speaks it.
 */
function MarketButton(
  { model, slip, symbol }: Pick<ChartSource, "model" | "slip"> & { symbol: string },
) {
  const price = useComputed(() => model.feed.textOf(symbol));
  const old = model.feed.isOld(symbol) ? "old" : undefined;
  return (
    <button
      type="button"
      class={old}
      aria-pressed={symbol === slip.symbol.value}
      onClick={() => {
        if (!slip.choose(symbol)) return void model.announce(ON_ITS_WAY);
        const box = slip.draft === undefined ? "no box yet." : describeDraft(slip.draft);
        model.announce(`${symbol} at ${price.value}: ${box}`, { isSpoken: true });
      }}
    >
      <span>{symbol}</span>
      <strong data-price={symbol} aria-hidden="true">{price}</strong>
      {old && <span class="spoken">{old}</span>}
    </button>
  );
}

/** Why there is no live price, or whose prices these are; and the open bets. */
function Legend({ model, market }: { model: PageModel; market: Market }) {
  const nowMs = useNow(model.serverClock, 500);
  const text = openBetsText(betsOn(model.bets, market), nowMs);
  const state = model.feed.stateOf(market.symbol);
  const isLive = state === "fresh";
  return (
    <div class="note legend-text">
      <p class={isLive ? undefined : "warned"} role="status">
        {isLive ? <span class="spoken">Live prices.</span> : MARKET_TEXTS[state]}
        {isLive && model.isSimulated && " Simulated prices"}
      </p>
      {text && (
        <p class="open">
          <Signed sign={SIGNS.open} text={text} />
        </p>
      )}
    </div>
  );
}

const [MORE, LESS] = ["Show more time", "Show less time"];

/**
 * Buttons for how much time the chart shows, as an alternative to wheel and fingers. As on maps, `+`
 * comes closer, like key +, the wheel turned up, and fingers that spread: it shows less time.
 */
function SpanChoice(props: Pick<ChartSource, "model" | "spanMs">) {
  const zoom = (factor: number) => zoomBy(props, factor);
  const label = spanText(props.spanMs.value);
  return (
    <div class="choice" role="group" aria-label={`Time shown: ${label}`}>
      <span class="shows">
        Shows <span class="span">{label}</span>
      </span>
      <button type="button" title={MORE} aria-label={MORE} onClick={() => zoom(ZOOM_STEP)}>
        −
      </button>
      <button type="button" title={LESS} aria-label={LESS} onClick={() => zoom(1 / ZOOM_STEP)}>
        +
      </button>
    </div>
  );
}

/** A button for a drawn box below the chart, because on a phone the fields are far below. */
function ClearButton({ model, slip }: Pick<ChartSource, "model" | "slip">) {
  if (slip.isEmpty || slip.stage.value.name !== "draft") return null;
  return (
    <button type="button" aria-label="Clear the box" onClick={() => clearBox(model, slip)}>
      Clear
    </button>
  );
}

/** How the chart shows the future: its share of the time, and the width of the whole in pixels. */
export function measureFuture(): { share: number; width: number } {
  const width = document.querySelector(".chart")?.clientWidth ?? 0;
  return { share: 1 - pastShare(width / textScale(width)), width };
}

function Chart(props: ChartSource) {
  const { model, slip, market: { symbol }, spanMs } = props;
  const area = useRef<HTMLDivElement>(null);
  const chart = useRef<LiveChart>(null);
  const { startsInMs, durationMs } = slip.draft ?? {};
  const stage = slip.stage.value;
  const history = model.feed.historyOf(symbol);
  // Under a drag, the view keeps still: if it grew with a box at its edge, the box would run away.
  const fit = (leastMs = 0) => {
    if (slip.draft === undefined || chart.current?.isHeld) return;
    spanMs.value = Math.max(leastMs, spanToSee(slip.draft, spanMs.value, measureFuture()));
  };
  useEffect(() => {
    const canvas = area.current?.querySelector("canvas");
    if (!area.current || !canvas) return;
    const ended = new AbortController();
    const probe = new ChartProbe(props);
    const live = chart.current = new LiveChart(
      canvas,
      createContentReader(props, probe),
      ended.signal,
    );
    // A drawn box stays as narrow as the user made it.
    const released = () => fit(spanMs.value);
    const target = { ...props, chart: live, probe, released };
    const pointer = new ChartPointer(area.current, target, ended.signal);
    followKeys(area.current, { ...props, chart: live, pointer }, ended.signal);
    addEventListener("resize", () => fit(), { signal: ended.signal }); // the screen was rotated
    return () => ended.abort();
  }, [symbol]);
  useEffect(() => {
    void history.readFrom(model.serverClock.now() - spanMs.value * 0.6);
  }, [symbol, spanMs.value, model.feed.isLive.value, history.isLoaded.value]);
  // A suggested or typed box may end beyond the chart or be hardly seen.
  useEffect(() => fit(), [startsInMs, durationMs]);
  useEffect(() => {
    const nowMs = model.serverClock.now();
    if (stage.name !== "placed" || stage.offer.quote.startTime < nowMs) return;
    spanMs.value = spanFor(stage.offer.quote.endTime - nowMs, measureFuture().share);
  }, [stage.name]);
  return (
    <div class="chart">
      <div
        ref={area}
        class="area"
        role="application"
        tabIndex={0}
        aria-label={`Prices of ${symbol}`}
        aria-describedby="chart-hint"
      >
        <canvas />
      </div>
      <span id="chart-hint" hidden>Press ? for the keys.</span>
    </div>
  );
}
