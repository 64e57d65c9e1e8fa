import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { Results } from "../data/results.ts";
import { Fact } from "../fact.tsx";
import { formatAmount, formatGain, fromNumber, shortAddress } from "../format.ts";
import { releasesOf, riskiestUserOf, waitingText } from "./exposure.ts";
import type { SolverFigures } from "./maker_watch.ts";
import { Words } from "../words.tsx";
import { headroomOf } from "./refusals.ts";

interface RiskProps {
  theses: readonly Thesis[];
  results: Results;
  solver: SolverFigures | undefined;
  /** Whether the solver does not answer now. */
  isOld: boolean;
  nowMs: number;
  /** The solver's balance for new bets. */
  balance: bigint;
  /** What the open bets should bring, USDC; undefined if it is unknown. */
  expected: number | undefined;
}

/** The largest loss on all open bets, including bets being placed, and `--max-exposure`. */
export function Risk({ theses, results, solver, isOld, nowMs, balance, expected }: RiskProps) {
  const { open, atRisk } = results;
  const { executing = 0n, complete } = solver ?? {};
  const all = atRisk + executing;
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
            {executing > 0n && `, ${formatAmount(executing)} in bets being placed`}
          </p>
          {used !== undefined && (
            <p class={`level ${style}`} aria-hidden="true">
              <span style={{ width: `${100 * Math.min(1, used)}%` }} />
            </p>
          )}
          <p class={style}>
            <Words text={text} />
          </p>
          {complete === false && <p class="lost">▲ The solver does not know all open bets.</p>}
        </div>
        <dl class="facts tiles">
          {releases.map(({ label, atRisk }, index) => (
            <Fact key={index} label={label}>
              {index === 0 ? `frees ${formatAmount(atRisk)}` : `${formatAmount(atRisk)} in all`}
              {isMissing && ", if its prices are there"}
            </Fact>
          ))}
          {user && (
            <Fact
              // A word joiner prevents a line break within the address.
              label={`Most from one user: ${shortAddress(user.user).replace("…", "…\u2060")}`}
            >
              {formatAmount(user.atRisk)} in {user.bets} {user.bets === 1 ? "bet" : "bets"}
            </Fact>
          )}
          {expected !== undefined && (
            <Fact label="Expected of the open bets, when they were quoted">
              {formatGain(fromNumber(expected))}
            </Fact>
          )}
          <Fact label="Balance for new bets">
            <span data-maker-balance>{formatAmount(balance)}</span>
          </Fact>
        </dl>
      </div>
    </Card>
  );
}
