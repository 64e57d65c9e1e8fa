import { effect, type Signal, signal, untracked } from "@preact/signals";
import { Markets, RangemakerClient, systemClock, type Thesis } from "@rangemaker/client";
import type { PageConfig } from "../../page_config.ts";
import { EXPIRED, type ResolvedBet } from "./bet_keeper.ts";
import { Poll } from "./http.ts";
import { LiveBreaches } from "./live_breaches.ts";
import { MakerStatus } from "./maker_status.ts";
import { createMessages } from "./messages.ts";
import { notify } from "./notify.ts";
import { createSocketOpener } from "./open_socket.ts";
import { notPlacedText, outcomeText, placedText } from "./outcome.ts";
import { PriceFeed } from "./price_feed.ts";
import { ServerClock } from "./server_clock.ts";
import { Session } from "./session.ts";
import { watchInjectedWallets } from "./wallets.ts";

/** Pause between two checks of the solver. */
const MAKER_POLL_MS = 5_000;

/** Pause between two checks of the chain: a proxy stays connected while its node is replaced. */
const CHAIN_POLL_MS = 4_000;

/** All data that the views show. Data flows from here to the views. */
export class PageModel {
  readonly config: PageConfig;
  /** Only for reads. */
  readonly client: RangemakerClient;
  readonly serverClock = new ServerClock(systemClock.now);
  readonly markets: Markets;
  readonly feed: PriceFeed;
  /** The prices are those of stand-ins for the exchanges. */
  readonly isSimulated: boolean;
  readonly maker = new MakerStatus();
  readonly session: Session;
  /** The node's chain id, once it has answered. */
  readonly nodeChainId: Signal<number | undefined> = signal(undefined);
  /** The newest events, for screen readers and the message line. */
  readonly messages = createMessages(systemClock);
  readonly announce = this.messages.announce;
  readonly #breaches = new LiveBreaches();
  #genesis: string | undefined;

  constructor(config: PageConfig) {
    const clock = systemClock;
    const { urls, chainId } = config;
    this.config = config;
    this.markets = new Markets(config.markets);
    const connect = createSocketOpener(() => this.client.chainId(), clock);
    this.client = new RangemakerClient({ urls, chainId, markets: config.markets, connect });
    this.isSimulated = urls.exchanges !== undefined;
    this.session = new Session({
      config,
      connect,
      clock,
      serverClock: this.serverClock,
      store: localStorage,
      tabs: globalThis,
      injected: watchInjectedWallets(globalThis),
      announce: this.announce,
    });
    const chainPoll = new Poll(clock, (signal) => this.#checkChain(signal), CHAIN_POLL_MS);
    this.feed = new PriceFeed({
      client: this.client,
      symbols: this.markets.symbols,
      serverClock: this.serverClock,
      clock,
      onConnected: () => chainPoll.start(),
      onReverted: () => {
        if (config.isDevelopmentChain) this.session.restart(); // nobody reports which bets are gone
      },
    });
    const askMaker = () => this.maker.read(() => this.client.solverInfo());
    const makerPoll = new Poll(clock, askMaker, MAKER_POLL_MS);
    addEventListener("offline", () => this.feed.setOnline(false));
    addEventListener("online", () => {
      this.feed.setOnline(true);
      makerPoll.start();
    });
    this.#announceBets();
    this.feed.start();
    makerPoll.start();
    this.session.restore();
  }

  /** Announces the outcomes of signed bets, and the ends of placed ones. */
  #announceBets(): void {
    const { user } = this.session;
    effect(() => {
      const resolved = user.value?.portfolio.bets.resolved.value;
      if (resolved !== undefined) untracked(() => this.#announceOutcome(resolved));
    });
    effect(() => {
      const thesis = user.value?.portfolio.settled.value;
      if (thesis !== undefined) untracked(() => this.#announceSettled(thesis));
    });
  }

  /** A thesis of any market, with the breach that the page's own prices show. */
  readonly withBreach = (thesis: Thesis): Thesis => {
    const market = this.markets.find(thesis.base, thesis.quote);
    return this.#breaches.withBreach(thesis, market && this.feed.historyOf(market.symbol).series);
  };

  /** The user's bets, newest first, with the breaches that the page's own prices show. */
  get bets(): readonly Thesis[] {
    return this.session.user.value?.portfolio.theses.value.map(this.withBreach) ?? [];
  }

  #announceSettled(thesis: Thesis): void {
    this.announce(outcomeText(thesis), { isSpoken: isOutcomeSeen(thesis) });
    notify(outcomeText(thesis));
  }

  #announceOutcome({ bet: { offer: { quote }, isChecking }, outcome }: ResolvedBet): void {
    if (outcome.name === "placed") {
      const text = placedText(outcome.thesisId, quote, this.serverClock.now());
      this.announce(text, { isSpoken: !isChecking });
    } else if (outcome.reason === EXPIRED) { // the bet slip shows why a maker refused one
      this.announce(notPlacedText(EXPIRED, quote.startTime));
    }
  }

  /** Reads the node's chain, without which nobody can bet, and detects another one than before. */
  async #checkChain(signal: AbortSignal): Promise<void> {
    const { client } = this;
    const [found, id] = await Promise.all([client.genesisHash(), client.chainId()])
      .catch(() => []);
    if (id === undefined || signal.aborted) return;
    this.nodeChainId.value = id;
    if (found == null) return;
    if (this.#genesis !== undefined && this.#genesis !== found) {
      this.announce("The chain was reset: prices and bets start over.");
      this.feed.clear();
      this.session.restart();
    }
    this.#genesis = found;
  }
}

/** Whether the part of the page that shows the outcome of a bet is visible and not covered. */
function isOutcomeSeen({ id }: Thesis): boolean {
  const place = document.querySelector(`[data-outcome="${id}"]`);
  if (place === null || document.hidden) return false;
  const { left, top, width, height } = place.getBoundingClientRect();
  return place.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}
