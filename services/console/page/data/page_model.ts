import { type Signal, signal } from "@preact/signals";
import { Markets, RangemakerClient, systemClock, type Thesis } from "@rangemaker/client";
import type { PageConfig } from "../../page_config.ts";
import { durationText, formatAmount, formatTime } from "../format.ts";
import { notify } from "../notify_button.tsx";
import { Poll } from "./http.ts";
import { LiveBreaches, outcomeText, stillOpenText } from "./live_breaches.ts";
import { MakerStatus } from "./maker_status.ts";
import { openMessages } from "./messages.ts";
import { PriceFeed } from "./price_feed.ts";
import { ServerClock } from "./server_clock.ts";
import { Session } from "./session.ts";
import { watchInjectedWallets } from "./wallets.ts";

/** Pause between two checks of the solver. */
const MAKER_POLL_MS = 5_000;

/** All data that the views show. Data flows from here to the views. */
export type PageModel = ReturnType<typeof openPageModel>;

/** Makes the model of a page and connects it. */
export function openPageModel(config: PageConfig, page: Window) {
  const clock = systemClock;
  const serverClock = new ServerClock(clock.now);
  const markets = new Markets(config.markets);
  const { urls, chainId } = config;
  /** Only for reads. */
  const client = new RangemakerClient({ urls, chainId, markets: config.markets });
  /** The newest events, for screen readers and the message line. */
  const { messages, announce, hide: hideMessages, hideSeen } = openMessages(clock);
  page.addEventListener("pointerdown", hideSeen);
  const maker = new MakerStatus();
  /** The node's chain id, once it has answered. */
  const nodeChainId: Signal<number | undefined> = signal(undefined);
  const session = new Session({
    config,
    clock,
    serverClock,
    store: page.localStorage,
    tabs: page,
    injected: watchInjectedWallets(page),
    onNews(thesis, news) {
      const { id, startTime, endTime } = thesis;
      if (news === "found") return void announce(placedText(id, thesis, serverClock.now()));
      if (news === "started") {
        const text = `Bet ${id} runs now, for ${durationText(endTime - startTime)}.`;
        return void announce(text, { isSpoken: true }); // the chart shows it
      }
      announce(outcomeText(thesis), { isSpoken: isOutcomeSeen(page.document, thesis) });
      notify(outcomeText(thesis));
    },
    onResolved(bet, outcome) {
      if (outcome.name === "refused") return; // the bet slip shows why
      const { quote } = bet.offer;
      const [text, isSpoken] = outcome.name === "placed"
        ? [placedText(outcome.thesisId, quote, serverClock.now()), !bet.isChecking]
        : [`No bet was placed on the box from ${formatTime(quote.startTime)}, nothing was taken.`];
      announce(text, { isSpoken });
    },
    onLeft(theses) {
      announce(`You have left the account.${stillOpenText(theses.map(withBreach))}`);
    },
  });
  let genesis: string | undefined;
  /** Detects that the node has another chain than before. */
  const checkChain = async () => {
    const found = await client.genesisHash().catch(() => undefined);
    if (found == null) return; // checked again after the next connect
    if (genesis !== undefined && genesis !== found) {
      announce("The chain was reset: prices and bets start over.");
      feed.clear();
      session.restart();
    }
    genesis = found;
  };
  const feed: PriceFeed = new PriceFeed({
    client,
    symbols: markets.symbols,
    serverClock,
    clock,
    onConnected() {
      void checkChain();
      void client.chainId().then((id) => nodeChainId.value = id, () => {});
    },
  });
  const breaches = new LiveBreaches();
  /** A thesis of any market, with the breach that the page's own prices show. */
  const withBreach = (thesis: Thesis) => {
    const market = markets.find(thesis.base, thesis.quote);
    return breaches.withBreach(thesis, market && feed.seriesOf(market.symbol));
  };
  /** Whether a market can be bet on. */
  const stateOf = (symbol: string) => feed.stateOf(symbol);
  feed.start();
  page.addEventListener("offline", () => feed.setOnline(false));
  const makerPoll = new Poll(clock, () => maker.read(() => client.solverInfo()), MAKER_POLL_MS);
  makerPoll.start();
  page.addEventListener("online", () => {
    feed.setOnline(true);
    makerPoll.start();
  });
  session.restore();
  const connections = { config, client, serverClock, session, nodeChainId };
  /** The prices are those of stand-ins for the exchanges. */
  const isSimulated = urls.exchanges !== undefined;
  const { isOffline } = feed;
  const market = { markets, feed, isOffline, isSimulated, stateOf, withBreach, maker };
  return { ...connections, ...market, messages, hideMessages, announce };
}

/** Whether the part of the page that shows the outcome of a bet is visible and not covered. */
function isOutcomeSeen(document: Document, { id }: Thesis): boolean {
  const place = document.querySelector(`[data-outcome="${id}"]`);
  if (place === null || document.hidden) return false;
  const { left, top, width, height } = place.getBoundingClientRect();
  return place.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}

function placedText(
  id: number,
  { payout, startTime }: Pick<Thesis, "payout" | "startTime">,
  nowMs: number,
): string {
  const begins = startTime > nowMs
    ? `starts in ${durationText(1_000 * Math.ceil((startTime - nowMs) / 1_000))}`
    : "has begun";
  return `Bet ${id} is placed: it pays ${formatAmount(payout)} USDC if the price stays in the ` +
    `box. The window ${begins}.`;
}
