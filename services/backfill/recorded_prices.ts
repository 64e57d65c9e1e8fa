/** What the node has recorded: which prices are missing, and which are beside a gap. */
import { type CoreClient, missingSpansOf } from "../../lib/net/core_client.ts";
import { readPages } from "../../lib/net/core_reader.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { RING_SLOTS_DEFAULT } from "../../lib/prices/price_ring.ts";
import { appendSpan, slotAtOrAfter, type TimeSpan } from "../../lib/prices/price_slots.ts";
import { BACKFILL_SLOTS_MAX, SLOT_MS } from "../../lib/protocol/constants.ts";
import type { Market, Markets } from "../../lib/protocol/markets.ts";
import { formatUnits } from "../../lib/protocol/price.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";

/** The prices to fill: all missing prices of a thesis, or of a market in a time span. */
export type BackfillRequest = { thesis: number } | { market: Market; span: TimeSpan };

interface BackfillTarget {
  market: Market;
  /** In order of time, aligned to slots. */
  missing: TimeSpan[];
  thesis?: Thesis;
}

/**
 * Asks the node which prices are missing. For a thesis, it attempts the settlement, whose error
 * lists the missing spans.
 *
 * @throws {RangemakerError} `UNKNOWN_THESIS`, or `UNSUPPORTED_PAIR` for a market not in `markets`.
 * @throws {RpcError} If the node refuses a call.
 * @throws {NodeUnreachableError} If it does not answer.
 */
export async function readMissingPrices(
  request: BackfillRequest,
  client: CoreClient,
  markets: Markets,
): Promise<BackfillTarget> {
  if ("thesis" in request) return await missingOfThesis(request.thesis, client, markets);
  return {
    market: request.market,
    missing: await missingSpans(request.market, request.span, client),
  };
}

async function missingOfThesis(
  id: number,
  client: CoreClient,
  markets: Markets,
): Promise<BackfillTarget> {
  const thesis = await client.getThesis(id);
  if (thesis === null) {
    throw new RangemakerError("UNKNOWN_THESIS", `The node has no thesis with the id ${id}`);
  }
  const { base, quote } = thesis;
  const market = markets.find(base, quote);
  if (market === undefined) {
    const message = `Thesis ${id} is on ${base}/${quote}: add this market to the file of --markets`;
    throw new RangemakerError("UNSUPPORTED_PAIR", message);
  }
  try {
    return { market, thesis: await client.settleThesis(id), missing: [] };
  } catch (thrown) {
    const missing = missingSpansOf(thrown);
    if (missing !== undefined) return { market, thesis, missing };
    if (thesis.endTime <= (await client.getHead()).timestampMs) throw thrown;
    // The thesis has not ended: fill the prices that are missing so far.
    const span = { from: thesis.startTime, to: thesis.endTime };
    return { market, thesis, missing: await missingSpans(market, span, client) };
  }
}

/** Spans without a price, up to the newest block. */
async function missingSpans(
  market: Market,
  span: TimeSpan,
  client: CoreClient,
): Promise<TimeSpan[]> {
  const { timestampMs } = await client.getHead();
  const from = slotAtOrAfter(span.from) * SLOT_MS;
  const to = Math.min(slotAtOrAfter(span.to) * SLOT_MS, timestampMs + SLOT_MS);
  const missing: TimeSpan[] = [];
  if (from >= to) return missing;
  for await (const page of readRecorded(market, { from, to }, client)) {
    for (const gap of page.missing) appendSpan(missing, gap);
  }
  return missing;
}

/** How far a price may be from the recorded ones, in percent. */
const DISTANCE_MAX_PERCENT = 10n;

/** How far from a gap recorded prices are looked for: as far as a node keeps them by default. */
const SEARCHED_MS = RING_SLOTS_DEFAULT * SLOT_MS;

/** The time that one page of the node's history covers. */
const PAGE_MS = BACKFILL_SLOTS_MAX * SLOT_MS;

/** A recorded price beside a gap. */
export interface Neighbour {
  price: bigint;
  /** Which one it is, for messages. */
  name: string;
}

/**
 * The last recorded price before a gap and the first one after it. If the node no longer keeps those
 * after it, the newest one takes their place.
 */
export async function readNeighbours(
  market: Market,
  gap: TimeSpan,
  client: Pick<CoreClient, "getPriceHistory" | "getPrices">,
): Promise<Neighbour[]> {
  const last = await findLastPrice(market, gap.from, client);
  const first = await findFirstPrice(market, gap.to, client);
  const name = `the gap from ${new Date(gap.from).toISOString()}`;
  const found: [price: bigint | undefined, name: string][] = [
    [last, `the last one before ${name}`],
    first === undefined
      ? [(await client.getPrices())[market.symbol]?.price, "the newest one"]
      : [first, `the first one after ${name}`],
  ];
  return found.flatMap(([price, name]) => price === undefined ? [] : [{ price, name }]);
}

async function findLastPrice(
  market: Market,
  beforeMs: number,
  client: Pick<CoreClient, "getPriceHistory">,
): Promise<bigint | undefined> {
  // Backwards, page by page: the last price is most likely just before the gap.
  const earliestMs = Math.max(0, beforeMs - SEARCHED_MS);
  for (let to = beforeMs; to > earliestMs; to -= PAGE_MS) {
    const span = { from: Math.max(0, to - PAGE_MS), to };
    const pages = await Array.fromAsync(readRecorded(market, span, client));
    const last = pages.flatMap(({ prices }) => prices).at(-1);
    if (last !== undefined) return last.price;
  }
}

async function findFirstPrice(
  market: Market,
  from: number,
  client: Pick<CoreClient, "getPriceHistory">,
): Promise<bigint | undefined> {
  const span = { from, to: from + SEARCHED_MS };
  for await (const { prices: [first] } of readRecorded(market, span, client)) {
    if (first !== undefined) return first.price;
  }
}

/**
 * Compares prices with the recorded ones beside their gap, since a filled price is final.
 *
 * @returns Which price is more than 10 % from which recorded one, as text; undefined if none is.
 */
export function findDistantPrice(
  prices: readonly bigint[],
  neighbours: readonly Neighbour[],
): string | undefined {
  for (const { price: recorded, name } of neighbours) {
    const far = prices.find((price) => {
      const distance = price > recorded ? price - recorded : recorded - price;
      return distance * 100n > recorded * DISTANCE_MAX_PERCENT;
    });
    if (far === undefined) continue;
    const [price, other] = [formatUnits(far), formatUnits(recorded)];
    return `${price} is more than ${DISTANCE_MAX_PERCENT} % from ${other}, ${name}`;
  }
}

function readRecorded(
  { base, quote }: Market,
  { from, to }: TimeSpan,
  client: Pick<CoreClient, "getPriceHistory">,
) {
  return readPages((cursor) => client.getPriceHistory({ base, quote, from, to, cursor }));
}
