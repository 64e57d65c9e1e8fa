import { effect, signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { systemClock, type Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { formatRange, shortAddress } from "../parts/format.ts";
import type { View } from "../parts/view.tsx";
import { useNextFocus } from "../parts/hooks.ts";
import { AccountPanel } from "./account_panel.tsx";
import { BetPanel } from "./bet_panel.tsx";
import { BetSlip } from "./bet_slip.ts";
import { CHART, focusNextStep, ON_ITS_WAY, repeatBet, showChart } from "./box_actions.ts";
import { DraftStore } from "./draft_store.ts";
import { findLinkedBox } from "./box_link.ts";
import { ChartCard, measureFuture } from "./chart_card.tsx";
import { stateOfBet } from "./chart_boxes.ts";
import type { ChartSource } from "./chart_content.ts";
import { FIRST_SPAN_MS, spanFor } from "./chart_spans.ts";
import { speakStages } from "./slip_voice.ts";
import { YourBets } from "./your_bets.tsx";

/** The market that is shown first, if it exists: its prices move the most visibly. */
const FIRST_MARKET = "ETH/USDT";

/** The trade view. Its bet slip is kept when the user opens another view. */
export function createTradeView(model: PageModel): View {
  const { announce, markets, maker } = model;
  const drafts = new DraftStore(localStorage, systemClock);
  const first = [drafts.symbol, FIRST_MARKET].find((symbol) => markets.bySymbol(symbol)) ??
    markets.symbols[0] ?? FIRST_MARKET;
  const slip = new BetSlip(first, model, drafts);
  effect(() => {
    const state = slip.estimator.state.value;
    if (state === undefined) return;
    maker.report("failure" in state ? state.failure : undefined);
  });
  const openLink = () => {
    const box = findLinkedBox(location.hash);
    if (box === undefined) return;
    history.replaceState(null, "", "#trade"); // so that a reload keeps the user's changes
    if (box === "invalid") return void announce("This link has no valid box.");
    const { symbol, fields } = box;
    if (markets.bySymbol(symbol) === undefined) {
      return void announce(`This link is for ${symbol}, which is not traded here.`);
    }
    if (slip.stage.peek().name === "sending") return void announce(ON_ITS_WAY);
    slip.choose(symbol);
    slip.edit(fields);
    announce("A box was opened from a link. The amount is yours to choose.");
  };
  openLink();
  addEventListener("hashchange", openLink);
  slip.estimator.isPaused = true; // until the view is shown
  const spanMs = signal(FIRST_SPAN_MS); // survives a visit to another view
  const Body = () => <TradeView model={model} slip={slip} spanMs={spanMs} />;
  return { id: "trade", label: "Trade", Body };
}

function TradeView({ model, slip, spanMs }: Pick<ChartSource, "model" | "slip" | "spanMs">) {
  const chosen = useSignal<number | undefined>(undefined);
  const market = model.markets.bySymbol(slip.symbol.value);
  // The card with the next step comes first.
  const user = model.session.user.value;
  const balance = user?.portfolio.account.value?.balance;
  const hasMoney = balance !== undefined && balance > 0n;
  const isReady = hasMoney || slip.stage.value.name !== "draft";
  const side = useRef<HTMLElement>(null);
  useEstimates(slip);
  // While another view is shown, only the outcomes of bets are announced.
  useEffect(() => speakStages(model, slip), []);
  const money = balance === undefined ? "unknown" : hasMoney;
  const step = { name: slip.stage.value.name, of: `${user?.address} ${money}` };
  useNextFocus(side, step, CHART);
  void model.session.injected.value; // the first wallet that announces itself brings a bar
  useBarHeight(side);
  // What is signed, or its outcome, is in sight.
  useEffect(() => {
    side.current?.querySelector("#range, [data-outcome]")?.scrollIntoView({ block: "nearest" });
  }, [step.name]);
  if (market === undefined) return null;
  /** Shows a bet on the chart, and as much time as that needs. */
  const show = (bet: Thesis) => {
    const symbol = model.markets.find(bet.base, bet.quote)?.symbol;
    const { name } = slip.stage.value;
    if (symbol !== undefined && (name === "draft" || name === "placed")) slip.choose(symbol);
    const nowMs = model.serverClock.now();
    const { text } = stateOfBet(bet, nowMs, model.feed.isAway.value);
    const market = symbol ?? shortAddress(bet.base);
    const box = `${text}, ${market} from ${formatRange(bet, " to ")}`;
    // A quote keeps its market on the chart.
    if (symbol !== slip.symbol.value) return void model.announce(`Bet ${bet.id}: ${box}.`);
    const { share } = measureFuture();
    const [before, after] = [nowMs - bet.startTime, bet.endTime - nowMs];
    spanMs.value = Math.max(spanMs.value, spanFor(before, 1 - share), spanFor(after, share));
    chosen.value = bet.id;
    model.announce(`Bet ${bet.id} is shown on the chart: ${box}.`, { isSpoken: true });
    showChart();
  };
  const account = <AccountPanel key="account" model={model} />;
  const bet = <BetPanel key="bet" model={model} slip={slip} />;
  return (
    <>
      {user === undefined && (
        <p class="tagline">
          Bet that the price stays in the box. If it leaves once, you lose what you bet.
        </p>
      )}
      <div class="trade">
        <ChartCard model={model} slip={slip} market={market} spanMs={spanMs} chosen={chosen} />
        <aside ref={side} class="side" aria-label="Bet">
          {isReady ? [bet, account] : [account, bet]}
        </aside>
        <YourBets
          model={model}
          chosen={chosen}
          onShow={show}
          onRepeat={(bet) => {
            repeatBet(model, slip, bet);
            focusNextStep();
          }}
        />
      </div>
    </>
  );
}

/** Estimates come while this view is shown, and at once when the user is back. */
function useEstimates(slip: BetSlip): void {
  useEffect(() => {
    const onVisibility = () => {
      slip.estimator.isPaused = document.hidden;
      slip.refresh();
    };
    onVisibility(); // it may be opened behind other tabs
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      slip.estimator.isPaused = true;
    };
  }, []);
}

/** If its next step needs a larger share of the window's height, nothing stays on the screen. */
const NEXT_SHARE = 0.53;

/** Tells the style sheet how much of the screen's end the next step covers. */
function useBarHeight(side: RefObject<HTMLElement | null>): void {
  const { style } = document.documentElement;
  useEffect(() => {
    const bar = side.current?.querySelector<HTMLElement>(".card:first-child .action-bar");
    const next = bar?.querySelector<HTMLElement>(".next");
    const parts = [bar, next].filter((part) => part instanceof HTMLElement);
    // In two columns, the bar itself has no box.
    const measure = () => {
      const isTall = (next?.offsetHeight ?? 0) > innerHeight * NEXT_SHARE;
      const wasTall = side.current?.hasAttribute("data-tall");
      side.current?.toggleAttribute("data-tall", isTall);
      const shown = parts.find(({ offsetHeight }) => offsetHeight > 0);
      style.setProperty("--bar", `${isTall ? 0 : shown?.offsetHeight ?? 0}px`);
      if (isTall || !wasTall) return;
      // It may have come over the field in use.
      document.querySelector(".fields :focus")?.scrollIntoView({ block: "nearest" });
    };
    const sizes = new ResizeObserver(measure);
    for (const part of parts) sizes.observe(part);
    if (bar == null) measure();
    addEventListener("resize", measure);
    return () => {
      sizes.disconnect();
      removeEventListener("resize", measure);
    };
  }); // the bar is a new element after each step
  // Not between two bars: without this space for a moment, a page at its end would move.
  useEffect(() => () => style.removeProperty("--bar"), []);
}
