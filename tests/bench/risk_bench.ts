/**
 * Time of the measures of risk by the number of open bets: the worst-case loss that `--max-exposure`
 * asks for, and what `--skew` adds to a price. Run with
 * `deno run --allow-env tests/bench/risk_bench.ts [bets…]`.
 */
import { decodeBet } from "../../services/solver/execution/execution.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import type { QuoteTerms } from "../../lib/protocol/quote.ts";
import { seededRandom } from "../../lib/random.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { worstCaseLoss } from "../../lib/prices/worst_case_loss.ts";

const NOW_MS = 1_700_000_000_000;
const SPOT = 60_000_000_000;
const ROUNDS = 20;

const counts = Deno.args.length > 0 ? Deno.args.map(Number) : [100, 1_000, 10_000];
const market = MARKETS[0]!; // there are three
const random = seededRandom(1);

/** A bet on one market; all are made for one market, the slowest case. */
function bet(startTime: number, durationMs: number): QuoteTerms {
  const half = Math.round(SPOT * (0.001 + 0.02 * random()));
  const centre = Math.round(SPOT * (0.98 + 0.04 * random()));
  return {
    user: DEV_ACCOUNTS.relayer.address,
    solver: DEV_ACCOUNTS.solver.address,
    thesisType: "box",
    base: market.base,
    quote: market.quote,
    lowerPrice: BigInt(centre - half),
    upperPrice: BigInt(centre + half),
    betAmount: 100_000_000n,
    payout: 200_000_000n + BigInt(Math.round(1e8 * random())),
    startTime,
    endTime: startTime + durationMs,
    deadline: NOW_MS,
  };
}

/** Books of a kind with a number of bets. */
const kinds: [name: string, make: (index: number) => QuoteTerms][] = [
  ["all overlap in time", () => bet(NOW_MS + 60_000 * random(), 3_600_000)],
  ["one after the other", (index) => bet(NOW_MS + index * 10_000, 10_000)],
  ["starts over a day, 1 m to 4 h", () => bet(NOW_MS + 86.4e6 * random(), 6e4 + 1.4e7 * random())],
];

/** Median time of a call, in microseconds. */
function timeOf(call: () => unknown, repeat: number): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const startedMs = performance.now();
    for (let count = 0; count < repeat; count++) call();
    return (performance.now() - startedMs) * 1_000 / repeat;
  });
  return times.toSorted((a, b) => a - b)[ROUNDS / 2] ?? Number.NaN;
}

for (const [name, make] of kinds) {
  for (const count of counts) {
    const bets = Array.from({ length: count }, (_, index) => make(index));
    const book = new ExposureBook(undefined, decodeBet);
    bets.forEach((one, index) => book.reserve(String(index), one));
    const asked = make(count >> 1);
    const loss = timeOf(() => worstCaseLoss(bets), 1);
    const beside = timeOf(() => book.correlatedRisk(asked, NOW_MS), 100);
    console.log(
      `${name.padEnd(30)} ${String(count).padStart(6)} bets: worst-case loss ${
        (loss / 1_000).toFixed(2)
      } ms, risk beside a bet ${beside.toFixed(1)} µs`,
    );
  }
}
