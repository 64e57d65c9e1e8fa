import { type CoreClient, missingSpansOf } from "../../lib/net/core_client.ts";
import { pagesOf } from "../../lib/net/core_reader.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { appendSpan, slotAtOrAfter, type TimeSpan } from "../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import type { Market, Markets } from "../../lib/protocol/markets.ts";
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
  { base, quote }: Market,
  span: TimeSpan,
  client: CoreClient,
): Promise<TimeSpan[]> {
  const { timestampMs } = await client.getHead();
  const from = slotAtOrAfter(span.from) * SLOT_MS;
  const to = Math.min(slotAtOrAfter(span.to) * SLOT_MS, timestampMs + SLOT_MS);
  const missing: TimeSpan[] = [];
  if (from >= to) return missing;
  const read = (cursor?: string) => client.getPriceHistory({ base, quote, from, to, cursor });
  for await (const page of pagesOf(read)) {
    for (const gap of page.missing) appendSpan(missing, gap);
  }
  return missing;
}
