import { effect, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { systemClock } from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import { AWAY_CODES, explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import type { View } from "../shell.tsx";
import { useNextFocus } from "../use_next_focus.ts";
import { AccountPanel } from "./account_panel.tsx";
import { BetPanel } from "./bet_panel.tsx";
import { BetSlip } from "./bet_slip.ts";
import { DraftStore } from "./draft_store.ts";
import { linkedBox } from "./box_link.ts";
import { ChartCard } from "./chart_card.tsx";
import { ChartProbe } from "./chart_probe.ts";
import { Positions } from "./positions.tsx";

/** Shown first where it exists: the market whose prices move the most visibly. */
const FIRST_MARKET = "ETH/USDT";

/** The trade view, with a bet slip that survives a change of views. */
export function openTradeView(model: PageModel): View {
  const { client, session, serverClock, announce, markets, isMakerAway } = model;
  const estimator = () =>
    new Estimator({
      estimate: (bet, signal) => client.estimate(bet, signal),
      clock: systemClock,
    });
  const drafts = new DraftStore(localStorage, systemClock);
  const first = [drafts.symbol, FIRST_MARKET].find((symbol) => markets.bySymbol(symbol)) ??
    markets.symbols[0] ?? FIRST_MARKET;
  const slip = new BetSlip(first, {
    session,
    estimate: estimator(),
    serverClock,
    clock: systemClock,
    drafts,
    announce,
  });
  effect(() => {
    const state = slip.estimator.state.value;
    if (state === undefined) return;
    isMakerAway.value = "failure" in state && AWAY_CODES.has(explain(state.failure).code);
  });
  const openLink = () => {
    const box = linkedBox(location.hash);
    if (box === undefined || markets.bySymbol(box.symbol) === undefined) return;
    slip.choose(box.symbol);
    slip.edit(box.fields);
    history.replaceState(null, "", "#trade"); // a reload keeps what the user makes of it
    announce("A box was opened from a link. The amount is yours to choose.");
  };
  openLink();
  addEventListener("hashchange", openLink);
  const probe = new ChartProbe({ estimator: estimator(), now: () => serverClock.now() });
  const Body = () => <TradeView model={model} slip={slip} probe={probe} />;
  return { id: "trade", label: "Trade", Body };
}

interface TradeViewProps {
  model: PageModel;
  slip: BetSlip;
  probe: ChartProbe;
}

function TradeView({ model, slip, probe }: TradeViewProps) {
  const spanMs = useSignal(60_000);
  const chosen = useSignal<number | undefined>(undefined);
  const market = model.markets.bySymbol(slip.symbol.value);
  // The next step is on top.
  const user = model.session.user.value;
  const balance = user?.portfolio.account.value?.balance;
  const isReady = balance !== undefined && balance > 0n;
  const side = useRef<HTMLElement>(null);
  const money = balance === undefined ? "unknown" : isReady;
  useNextFocus(side, `${user?.address} ${money} ${slip.stage.value.name}`);
  if (market === undefined) return null;
  const account = <AccountPanel key="account" model={model} />;
  const bet = <BetPanel key="bet" model={model} slip={slip} />;
  return (
    <div class="trade">
      <ChartCard {...{ model, slip, market, spanMs, chosen, probe }} />
      <aside ref={side} class="side" aria-label="Bet">
        {isReady ? [bet, account] : [account, bet]}
      </aside>
      <Positions model={model} chosen={chosen} />
    </div>
  );
}
