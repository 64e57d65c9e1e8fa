import { UsageError } from "../../lib/cli/options.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { pagesOf } from "../../lib/net/core_reader.ts";
import type { TimeSpan } from "../../lib/prices/price_slots.ts";
import { BACKFILL_SLOTS_MAX, SLOT_MS } from "../../lib/protocol/constants.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import { formatUnits } from "../../lib/protocol/price.ts";

/** How far a price may be from the recorded ones, in percent. */
const DISTANCE_MAX_PERCENT = 10n;

/** How far from a gap recorded prices are read. */
const READ_MS = BACKFILL_SLOTS_MAX * SLOT_MS;

type HistoryClient = Pick<CoreClient, "getPriceHistory">;

/**
 * Compares a price with the last recorded one before each gap and the first one after it, as far as
 * they are known: a filled price is final.
 *
 * @throws {UsageError} If it is more than 10 % from one of them.
 */
export async function requireSimilarPrice(
  price: bigint,
  market: Market,
  gaps: readonly TimeSpan[],
  client: HistoryClient,
): Promise<void> {
  for (const { from, to } of gaps) {
    const before = { from: Math.max(0, from - READ_MS), to: from };
    const after = { from: to, to: to + READ_MS };
    const last = (await recordedPrices(market, before, client)).at(-1);
    const [first] = await recordedPrices(market, after, client);
    const gap = `the gap from ${new Date(from).toISOString()}`;
    requireSimilar(price, last, `the last one before ${gap}`);
    requireSimilar(price, first, `the first one after ${gap}`);
  }
}

function requireSimilar(price: bigint, recorded: bigint | undefined, which: string): void {
  if (recorded === undefined) return;
  const distance = price > recorded ? price - recorded : recorded - price;
  if (distance * 100n <= recorded * DISTANCE_MAX_PERCENT) return;
  throw new UsageError(
    `Invalid --price: ${formatUnits(price)} is more than ${DISTANCE_MAX_PERCENT} % from ` +
      `${formatUnits(recorded)}, ${which}. A filled price is final and decides bets: ` +
      "correct it, or add --any-price if it is right",
  );
}

async function recordedPrices(
  { base, quote }: Market,
  { from, to }: TimeSpan,
  client: HistoryClient,
): Promise<bigint[]> {
  const read = (cursor?: string) => client.getPriceHistory({ base, quote, from, to, cursor });
  const found: bigint[] = [];
  for await (const { prices } of pagesOf(read)) found.push(...prices.map(({ price }) => price));
  return found;
}
