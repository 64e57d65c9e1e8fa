import { z } from "zod";
import { requireChainId } from "../../lib/intents/chain_guard.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import {
  EXCHANGE_HISTORY_URL,
  ExchangeHistory,
  ExchangeHistoryError,
} from "../../lib/net/exchange_history.ts";
import type { TimeSpan } from "../../lib/prices/price_slots.ts";
import { THESIS_DURATION_MAX_MS } from "../../lib/protocol/constants.ts";
import type { Market, Markets } from "../../lib/protocol/markets.ts";
import { type CommandContext, createCommand, ExitCode } from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { keyKind, keystoreOptions, remoteSignerOptions } from "../../lib/cli/key_options.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { openTransactionSigner } from "../../lib/cli/keystore.ts";
import { type OptionsOf, UsageError } from "../../lib/cli/options.ts";
import { chainIdOption, marketsOption, rpcUrlOption } from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import { progressBar } from "../../lib/cli/terminal.ts";
import { fillSpans, type SpanReport } from "./fill_spans.ts";
import {
  type BackfillRequest,
  findDistantPrice,
  readMissingPrices,
  readNeighbours,
} from "./recorded_prices.ts";
import { exchangeTrades, fixedPriceTrades, priceText } from "./trade_history.ts";

/** The longest span that one run fills: as long as the longest thesis. */
const SPAN_MAX_MS = THESIS_DURATION_MAX_MS;

const CARRY_MAX_MS = 60_000;

const TIME_RULE = "Expected Unix milliseconds or an ISO 8601 time with Z or an offset";

/** A day, or a time to the minute, to the second or to a part of it. */
const dateSchema = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true, precision: -1 }),
  z.iso.datetime({ offset: true }),
]);

/** A time as Unix milliseconds or ISO 8601. Without an offset, it would be one of this machine. */
const time = {
  schema: z.string().transform((text, context) => {
    // `Date.parse` also reads "Jan 5 9:00", as in 2001, and February 30.
    const isDate = dateSchema.safeParse(text).success;
    const timeMs = isDate ? Date.parse(text) : /^\d+$/.test(text) ? Number(text) : NaN;
    if (Number.isSafeInteger(timeMs)) return timeMs;
    context.addIssue({ code: "custom", message: TIME_RULE });
    return z.NEVER;
  }),
  placeholder: "time",
} satisfies kinds.OptionKind;

export const options = optionsFor("backfill", {
  thesis: {
    flags: "-t, --thesis <id>",
    kind: kinds.integer(1),
    description: "fill the slots that this thesis lacks",
  },
  market: {
    flags: "-m, --market",
    kind: kinds.marketSymbol,
    description: "fill the missing slots of this market, with --from and --to",
  },
  markets: marketsOption,
  from: {
    kind: time,
    description: "start (inclusive), Unix milliseconds or ISO 8601 with Z or an offset",
  },
  to: {
    kind: time,
    description: "end (exclusive), Unix milliseconds or ISO 8601 with Z or an offset",
  },
  rpcUrl: rpcUrlOption,
  privateKey: {
    flags: "-k, --private-key",
    kind: keyKind,
    description: "private key of an admin: 0x and 64 hex digits",
  },
  ...keystoreOptions,
  ...remoteSignerOptions,
  historyUrl: {
    kind: kinds.serviceUrl,
    description: "trade history with the API of Binance",
    default: EXCHANGE_HISTORY_URL,
  },
  maxCarryMs: {
    kind: kinds.duration(0, CARRY_MAX_MS),
    description:
      `how long a trade's price fills later slots without a trade, at most ${CARRY_MAX_MS}`,
    default: "3000",
  },
  price: {
    kind: { schema: priceText, placeholder: "price" },
    description: "fill every missing slot with this price, and read no trades: the last resort",
  },
  anyPrice: {
    kind: kinds.flag,
    description: "accept prices that are more than 10 % from the recorded ones around a gap",
    default: "false",
  },
  chainId: chainIdOption,
});

export type BackfillOptions = OptionsOf<typeof options>;

/** `rangemaker backfill`: fills missing price slots from an exchange's trade history. */
export const run = createCommand({
  name: "backfill",
  description:
    "Fills price slots that the core node missed, from an exchange's trades, so that theses that " +
    "lack them can be settled. If interrupted, run it again: it continues where it stopped.",
  options,
  examples: [
    ["rangemaker backfill --thesis 7", "the slots that thesis 7 lacks"],
    [
      "rangemaker backfill --market ETH/USDT --from 2026-01-31T09:00:00Z --to 2026-01-31T09:10:00Z",
      "ten minutes of a market",
    ],
    [
      "rangemaker backfill --thesis 7 --keystore admin.json --keystore-password-file password",
      "with the admin's key from an encrypted keystore",
    ],
    ["rangemaker backfill --thesis 7 --price 2998.41", "at a price that the admin has chosen"],
  ],
  defaultLogLevel: "warning",
  run: backfill,
});

/**
 * @returns The exit code: 0 if no slot is missing any more.
 * @throws {UsageError} Unless either a thesis or a market with a time span is given.
 */
async function backfill(
  given: BackfillOptions,
  context: CommandContext,
): Promise<number> {
  const { clock } = context;
  const markets = await readMarkets(given.markets);
  const request = requestOf(given, markets);
  const signer = await openTransactionSigner(given, options);
  const client = new CoreClient({ url: given.rpcUrl });
  await requireChainId(client, given.chainId);
  let isStopping = false;
  context.untilSignal().then(() => isStopping = true);
  context.progress("Asking the node for missing slots …");
  const { market, missing, thesis } = await readMissingPrices(request, client, markets);
  const { price, anyPrice, historyUrl, maxCarryMs } = given;
  const compareWithin = async (gap: TimeSpan) => {
    const neighbours = anyPrice ? [] : await readNeighbours(market, gap, client);
    return (prices: readonly bigint[]) => {
      const distant = findDistantPrice(prices, neighbours);
      if (distant !== undefined) throw distantPrice(distant, price === undefined);
    };
  };
  // A fixed price is compared before any slot is filled, trades as they are read.
  if (price !== undefined) { for (const gap of missing) (await compareWithin(gap))([price]); }
  const { timestampMs } = await client.getHead();
  const reports = await fillSpans(market, missing, {
    client,
    signer,
    chainId: given.chainId,
    ...(price === undefined
      ? {
        trades: exchangeTrades(new ExchangeHistory(historyUrl, clock), clock, timestampMs),
        compareWithin,
      }
      : { trades: fixedPriceTrades(price) }),
    clock,
    maxCarryMs,
    isStopping: () => isStopping,
    onProgress: (done, total) => context.progress(progressBar(done, total, "slots")),
  });
  context.progress("");
  for (const report of reports) context.print(lineOf(market, report));
  if (reports.length === 0) context.print(`${market.symbol}: nothing is missing`);
  if (price === undefined && reports.some((report) => report.slotsWithoutTrade > 0)) {
    const carry = maxCarryMs < CARRY_MAX_MS ? `--max-carry-ms ${CARRY_MAX_MS}, ` : "";
    context.print(
      `Slots without a trade stay missing: try ${carry}another --history-url or, as the last ` +
        "resort, --price",
    );
  }
  if (isStopping) context.print("Stopped: run it again to continue");
  let isFilled = reports.every((report) => report.slotsWithoutTrade + report.slotsRefused === 0);
  if (thesis !== undefined) {
    // Settles it now: the node itself goes on with other theses that lacked these prices.
    const now = await readMissingPrices(request, client, markets);
    const { id, status } = now.thesis ?? thesis;
    context.print(`Thesis ${id}: ${status}`);
    isFilled ||= now.missing.length === 0;
  }
  const isComplete = !isStopping && isFilled;
  return isComplete ? ExitCode.ok : ExitCode.failed;
}

function distantPrice(distant: string, isOfTrade: boolean): Error {
  const advice = "A filled price is final and decides bets: correct";
  const otherwise = "or add --any-price if it is right";
  return isOfTrade
    ? new ExchangeHistoryError(`Trade at ${distant}. ${advice} --history-url, ${otherwise}`)
    : new UsageError(`Invalid --price: ${distant}. ${advice} it, ${otherwise}`);
}

function requestOf(
  { thesis, market: symbol, from, to }: BackfillOptions,
  markets: Markets,
): BackfillRequest {
  if (thesis !== undefined && symbol === undefined && from === undefined && to === undefined) {
    return { thesis };
  }
  if (thesis !== undefined || symbol === undefined || from === undefined || to === undefined) {
    throw new UsageError("Give either --thesis, or --market with --from and --to");
  }
  const market = markets.bySymbol(symbol);
  if (market === undefined) {
    const known = markets.symbols.join(", ");
    throw new UsageError(`Invalid --market: Expected one of ${known}: received ${symbol}`);
  }
  if (from >= to || to - from > SPAN_MAX_MS) {
    throw new UsageError(`Expected --from before --to, a day at most: received ${from} and ${to}`);
  }
  return { market, span: { from, to } };
}

function lineOf({ symbol }: Market, report: SpanReport): string {
  const [from, to] = [report.span.from, report.span.to].map((ms) => new Date(ms).toISOString());
  const results = [
    `${report.filledSlots} ${report.filledSlots === 1 ? "slot" : "slots"} filled`,
    `${report.slotsWithoutTrade} without a trade`,
    ...(report.slotsRefused === 0 ? [] : [
      `${report.slotsRefused} not accepted: too old for the ring and needed by no open thesis, ` +
      "or not missing",
    ]),
  ];
  return `${symbol} ${from} to ${to}: ${results.join(", ")}`;
}
