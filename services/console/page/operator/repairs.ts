/** Commands that fill the prices which bets lack. */
import type { RangemakerClient, Thesis } from "@rangemaker/client";
import { formatTime } from "../format.ts";

/** What an operator runs to end a problem. */
export interface Repair {
  firstStep: string;
  details: readonly string[];
  /** To be copied: they do not change while they are read. */
  commands: readonly string[];
  /** When the problem began, if that is known. */
  sinceMs?: number;
}

/** A market whose open bets need prices that the node does not have. */
export interface MarketGap {
  symbol: string;
  bets: readonly Pick<Thesis, "startTime" | "endTime">[];
  /** Where prices are missing, oldest first. */
  missing: readonly { from: number; to: number }[];
}

/** Bets that are named; the others follow once these are settled. */
const COMMANDS_MAX = 5;

const WITH_KEY = "with an admin’s key in `RANGEMAKER_BACKFILL_PRIVATE_KEY` or `--keystore`:";

const AFTERWARDS =
  "Where it reports slots without a trade, run it again with --max-carry-ms 60000: " +
  "the last trade then counts for a minute. What is still missing then, nobody traded.";

const commandOf = (options: string, historyUrl: string | undefined) =>
  `deno task -q backfill ${options}${historyUrl ? ` --history-url ${historyUrl}` : ""}`;

/** Fills the gaps of each market. @param historyUrl Of stand-ins for the exchanges. */
export function marketRepair(gaps: readonly MarketGap[], historyUrl?: string): Repair | undefined {
  const found = gaps.filter(({ missing }) => missing.length > 0);
  if (found.length === 0) return undefined;
  const texts = found.map(({ symbol, bets, missing }) => {
    const [from, to] = [missing[0]!.from, missing.at(-1)!.to]; // not empty
    const [fromText, toText] = [from, to].map((ms) => new Date(ms).toISOString());
    const next = Math.min(...bets.map(({ endTime }) => endTime));
    return {
      from,
      detail: `${symbol}: from ${formatTime(from)} to ${formatTime(to)}` +
        (Number.isFinite(next) ? `; its next bet ends at ${formatTime(next)}` : ""),
      command: commandOf(`--market ${symbol} --from ${fromText} --to ${toText}`, historyUrl),
    };
  });
  return {
    firstStep: `Before these bets end, run ${WITH_KEY}`,
    details: [...texts.map(({ detail }) => detail), AFTERWARDS],
    commands: texts.map(({ command }) => command),
    sinceMs: Math.min(...texts.map(({ from }) => from)),
  };
}

/**
 * Fills what each bet lacks that has ended without an outcome.
 *
 * @param isFilled Whether the commands of {@link marketRepair} fill what a bet lacks.
 */
export function betRepair<Bet extends Pick<Thesis, "id" | "endTime">>(
  bets: readonly Bet[],
  isFilled: (bet: Bet) => boolean,
  historyUrl?: string,
): Repair | undefined {
  if (bets.length === 0) return undefined;
  const sinceMs = Math.min(...bets.map(({ endTime }) => endTime));
  const own = bets.filter((bet) => !isFilled(bet));
  if (own.length === 0) {
    const firstStep = "Run the commands for the missing prices: they settle these bets, too.";
    return { firstStep, details: [], commands: [], sinceMs };
  }
  const more = own.length - COMMANDS_MAX;
  return {
    firstStep: `Run ${WITH_KEY}`,
    details: [
      ...(more > 0
        ? [`${more} more ${more === 1 ? "bet" : "bets"} will be named after these.`]
        : []),
      AFTERWARDS,
    ],
    commands: own.slice(0, COMMANDS_MAX).map(({ id }) => commandOf(`--thesis ${id}`, historyUrl)),
    sinceMs,
  };
}

type Reader = Pick<RangemakerClient, "theses" | "history">;

/** Reads all bets of a state. */
export async function betsOf(client: Reader, status: Thesis["status"]): Promise<Thesis[]> {
  const bets: Thesis[] = [];
  for await (const { theses } of client.theses({ status })) bets.push(...theses);
  return bets;
}

/** Reads where prices are missing within the windows of a market's bets: open ones, and ended ones. */
export async function gapOf(
  client: Reader,
  symbol: string,
  bets: readonly Thesis[],
  ended: readonly Thesis[],
  nowMs: number,
): Promise<MarketGap> {
  const from = Math.min(nowMs, ...[...bets, ...ended].map(({ startTime }) => startTime));
  const { missing } = await client.history(symbol, from, nowMs);
  return { symbol, bets, missing };
}
