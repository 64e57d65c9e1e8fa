import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { Results } from "../data/results.ts";
import { Fact } from "../fact.tsx";
import { formatAmount, formatGain, formatTime, fromNumber, shortAddress } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";
import { headroomOf, releasesOf, riskiestUserOf, waitingText } from "./exposure.ts";
import type { SolverFigures } from "./maker_watch.ts";
import { Words } from "../words.tsx";

interface RiskProps {
  theses: readonly Thesis[];
  results: Results;
  solver: SolverFigures | undefined;
  /** At risk in bets being placed. */
  placing: bigint;
  /** Whether the solver does not answer now. */
  isOld: boolean;
  nowMs: number;
  /** The solver's balance for new bets. */
  balance: bigint;
  /** What the open bets should bring, USDC; undefined if it is unknown. */
  expected: number | undefined;
}

/** The largest loss on all open bets, including bets being placed, and `--max-exposure`. */
export function Risk(props: RiskProps) {
  const { theses, results, solver, placing, isOld, nowMs, balance, expected } = props;
  const { open, atRisk } = results;
  const sum = atRisk + placing;
  // During an outage, nobody knows whether bets were placed that exclude others.
  const all = isOld || !solver || solver.exposure > sum ? sum : solver.exposure;
  const { style, text, used } = headroomOf(all, isOld ? undefined : solver);
  const releases = releasesOf(theses, nowMs);
  const user = riskiestUserOf(theses);
  // Other bets have already ended without theirs.
  const isMissing = waitingText(theses, nowMs) !== undefined;
  return (
    <Card title="What you may lose">
      <div class="headline">
        <div class="part">
          <p class="huge" data-maker-exposure>{formatAmount(all)} USDC</p>
          <p class="note">
            {formatAmount(atRisk)} in {open} open {open === 1 ? "bet" : "bets"}
            {placing > 0n && `, ${formatAmount(placing)} in bets being placed`}
            {placing > 0n && isOld && solver && ` at ${formatTime(solver.readAtMs)}`}
            {all < sum && "; not all can be lost together"}
          </p>
          {used !== undefined && (
            <p class={`level ${style}`} aria-hidden="true">
              <span style={{ width: `${100 * Math.min(1, used)}%` }} />
            </p>
          )}
          <p class={style}>
            <Words text={text} />
          </p>
          {solver?.complete === false && (
            <p class="lost">▲ The solver does not know all open bets.</p>
          )}
        </div>
        <dl class="facts tiles">
          {releases.map(({ label, atRisk, inMs }) => (
            <Fact key={label} label={`${label} frees`}>
              {open === 0 ? "–" : `${isMissing ? "at most " : ""}${formatAmount(atRisk)}`}
              {open > 0 && inMs !== undefined && ` in ${labelOf(inMs)}`}
            </Fact>
          ))}
          {/* A word joiner prevents a line break within the address. */}
          <Fact
            label={`Most from ${
              user ? shortAddress(user.user).replace("…", "…\u2060") : "one user"
            }`}
          >
            {user === undefined
              ? "–"
              : `${formatAmount(user.atRisk)} in ${user.bets} ${user.bets === 1 ? "bet" : "bets"}`}
          </Fact>
          <Fact label="Expected when quoted">
            {expected === undefined ? "–" : formatGain(fromNumber(expected))}
          </Fact>
          <Fact label="Balance for new bets">
            <span data-maker-balance>{formatAmount(balance)}</span>
          </Fact>
        </dl>
      </div>
    </Card>
  );
}
