import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { requireChainId } from "../../lib/intents/chain_guard.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { ProblemTracker } from "../../lib/log/problem_tracker.ts";
import { Backoff, SERVICE_WAIT_MAX_MS } from "../../lib/timing/backoff.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { readPages } from "../../lib/net/core_reader.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { createSubscription, RpcSubscriber } from "../../lib/net/rpc_subscriber.ts";
import { nodePriceSchema } from "../../lib/protocol/price.ts";
import { THESES_PAGE_MAX } from "../../lib/protocol/methods/reads.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../lib/protocol/thesis.ts";
import type { ReservationReleaser } from "./execution/reservation_releaser.ts";
import type { MarketData } from "./market/market_data.ts";
import type { Quoter } from "./quoting/quoter.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";
import type { ExposureLimit } from "./risk/exposure_limit.ts";

/** The node sends prices ten times a second, so silence means a dead connection. */
const FEED_SILENCE_MS = 10_000;

/** Waits between attempts to connect. */
export const FEED_RECONNECT = { initialMs: 250, maxMs: SERVICE_WAIT_MAX_MS };

interface NodeFollowerOptions {
  /** WebSocket URL of the core node, or of a proxy in front of it. */
  wsUrl: string;
  chainId: number;
  solver: Address;
  node: Pick<CoreClient, "url" | "getChainId" | "getLimits" | "getTheses">;
  clock: Clock;
  exposure: ExposureBook;
  quoter: Pick<Quoter, "setChainLimits">;
  exposureLimit: Pick<ExposureLimit, "report">;
  /** Releases the reservations of settled theses; undefined in a dry run. */
  releaser: Pick<ReservationReleaser, "onThesisChanged" | "reconcileOrLog"> | undefined;
  /** Gets the prices; undefined if the strategy needs none. */
  marketData: MarketData | undefined;
  /** Opens a socket, for tests; the platform's by default. */
  connect?: (url: string) => SocketLike;
}

/** Follows the node's WebSocket: theses update the solver's exposure, prices the market data. */
export function createNodeFollower(options: NodeFollowerOptions) {
  const { wsUrl: url, chainId, solver, node, clock, connect } = options;
  const { exposure, exposureLimit, quoter, releaser, marketData } = options;
  const log = serviceLog("solver");
  const backoff = () => new Backoff({ ...FEED_RECONNECT, random: Math.random });
  const loss = new ProblemTracker();
  const subscriber = new RpcSubscriber({
    url,
    clock,
    connect,
    backoff: backoff(),
    silenceMs: FEED_SILENCE_MS,
    subscriptions: [
      createSubscription(["theses", { solver }], thesisSchema, (thesis) => {
        exposure.apply(thesis);
        void releaser?.onThesisChanged(thesis);
      }),
      createSubscription(
        ["prices"],
        z.record(z.string(), nodePriceSchema),
        (prices) => marketData?.setSpots(prices, clock.now()),
      ),
    ],
    catchUp: {
      async read(signal) {
        await requireChainId(node, chainId);
        quoter.setChainLimits(await node.getLimits());
        await readOpenTheses(exposure, node, solver, signal);
        // Theses may have settled while disconnected.
        if (releaser === undefined || signal.aborted) return;
        await releaser.reconcileOrLog(signal);
        exposureLimit.report();
      },
      backoff: backoff(),
      onFailure: ({ message: reason }) =>
        log.warn("Open theses cannot be read: {reason}", { event: "exposure_unknown", reason }),
    },
    onLive() {
      if (loss.end()) {
        log.info("Core node is followed again at {url}", { event: "node_back", url });
      }
    },
    onLost(reason) {
      exposure.invalidate();
      if (!loss.begin()) return;
      const facts = { event: "node_lost", url, reason };
      log.warn("Core node cannot be followed at {url}: {reason}", facts);
    },
  });
  return { start: () => subscriber.start(), stop: () => subscriber.stop() };
}

/**
 * Reads all open theses of a solver into its book, and after a loss the newest settled ones. Once
 * `signal` is aborted, the result is dropped.
 *
 * @throws {RangemakerError} If the node gives no valid answer.
 */
async function readOpenTheses(
  book: ExposureBook,
  node: Pick<CoreClient, "getTheses">,
  solver: Address,
  signal: AbortSignal,
): Promise<void> {
  book.beginReading();
  const theses: Thesis[] = [];
  const limit = THESES_PAGE_MAX;
  let newestId = 0;
  // In this order, a thesis that changes its state between the two reads is not missed.
  for (const status of ["open", "needs_backfill"] as const) {
    const read = (cursor?: string) => node.getTheses({ solver, status, limit, cursor });
    for await (const page of readPages(read)) {
      theses.push(...page.theses);
      newestId = page.lastId ?? 0;
    }
  }
  if (newestId > 0 && !book.isComplete) {
    const cursor = `${Math.max(0, newestId - limit)}`;
    theses.push(...(await node.getTheses({ solver, limit, cursor })).theses);
  }
  if (!signal.aborted) book.endReading(theses);
}
