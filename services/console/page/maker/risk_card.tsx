import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { Results } from "../data/results.ts";
import { Fact } from "../fact.tsx";
import { formatRounded, formatShare, formatTime, shortAddress } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";
import { nextEndsOf, riskiestUserOf } from "./exposure.ts";
import type { SolverFigures } from "./maker_watch.ts";
import { FREE_MIN, roomOf } from "./refusals.ts";

/** Ends of bets that are named. */
const ENDS = 3;

interface RiskProps {
  theses: readonly Thesis[];
  results: Results;
  solver: SolverFigures | undefined;
  nowMs: number;
}

/** What all open bets can cost, those being placed included, against the limit of `--max-exposure`. */
export function Risk({ theses, results: { open, atRisk }, solver, nowMs }: RiskProps) {
  const { executing = 0n, maxExposure, complete } = solver ?? {};
  const all = atRisk + executing;
  const used = maxExposure ? Number(all) / Number(maxExposure) : undefined;
  const { style, text } = roomOf(all, solver);
  const ends = nextEndsOf(theses, nowMs, ENDS);
  const user = riskiestUserOf(theses);
  return (
    <Card title="What you may lose">
      <div class="columns">
        <div class="part">
          <p class="huge" data-maker-exposure>{formatRounded(all)} USDC</p>
          <p class="note">
            {formatRounded(atRisk)} in {open} open {open === 1 ? "bet" : "bets"}
            {executing > 0n && `, ${formatRounded(executing)} in bets being placed`}
          </p>
          {used !== undefined && (
            <meter aria-label="Share of the limit in use" max={1} high={1 - FREE_MIN} value={used}>
              {formatShare(used)}
            </meter>
          )}
          <p>
            <strong class={style}>{text}</strong> {maxExposure && used !== undefined &&
              `${formatShare(used)} of the limit of ${formatRounded(maxExposure)} is used.`}
          </p>
          {complete === false && <p class="lost">▲ The solver does not know all open bets.</p>}
        </div>
        {ends.length > 0 && (
          <dl class="facts">
            {ends.map(({ endTime, atRisk }, index) => (
              <Fact
                key={endTime}
                label={`${index === 0 ? "Next end" : "Then"}: ${formatTime(endTime)}, in ${
                  labelOf(endTime - nowMs)
                }`}
              >
                frees {formatRounded(atRisk)}
              </Fact>
            ))}
            {user && (
              <Fact label={`Most from one user: ${shortAddress(user.user)}`}>
                {formatRounded(user.atRisk)} in {user.bets} {user.bets === 1 ? "bet" : "bets"}
              </Fact>
            )}
          </dl>
        )}
      </div>
    </Card>
  );
}
