/** Commands that backfill the prices that bets need. */
import { formatUnits, type RangemakerClient, type Thesis } from "@rangemaker/client";
import { joinSpans, overlap, type TimeSpan } from "../../../../lib/prices/price_slots.ts";
import { PRICE_FRESH_MS } from "../../../../lib/protocol/constants.ts";
import { counted, formatAmount } from "../parts/format.ts";

/** How an operator fixes a problem, and whom the problem affects. */
export interface Repair {
  firstStep: string;
  /** Commands to copy. They do not change while the operator reads them. */
  commands: readonly string[];
  hint?: string;
  /** One command per gap that fills it with the last price before it, shown after the hint. */
  lastResort?: readonly string[];
  sinceMs: number;
  /** The affected bets, users and money. */
  harm: string;
  /** Ends of bets that can still be won. */
  deadlinesMs?: readonly number[];
}

type OpenBet = Pick<Thesis, "id" | "user" | "betAmount" | "startTime" | "endTime">;

/** A market whose open bets need prices that the node does not have. */
interface MarketGap {
  symbol: string;
  bets: readonly OpenBet[];
  /** Spans without prices, oldest first. */
  missing: readonly MissingSpan[];
}

interface MissingSpan extends TimeSpan {
  /** The last price before it, if it is known. */
  priceBefore?: bigint | undefined;
}

/** Spans that are nearer to each other have one command. */
const GAP_APART_MS = 30_000;

/** Most commands of the last resort; the others follow once these gaps are filled. */
const LAST_RESORT_MAX = 20;

/** Most bets with a command; the others follow once these are settled. */
const COMMANDS_MAX = 5;

const WITH_KEY = "with an admin’s key (`--keystore`, or `RANGEMAKER_BACKFILL_PRIVATE_KEY`):";

const HINT =
  "Where they find no trade, for example while the exchanges slept, they use the last one " +
  "for a minute. For what is still missing then, that exchange has no trades: nobody traded, or it " +
  "has lost them, as simulated exchanges do when they end. Try another --history-url. As a last " +
  "resort, choose the price yourself: ";

const WITH_PRICE = "run them with --price.";

const optionsOf = (symbol: string, gap: MissingSpan) => {
  const [from, to] = [gap.from, gap.to].map((ms) => new Date(ms).toISOString());
  return `--market ${symbol} --from ${from} --to ${to}`;
};

/** The commands that give each gap the last price before it; shorter spans with prices end none. */
const lastResortOf = ({ symbol, missing }: MarketGap) =>
  joinSpans(missing, PRICE_FRESH_MS).flatMap((gap) =>
    gap.priceBefore === undefined
      ? []
      : `${BACKFILL} ${optionsOf(symbol, gap)} --price ${formatUnits(gap.priceBefore)}`
  );

/** Where the commands read trades: the stand-ins at `historyUrl`, otherwise the real exchange. */
export interface TradeService {
  historyUrl?: string | undefined;
  isAway?: boolean;
}

const stepOf = (step: string, { isAway = false }: TradeService) =>
  (isAway ? "Start the service `exchanges` first: the commands read its trades. " : "") + step;

const BACKFILL = "deno task -q backfill";

/** Fills the slots with trades, and those without one with the last trade before them. */
const commandOf = (options: string, { historyUrl }: TradeService) =>
  `${BACKFILL} ${options} --max-carry-ms 60000${historyUrl ? ` --history-url ${historyUrl}` : ""}`;

function harmOf(bets: readonly OpenBet[]): string {
  if (bets.length === 0) return ""; // all other bets have ended
  const users = new Set(bets.map(({ user }) => user)).size;
  const stakes = bets.reduce((sum, { betAmount }) => sum + betAmount, 0n);
  return `${counted(bets.length, "bet")} of ${counted(users, "user")}, ${
    formatAmount(stakes)
  } USDC`;
}

/** Fills the gaps of each market. */
export function marketRepair(
  gaps: readonly MarketGap[],
  source: TradeService = {},
): Repair | undefined {
  const spans = gaps.flatMap(({ missing }) => missing);
  if (spans.length === 0) return undefined;
  const lastResort = gaps.flatMap(lastResortOf).slice(0, LAST_RESORT_MAX);
  const commands = gaps.flatMap(({ symbol, missing }) =>
    joinSpans(missing, GAP_APART_MS).map((gap) => commandOf(optionsOf(symbol, gap), source))
  );
  const bets = gaps.flatMap(({ bets: all, missing }) =>
    all.filter(({ startTime: from, endTime: to }) =>
      missing.some((span) => overlap(span, { from, to }))
    )
  );
  return {
    firstStep: stepOf(
      `${bets.length > 0 ? "Before these bets end, run" : "Run"} ${WITH_KEY}`,
      source,
    ),
    commands,
    hint: HINT +
      (lastResort.length === 0 ? WITH_PRICE : "the last one before each gap is in these commands."),
    lastResort,
    sinceMs: Math.min(...spans.map(({ from }) => from)),
    harm: harmOf(bets),
    deadlinesMs: bets.map(({ endTime }) => endTime),
  };
}

/** Fills the missing prices of each bet that has ended without an outcome. */
export function betRepair(bets: readonly OpenBet[], source: TradeService = {}): Repair | undefined {
  if (bets.length === 0) return undefined;
  return {
    firstStep: stepOf(
      "If prices of open bets are missing, run those commands: they settle most of these bets, too. " +
        `Run the others ${WITH_KEY}`,
      source,
    ),
    commands: bets.slice(0, COMMANDS_MAX).map(({ id }) => commandOf(`--thesis ${id}`, source)),
    hint: HINT + WITH_PRICE,
    sinceMs: Math.min(...bets.map(({ endTime }) => endTime)),
    harm: harmOf(bets),
  };
}

/** Most open bets whose ends are read. If there are so many, the next ends within seconds. */
export const OPEN_BETS_MAX = 1_000;

type Reader = Pick<RangemakerClient, "theses" | "history">;

/** Reads the bets of a state until there are at least `enough`. */
export async function readBets(
  client: Reader,
  status: Thesis["status"],
  enough = Infinity,
): Promise<Thesis[]> {
  const bets: Thesis[] = [];
  for await (const { theses } of client.theses({ status })) {
    bets.push(...theses);
    if (bets.length >= enough) break;
  }
  return bets;
}

/** Reads the spans without prices within the windows of a market's open and ended bets. */
export async function readGap(
  client: Reader,
  symbol: string,
  bets: readonly Thesis[],
  nowMs: number,
): Promise<MarketGap> {
  const from = Math.min(nowMs, ...bets.map(({ startTime }) => startTime));
  const { missing, prices } = await client.history(symbol, from, nowMs);
  const windows = joinSpans(
    bets.map(({ startTime, endTime }) => ({ from: startTime, to: endTime })),
  );
  let next = 0; // all are in order of time, and there may be ten thousands of each
  return {
    symbol,
    bets: bets.filter(({ status }) => status === "open"),
    missing: commonOf(missing, windows).map((span) => {
      while ((prices[next]?.time ?? Infinity) < span.from) next += 1;
      return { ...span, priceBefore: prices[next - 1]?.price };
    }),
  };
}

/** The time that is in a span of both lists, which are in order. */
function commonOf(spans: readonly TimeSpan[], windows: readonly TimeSpan[]): TimeSpan[] {
  let first = 0;
  return spans.flatMap((span) => {
    while ((windows[first]?.to ?? Infinity) <= span.from) first += 1;
    const common: TimeSpan[] = [];
    for (let next = first; (windows[next]?.from ?? Infinity) < span.to; next++) {
      const { from, to } = windows[next]!; // it begins before the span ends
      common.push({ from: Math.max(from, span.from), to: Math.min(to, span.to) });
    }
    return common;
  });
}
