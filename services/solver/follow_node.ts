import type { Clock } from "../../lib/clock.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { Reservations } from "./execution/reservations.ts";
import type { MarketData } from "./market/market_data.ts";
import { NodeFeed } from "./market/node_feed.ts";
import type { MinimumBet } from "./limits.ts";
import { ChainCheck } from "./readiness.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import { readOpenTheses } from "./risk/read_open_theses.ts";

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
