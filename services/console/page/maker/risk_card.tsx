import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { Results } from "../data/results.ts";
import { Fact } from "../fact.tsx";
import { formatAmount, formatGain, formatTime, fromNumber, shortAddress } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";
import { Words } from "../words.tsx";
import { betsText } from "./earnings.ts";
import { headroomOf, openOf, restsOf, riskiestUserOf, worstLossOf } from "./exposure.ts";
import type { SolverFigures } from "./maker_watch.ts";

interface RiskProps {
  theses: readonly Thesis[];
  results: Results;
  solver: SolverFigures | undefined;
  /** At risk in bets being placed. */
  placing: bigint;
  /** Whether the solver or the chain does not answer now. */
  isOld: boolean;
  nowMs: number;
  /** The solver's balance for new bets. */
  balance: bigint;
  /** What the open bets should bring, USDC; undefined if it is unknown. */
  expected: number | undefined;
  /** What they bring if all prices stay; undefined if a price is unknown. */
  ifStill: bigint | undefined;
}

/** The largest loss on all open bets, including bets being placed, and `--max-exposure`. */
export function Risk(props: RiskProps) {
  const { theses, results, solver, placing, isOld, nowMs, balance, expected, ifStill } = props;
  const { open, atRisk } = results;
  const known = worstLossOf(theses) + placing;
  // Bets being placed may exclude others, or be among the open ones already.
  const all = isOld || !solver || solver.exposure > known ? known : solver.exposure;
  const headroom = isOld || !solver ? undefined : headroomOf(all, solver);
  const user = riskiestUserOf(theses);
  const lastMs = Math.max(...openOf(theses).map(({ endTime }) => endTime)) - nowMs;
  return (
    <Card title="What you may lose">
      <div class="headline">
        <div class="part">
          <p class="huge" data-maker-exposure>{formatAmount(all)} USDC</p>
          <p>
            {open === 0 ? "No bet is open" : `At most, on ${betsText(open)}`}
            {placing > 0n && ` and ${formatAmount(placing)} in bets being placed`}
            {placing > 0n && isOld && solver && ` at ${formatTime(solver.readAtMs)}`}
            {all < atRisk && `: not all of ${formatAmount(atRisk)} can be lost together`}.
          </p>
          {headroom?.used !== undefined && (
            <p class={`level ${headroom.style}`} aria-hidden="true">
              <span style={{ width: `${100 * Math.min(1, headroom.used)}%` }} />
            </p>
          )}
          {headroom && (
            <p class={headroom.style}>
              <Words text={headroom.text} />
            </p>
          )}
          {solver?.complete === false && (
            <p class="lost">▲ The solver does not know all open bets.</p>
          )}
        </div>
        <dl class="facts tiles">
          {restsOf(theses, { all, placing, nowMs }).map(({ label, rest }) => (
            <Fact key={label} label={label}>{formatAmount(rest)}</Fact>
          ))}
          <Fact label="Last bet ends">
            {lastMs > 0 ? `in ${labelOf(lastMs)}` : "–"}
          </Fact>
          {/* A word joiner prevents a line break within the address. */}
          <Fact
            label={`Most from ${
              user ? shortAddress(user.user).replace("…", "…\u2060") : "one user"
            }`}
          >
            {user === undefined ? "–" : `${formatAmount(user.atRisk)} in ${betsText(user.bets)}`}
          </Fact>
          <Fact label="Expected when quoted">
            {expected === undefined ? "–" : formatGain(fromNumber(expected))}
          </Fact>
          <Fact label="If prices stay as now">
            {ifStill === undefined ? "–" : formatGain(ifStill)}
          </Fact>
          <Fact label="Balance for new bets">
            <span data-maker-balance>{formatAmount(balance)}</span>
          </Fact>
        </dl>
      </div>
    </Card>
  );
}
