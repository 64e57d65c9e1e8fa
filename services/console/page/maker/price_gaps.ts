import type { Markets, PriceHistory, RangemakerClient, Thesis } from "@rangemaker/client";
import { joinSpans, overlap } from "../../../../lib/prices/price_slots.ts";
import { HISTORY_MAX_MS } from "../data/price_feed.ts";
import { openOf, SETTLE_MS } from "./exposure.ts";

interface Checked {
  fromMs: number;
  toMs: number;
  missing: PriceHistory["missing"];
}

/** Gaps that are nearer to each other are read at once: a busy node may lack every second price. */
const APART_MS = 60_000;

/** Finds the spans without prices in the windows of open bets, which wait for a backfill. */
export class PriceGaps {
  readonly #client: Pick<RangemakerClient, "history">;
  readonly #markets: Markets;
  readonly #checked = new Map<string, Checked>();

  constructor(client: Pick<RangemakerClient, "history">, markets: Markets) {
    this.#client = client;
    this.#markets = markets;
  }

  /**
   * Reads the newest prices, and again those that were missing.
   *
   * @returns Ids of the bets that lack any.
   */
  async read(theses: readonly Thesis[], nowMs: number): Promise<ReadonlySet<number>> {
    const byMarket = Map.groupBy(
      openOf(theses),
      ({ base, quote }) => this.#markets.find(base, quote)?.symbol,
    );
    const waiting = new Set<number>();
    for (const [symbol, bets] of byMarket) {
      if (symbol === undefined) continue;
      const missing = await this.#check(symbol, bets, nowMs - SETTLE_MS);
      for (const { id, startTime, endTime } of bets) {
        const window = { from: startTime, to: endTime };
        if (missing.some((span) => overlap(span, window))) waiting.add(id);
      }
    }
    return waiting;
  }

  async #check(symbol: string, bets: readonly Thesis[], toMs: number): Promise<Checked["missing"]> {
    const firstMs = Math.min(toMs, ...bets.map(({ startTime }) => startTime));
    const fromMs = Math.max(firstMs, toMs - HISTORY_MAX_MS);
    const known = this.#checked.get(symbol);
    const spans = known === undefined || fromMs < known.fromMs
      ? [{ from: fromMs, to: toMs }]
      : [...joinSpans(known.missing.filter(({ to }) => to > fromMs), APART_MS), {
        from: known.toMs,
        to: toMs,
      }];
    const missing: Checked["missing"] = [];
    for (const { from, to } of spans.filter(({ from, to }) => from < to)) {
      missing.push(...(await this.#client.history(symbol, from, to)).missing);
    }
    this.#checked.set(symbol, { fromMs, toMs, missing });
    return missing;
  }
}
