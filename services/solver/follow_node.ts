import type { Clock } from "../../lib/clock.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { pagesOf } from "../../lib/net/pages.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { Reservations } from "./execution/reservations.ts";
import type { MarketData } from "./market/market_data.ts";
import { NodeFeed } from "./market/node_feed.ts";
import type { MinimumBet } from "./limits.ts";
import { ChainCheck } from "./readiness.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

/** Theses in one answer of the node: its own limit. */
const PAGE = 1_000;

/** A background task. */
export interface Running {
  start(): void;
  stop(): Promise<void>;
}

/** Dependencies of {@link followNode}. */
export interface FollowNodeOptions {
  wsUrl: string;
  chainId: number;
  solver: Address;
  node: CoreClient;
  clock: Clock;
  exposure: ExposureBook;
  /** Is set to the smallest bet that the chain accepts. */
  minimumBet: MinimumBet;
  /** Released as theses settle; undefined in a dry run. */
  reservations: Pick<Reservations, "settled" | "reconcileOrLog"> | undefined;
  /** Gets the prices; undefined if the strategy needs none. */
  marketData: MarketData | undefined;
}

/** Follows the node's WebSocket: the solver's theses update its exposure, prices the market data. */
export function followNode(
  { wsUrl, chainId, solver, node, clock, exposure, minimumBet, reservations, marketData }:
    FollowNodeOptions,
): Running {
  const chain = new ChainCheck(node, chainId);
  const feed = new NodeFeed({
    url: wsUrl,
    solver,
    clock,
    random: Math.random,
    handlers: {
      async catchUp(signal) {
        minimumBet.requiredByChain(await node.minBetAmount());
        await readOpenTheses(exposure, node, solver, signal);
        // Theses may have settled unseen.
        if (!signal.aborted) await reservations?.reconcileOrLog(signal);
      },
      onLive: () => chain.connected(),
      onLost: () => exposure.invalidate(),
      onThesis(thesis) {
        exposure.apply(thesis);
        void reservations?.settled(thesis);
      },
      onPrices: (prices) => marketData?.takeSpots(prices, clock.now()),
    },
  });
  return {
    start: () => feed.start(),
    async stop() {
      await Promise.all([feed.stop(), chain.stop()]);
      exposure.invalidate();
    },
  };
}

/**
 * Reads all open theses of a solver into its book. Once `signal` is aborted, they no longer count.
 *
 * @throws {RangemakerError} If the node cannot be asked.
 */
export async function readOpenTheses(
  book: ExposureBook,
  node: Pick<CoreClient, "getTheses">,
  solver: Address,
  signal: AbortSignal,
): Promise<void> {
  book.beginReading();
  const theses: Thesis[] = [];
  // In this order, a thesis that changes its state between the two reads is not missed.
  for (const status of ["open", "needs_backfill"] as const) {
    const read = (cursor?: string) => node.getTheses({ solver, status, limit: PAGE, cursor });
    for await (const page of pagesOf(read)) theses.push(...page.theses);
  }
  if (!signal.aborted) book.endReading(theses);
}
