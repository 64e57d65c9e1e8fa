import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import { deviations } from "./aggregation.ts";
import type { PriceBoard } from "./price_board.ts";

/** One aggregation in this many is timed: timing each would cost as much as the work itself. */
const TIMED_EVERY = 64;

/** Metrics of the oracle, in addition to those of its process. */
export type OracleMetrics = ReturnType<typeof createOracleMetrics>;

export function createOracleMetrics(registers: Registry[]) {
  const aggregationSeconds = new Histogram({
    name: "oracle_aggregation_seconds",
    help: `Time from a parsed price to the new answer; one in ${TIMED_EVERY} is timed.`,
    buckets: [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3],
    registers,
  });
  let count = 0;
  const untimed = () => {};
  return {
    prints: new Counter({
      name: "oracle_prints_total",
      help: "Prices accepted, by provider.",
      labelNames: ["provider"],
      registers,
    }),
    faults: new Counter({
      name: "oracle_faults_total",
      help: "Faults of connections and streams, by provider and kind.",
      labelNames: ["provider", "fault"],
      registers,
    }),
    reconnects: new Counter({
      name: "oracle_reconnects_total",
      help: "Connection attempts after the first, by provider.",
      labelNames: ["provider"],
      registers,
    }),
    droppedFrames: new Counter({
      name: "oracle_dropped_frames_total",
      help: "Frames or prints that gave no price, by provider and reason.",
      labelNames: ["provider", "reason"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "oracle_request_seconds",
      help: "Time to answer a request, by path.",
      labelNames: ["path"],
      buckets: [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1],
      registers,
    }),
    /** Starts timing an aggregation; call the result when it is done. */
    timeAggregation(): () => void {
      count = (count + 1) % TIMED_EVERY;
      return count === 0 ? aggregationSeconds.startTimer() : untimed;
    },
  };
}

/** Registers gauges that read the board on each scrape. */
export function observeBoard(registers: Registry[], board: PriceBoard, clock: Clock): void {
  new Gauge({
    name: "oracle_sources",
    help: "Sources that contribute to a pair.",
    labelNames: ["pair"],
    registers,
    collect() {
      for (const pair of board.symbols) this.set({ pair }, board.sources(pair).length);
    },
  });
  new Gauge({
    name: "oracle_price_age_seconds",
    help: "Age of a pair's lastUpdate; no value without a valid price.",
    labelNames: ["pair"],
    registers,
    collect() {
      this.reset();
      for (const pair of board.symbols) {
        const entry = board.entry(pair);
        if (entry === undefined) continue;
        this.set({ pair }, Math.max(0, clock.now() - entry.lastUpdate) / 1000);
      }
    },
  });
  new Gauge({
    name: "oracle_price_withheld",
    help: "1 while a pair has no price because only one source has made its jump, otherwise 0.",
    labelNames: ["pair"],
    registers,
    collect() {
      for (const pair of board.symbols) this.set({ pair }, Number(board.isWithheld(pair)));
    },
  });
  new Gauge({
    name: "oracle_source_deviation_ratio",
    help: "Distance of a source from the median of three or more, as a fraction of the median.",
    labelNames: ["pair", "provider"],
    registers,
    collect() {
      this.reset();
      for (const pair of board.symbols) {
        for (const [provider, basisPoints] of deviations(board.sources(pair)) ?? []) {
          this.set({ pair, provider }, basisPoints / 10_000);
        }
      }
    },
  });
}
