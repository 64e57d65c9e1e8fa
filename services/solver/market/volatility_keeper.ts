import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ServiceRecords } from "../../../lib/intents/service_records.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { readPages } from "../../../lib/net/core_reader.ts";
import type { ExchangeHistory } from "../../../lib/net/exchange_history.ts";
import { RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { PollingLoop } from "../../../lib/timing/polling_loop.ts";
import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import { describeIssue } from "../../../lib/protocol/describe_input.ts";
import { DAY_MS } from "../../../lib/time.ts";
import { CANDLE_MS } from "../pricing/candle.ts";
import {
  MarketVolatility,
  type VolatilityOptions,
  volatilityStateSchema,
} from "../pricing/volatility.ts";
import { readExchangeCandles } from "./exchange_candles.ts";
import { HISTORY_PAGES_MAX } from "./history_reader.ts";
import type { MarketData } from "./market_data.ts";

const SAVED_NAME = "volatility";

/** Time between two saves: a crash loses about as much. */
const SAVE_INTERVAL_MS = 60_000;

/** A state may end this long after now: the clock may be behind that of the last run. */
const CLOCK_LAG_MAX_MS = 60_000;

/** Oldest state that is used, and longest span of past candles that is read. */
const PAST_MAX_MS = 7 * DAY_MS;

/** How long the node keeps prices. */
const NODE_HISTORY_MS = RING_SLOTS_DEFAULT * SLOT_MS;

/** How long the first quote may wait for past candles. */
const FILL_MAX_MS = 15_000;

/** States by symbol. */
const savedSchema = z.object({ markets: z.record(z.string(), volatilityStateSchema) });

interface VolatilityKeeperOptions {
  records: Pick<ServiceRecords, "saveValue" | "findValue">;
  clock: Clock;
  /** Has the newest prices. */
  node: Pick<CoreClient, "getPriceHistory">;
  /** The source of past candles; undefined for none. */
  history: ExchangeHistory | undefined;
  dryRun: boolean;
  marketData: MarketData;
}

const log = serviceLog("solver");

/** The stored volatilities that are recent enough. */
export async function readSavedVolatility(
  { records, clock }: Pick<VolatilityKeeperOptions, "records" | "clock">,
  markets: Markets,
  options: VolatilityOptions,
): Promise<Map<Market, MarketVolatility>> {
  const isRecent = ({ candlesEndMs }: MarketVolatility) =>
    candlesEndMs <= clock.now() + CLOCK_LAG_MAX_MS && candlesEndMs >= clock.now() - PAST_MAX_MS;
  try {
    const saved = await records.findValue(SAVED_NAME);
    if (saved === undefined) return new Map();
    const parsed = savedSchema.safeParse(JSON.parse(saved.value));
    if (!parsed.success) throw new TypeError(describeIssue(parsed.error));
    const usable = markets.list.flatMap((market): [Market, MarketVolatility][] => {
      const state = parsed.data.markets[market.symbol];
      const volatility = state && new MarketVolatility(options, state);
      return volatility && isRecent(volatility) ? [[market, volatility]] : [];
    });
    log.info("Volatility of {count} markets continues from {savedAt}", {
      count: usable.length,
      savedAt: new Date(saved.savedAtMs).toISOString(),
    });
    return new Map(usable);
  } catch (thrown) {
    log.warn("Volatility of the last run cannot be used, learning it again: {reason}", {
      reason: messageOf(thrown),
    });
    return new Map();
  }
}

/**
 * Keeps the volatility state across restarts, and adds candles of an exchange at the start. After a
 * failure it logs one line, and the start continues with less history.
 */
export class VolatilityKeeper {
  readonly #options: VolatilityKeeperOptions;
  readonly #filling = new AbortController();
  readonly #saving: PollingLoop;
  #isStopping = false;

  constructor(options: VolatilityKeeperOptions) {
    this.#options = options;
    this.#saving = new PollingLoop({
      clock: options.clock,
      intervalMs: SAVE_INTERVAL_MS,
      poll: () => this.#save(),
      onFailure: ({ message }) =>
        log.warn("Volatility cannot be saved: {reason}", { reason: message }),
      onRecovery: () => log.info("Volatility can be saved again"),
    });
  }

  /**
   * Adds the candles between the known history and the node's first price, then begins to save, and
   * starts to read the node's prices: candles older than known prices are ignored.
   */
  async start(reader?: Pick<PollingLoop, "start">): Promise<void> {
    await this.#fill();
    if (this.#isStopping) return;
    this.#saving.start(SAVE_INTERVAL_MS);
    reader?.start();
  }

  /** Stops filling and saves the state. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#filling.abort();
    await this.#saving.stop();
    await this.#save().catch((thrown) =>
      log.warn("Volatility cannot be saved: {reason}", { reason: messageOf(thrown) })
    );
  }

  async #fill(): Promise<void> {
    const { history, clock, marketData } = this.#options;
    if (history === undefined) return;
    const cancel = clock.after(FILL_MAX_MS, () => this.#filling.abort());
    const { signal } = this.#filling;
    let count = 0;
    const fills = await Promise.allSettled([...marketData.states].map(async ([market, state]) => {
      const { volatility } = state;
      const to = Math.floor(await this.#firstPriceMs(market) / CANDLE_MS) * CANDLE_MS;
      const from = Math.max(to - PAST_MAX_MS, volatility.candlesEndMs);
      for await (const candle of readExchangeCandles(history, market, { from, to }, signal)) {
        volatility.addCandle(candle);
        count += 1;
      }
    }));
    cancel();
    const failure = fills.find((fill) => fill.status === "rejected");
    if (failure === undefined) {
      log.info("Volatility begins with {count} candles of an exchange's history", { count });
    } else {
      log.warn(
        "Exchange history cannot be read, volatility begins with {count} candles of it and the saved " +
          "state: {reason}",
        { count, reason: messageOf(failure.reason) },
      );
    }
  }

  /**
   * When the node's prices of a market begin; now, if it has none. The newest prices decide the most,
   * and the node's have several sources, while candles have one.
   */
  async #firstPriceMs({ base, quote }: Market): Promise<number> {
    const { node, clock } = this.#options;
    const to = Math.floor(clock.now() / SLOT_MS) * SLOT_MS;
    const from = Math.max(0, to - NODE_HISTORY_MS);
    const read = (cursor?: string) => node.getPriceHistory({ base, quote, from, to, cursor });
    try {
      for await (const { prices: [first] } of readPages(read, HISTORY_PAGES_MAX)) {
        if (first !== undefined) return first.time;
      }
      return to;
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      return from; // it may have them all
    }
  }

  async #save(): Promise<void> {
    const { records, clock, dryRun, marketData } = this.#options;
    if (dryRun) return;
    const states = [...marketData.states.values()].flatMap(({ symbol, volatility }) =>
      volatility.candlesEndMs === 0 ? [] : [[symbol, volatility.toJSON()] as const]
    );
    if (states.length === 0) return;
    const saved: z.input<typeof savedSchema> = { markets: Object.fromEntries(states) };
    await records.saveValue(SAVED_NAME, JSON.stringify(saved), clock.now());
  }
}
