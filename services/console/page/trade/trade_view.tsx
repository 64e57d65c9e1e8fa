import { useSignal } from "@preact/signals";
import { systemClock } from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import type { PageModel } from "../data/page_model.ts";
import type { View } from "../shell.tsx";
import { AccountPanel } from "./account_panel.tsx";
import { BetPanel } from "./bet_panel.tsx";
import { BetSlip } from "./bet_slip.ts";
import { ChartCard } from "./chart_card.tsx";
import { Positions } from "./positions.tsx";

/** Shown first where it exists: the market whose prices move the most visibly. */
const FIRST_MARKET = "ETH/USDT";

/** The trade view, with a bet slip that survives a change of views. */
export function openTradeView(model: PageModel): View {
  const { client, session, serverClock, announce, markets } = model;
  const estimate = new Estimator({
    estimate: (bet, signal) => client.estimate(bet, signal),
    clock: systemClock,
  });
  const first = markets.bySymbol(FIRST_MARKET)?.symbol ?? markets.symbols[0] ?? FIRST_MARKET;
  const slip = new BetSlip(first, {
    session,
    estimate,
    serverClock,
    clock: systemClock,
    announce,
  });
  return { id: "trade", label: "Trade", Body: () => <TradeView model={model} slip={slip} /> };
}

function TradeView({ model, slip }: { model: PageModel; slip: BetSlip }) {
  const spanMs = useSignal(60_000);
  const market = model.markets.bySymbol(slip.symbol.value);
  if (market === undefined) return null;
  // What is to be done next is on top.
  const balance = model.session.user.value?.portfolio.account.value?.balance ?? 0n;
  const isReady = balance > 0n;
  const account = <AccountPanel key="account" model={model} />;
  const bet = <BetPanel key="bet" model={model} slip={slip} />;
  return (
    <main class="trade">
      <ChartCard model={model} slip={slip} market={market} spanMs={spanMs} />
      <aside class="side" aria-label="Bet">
        {isReady ? [bet, account] : [account, bet]}
      </aside>
      <Positions model={model} />
    </main>
  );
}
