import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type CancelTimer, type Market, systemClock } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { useNow } from "../use_now.ts";
import { clearBox, placeBox, sayBox, undo } from "./bet_panel.tsx";
import { openText } from "./chart_boxes.ts";
import { betsOf, type ChartSource, contentOf, ownBetAt } from "./chart_content.ts";
import { CHART_KEYS, keysOf, zoomBy } from "./chart_keys.ts";
import { ChartPointer } from "./chart_pointer.ts";
import { ChartProbe } from "./chart_probe.ts";
import { pastShare } from "./chart_scales.ts";
import { labelOf, spanToSee, ZOOM_STEP } from "./chart_spans.ts";
import { LiveChart } from "./live_chart.ts";
import { MarketChoice } from "./market_choice.tsx";
import { MARKET_TEXTS } from "./next_step.ts";

/** The chart of a market: its prices, and the user's boxes, which are drawn here. */
export function ChartCard(props: ChartSource) {
  const { model, slip, spanMs } = props;
  return (
    <section class="card" aria-label="Market">
      <h2 class="spoken">Market</h2>
      <MarketChoice model={model} slip={slip} />
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
          <BoxButtons model={model} slip={slip} />
          <SpanChoice model={model} spanMs={spanMs} />
        </div>
      </div>
    </section>
  );
}

/** Why there is no live price, or whose prices these are; and the open bets. */
function Legend({ model, market }: { model: PageModel; market: Market }) {
  const nowMs = useNow(model.serverClock, 500);
  const text = openText(betsOf(model, market), nowMs);
  const state = model.stateOf(market.symbol);
  const isLive = state === "fresh";
  return (
    <div class="note legend-text">
      <p class={isLive ? undefined : "warned"} role="status">
        {isLive ? <span class="spoken">Live prices.</span> : MARKET_TEXTS[state]}
        {isLive && model.isSimulated && " Simulated prices"}
      </p>
      {text && (
        <p class="open">
          <span aria-hidden="true">●</span> {text}
        </p>
      )}
    </div>
  );
}

/** Buttons for how much time the chart shows, as an alternative to wheel and fingers. */
function SpanChoice(props: Pick<ChartSource, "model" | "spanMs">) {
  const zoom = (factor: number) => zoomBy(props, factor);
  const label = labelOf(props.spanMs.value);
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

/** Buttons for a drawn box below the chart, because on a phone the fields are far below. */
function BoxButtons({ model, slip }: Pick<ChartSource, "model" | "slip">) {
  if (slip.stage.value.name !== "draft") return null;
  return (
    <div class="choice" role="group" aria-label="Box">
      {slip.replaced.value && <button type="button" onClick={() => undo(model, slip)}>Undo</button>}
      {!slip.isEmpty && <button type="button" onClick={() => clearBox(model, slip)}>Clear</button>}
    </div>
  );
}

/** How the chart shows the future. */
function future(): { share: number; width: number } {
  const width = document.querySelector(".chart")?.clientWidth ?? 0;
  return { share: 1 - pastShare(width), width };
}

/** The chart that is drawn in an area, with pointer and keys, for as long as its market is shown. */
function useLiveChart(
  props: ChartSource,
  area: RefObject<HTMLDivElement | null>,
): RefObject<LiveChart | null> {
  const { model, slip, market, spanMs, chosen } = props;
  const chart = useRef<LiveChart>(null);
  useEffect(() => {
    const element = area.current;
    const canvas = element?.querySelector("canvas");
    if (!element || !canvas) return;
    const ended = new AbortController();
    let cancelSaying: CancelTimer = () => {};
    const probe = new ChartProbe(props);
    const content = contentOf(props, probe);
    const live = chart.current = new LiveChart(canvas, content, ended.signal);
    new ChartPointer(element, {
      ...{ chart: live, slip, spanMs, keys: keysOf(props) },
      point(at, isFree) {
        const { scales } = live;
        const place = at && scales && { time: scales.x.invert(at.x), price: scales.y.invert(at.y) };
        chosen.value = place && ownBetAt(props, place, scales.nowMs);
        probe.show(place, isFree && chosen.value === undefined ? scales?.x.domain()[1] : undefined);
      },
      tapped() {
        if (slip.isEmpty) placeBox(model, slip);
      },
      dragUndone() {
        model.announce("The drag was undone.", { isSpoken: true });
      },
      swiped() {
        model.announce("Hold for a moment, then draw or resize: a quick vertical stroke scrolls.");
      },
      // Announced once, after the last of several presses.
      nudged() {
        cancelSaying();
        cancelSaying = systemClock.after(SAY_AFTER_MS, () => {
          if (slip.draft !== undefined) return sayBox(model, slip, "Box");
          model.announce("No box yet: press Enter for one around the price.", { isAnswer: true });
        });
      },
    }, ended.signal);
    return () => {
      cancelSaying();
      probe.show(undefined);
      ended.abort();
    };
  }, [market.symbol]);
  return chart;
}

function Chart(props: ChartSource) {
  const { model, slip, market: { symbol }, spanMs } = props;
  const area = useRef<HTMLDivElement>(null);
  const chart = useLiveChart(props, area);
  useEffect(() => {
    void model.feed.loadFrom(symbol, model.serverClock.now() - spanMs.value * 0.6);
  }, [symbol, spanMs.value, model.feed.isLive.value]);
  const { draft } = slip;
  const { startsInMs, durationMs } = draft ?? {};
  const fit = () => {
    if (draft === undefined) return;
    const fitting = spanToSee(draft, spanMs.value, future());
    // A box that is being drawn stays as narrow as the user makes it.
    if (fitting > spanMs.value || !chart.current?.isHeld) spanMs.value = fitting;
  };
  // A suggested or typed box may end beyond the chart or be hardly seen, and so may any box after
  // the screen was rotated.
  useEffect(() => {
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [startsInMs, durationMs]);
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

/** The box is announced when it has not moved for this long. */
const SAY_AFTER_MS = 600;
