import type { Clock } from "../../lib/clock.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { MarketData } from "./market/market_data.ts";
import { NodeFeed } from "./market/node_feed.ts";
import type { SolverOptions } from "./options.ts";
import { ChainCheck } from "./readiness.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import { ExposureReader } from "./risk/exposure_reader.ts";

/** A background task. */
export interface Running {
  start(): void;
  stop(): Promise<void>;
}

/** Follows the node's WebSocket: the solver's theses update its exposure, prices the market data. */
export function followNode(
  { wsUrl, chainId }: SolverOptions,
  solver: Address,
  node: CoreClient,
  clock: Clock,
  exposure: ExposureBook,
  onThesis: (thesis: Thesis) => void,
  book: MarketData | undefined,
): Running {
  const reader = new ExposureReader({
    book: exposure,
    node,
    solver,
    clock,
    random: Math.random,
  });
  const chain = new ChainCheck(node, chainId);
  const feed = new NodeFeed({
    url: wsUrl,
    solver,
    clock,
    random: Math.random,
    handlers: {
      onSubscribed() {
        chain.connected();
        reader.connected();
      },
      onLost: () => reader.lost(),
      onThesis,
      onPrices: (prices) => book?.takeSpots(prices, clock.now()),
    },
  });
  return {
    start: () => feed.start(),
    async stop() {
      feed.stop();
      await Promise.all([reader.stop(), chain.stop()]);
    },
  };
}
