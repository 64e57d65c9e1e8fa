import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { Markets, RangemakerClient, systemClock, type Thesis } from "@rangemaker/client";
import type { PageConfig } from "../../page_config.ts";
import { formatAmount } from "../format.ts";
import { PriceFeed } from "./price_feed.ts";
import { ServerClock } from "./server_clock.ts";
import { Session } from "./session.ts";
import { watchInjectedWallets } from "./wallets.ts";

/** Everything that the views show, in one place: data flows from here to them. */
export interface PageModel {
  config: PageConfig;
  markets: Markets;
  /** Reads only. */
  client: RangemakerClient;
  serverClock: ServerClock;
  feed: PriceFeed;
  session: Session;
  /** The node's chain id, once it has answered. */
  nodeChainId: ReadonlySignal<number | undefined>;
  /** Missing services, one sentence per line; empty if all are there. */
  problems: ReadonlySignal<string>;
  /** The newest event, for screen readers and the message line. */
  announcement: ReadonlySignal<string>;
  announce(text: string): void;
}

/** Makes the model of a page and connects it. */
export function openPageModel(config: PageConfig, page: Window): PageModel {
  const clock = systemClock;
  const serverClock = new ServerClock(clock.now);
  const markets = new Markets(config.markets);
  const { urls, chainId } = config;
  const client = new RangemakerClient({ urls, chainId, markets: config.markets });
  const announcement = signal("");
  const announce = (text: string) => announcement.value = text;
  const nodeChainId: Signal<number | undefined> = signal(undefined);
  const session = new Session({
    config,
    clock,
    store: page.localStorage,
    injected: watchInjectedWallets(page),
    onSettled: (thesis) => announce(outcomeOf(thesis)),
  });
  const chain = new ChainIdentity(client, () => {
    announce("The chain was reset: prices and bets start anew.");
    feed.clear();
    session.restart();
  });
  const feed: PriceFeed = new PriceFeed({
    client,
    symbols: markets.symbols,
    serverClock,
    onConnected() {
      void chain.check();
      void client.chainId().then((id) => nodeChainId.value = id, () => {});
    },
  });
  const problems = computed(() => problemsOf(config, feed, session, nodeChainId.value).join("\n"));
  feed.start();
  session.restore();
  return {
    config,
    markets,
    client,
    serverClock,
    feed,
    session,
    nodeChainId,
    problems,
    announcement,
    announce,
  };
}

/** Notices that a node has another chain than before. */
class ChainIdentity {
  readonly #client: RangemakerClient;
  readonly #onReset: () => void;
  #genesis: string | undefined;

  constructor(client: RangemakerClient, onReset: () => void) {
    this.#client = client;
    this.#onReset = onReset;
  }

  async check(): Promise<void> {
    const genesis = await this.#client.genesisHash().catch(() => undefined);
    if (genesis == null) return; // asked again after the next connect
    if (this.#genesis !== undefined && this.#genesis !== genesis) this.#onReset();
    this.#genesis = genesis;
  }
}

/** A sentence names so many markets at most. */
const NAMES_MAX = 5;

function problemsOf(
  { urls, chainId, markets }: PageConfig,
  feed: PriceFeed,
  session: Session,
  nodeChainId: number | undefined,
): string[] {
  const problems: string[] = [];
  if (feed.problem.value !== undefined) {
    problems.push(
      `No live prices: the connection to the proxy at ${urls.proxyWs} is down (${feed.problem.value}). Trying again.`,
    );
  } else {
    const stale = markets.filter(({ symbol }) => feed.latest.value[symbol]?.state === "stale");
    if (stale.length > 0) {
      const names = stale.slice(0, NAMES_MAX).map(({ symbol }) => symbol).join(", ");
      const others = stale.length - NAMES_MAX;
      problems.push(
        `No fresh price of ${names}${
          others > 0 ? ` and ${others} others` : ""
        }: the oracle is away or lacks sources. Bets on it are not taken until it is back.`,
      );
    }
    if (session.user.value?.portfolio.problem.value !== undefined) {
      problems.push("Your bets may be out of date: reconnecting.");
    }
  }
  if (nodeChainId !== undefined && nodeChainId !== chainId) {
    problems.push(`The node has chain ${nodeChainId}, and this page is set up for ${chainId}.`);
  }
  return problems;
}

function outcomeOf({ id, status, betAmount, payout }: Thesis): string {
  return status === "won"
    ? `Bet ${id} won: ${formatAmount(payout)} USDC paid out.`
    : `Bet ${id} lost: ${formatAmount(betAmount)} USDC.`;
}
