import type { Account, Thesis } from "@rangemaker/client";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { Card, Fact, Words } from "../parts/parts.tsx";
import { openOf } from "../data/outcome.ts";
import { counted, formatCents, formatLoss, formatTime, spanText } from "../parts/format.ts";
import { headroomOf, worstLossOf } from "./exposure.ts";
import type { MakerState, SolverFigures } from "./maker_watch.ts";

export interface RiskProps {
  state: MakerState;
  /** Undefined if the solver has not answered yet. */
  solver: SolverFigures | undefined;
  /** The bets of the state, some decided since. */
  theses: readonly Thesis[];
  /** Whether the solver or the chain does not answer now. */
  isOld: boolean;
  /** When the bets were read, if the chain does not answer now. */
  asOfMs: number | undefined;
  nowMs: number;
}

/** The largest loss on all open bets, including bets being placed, and `--max-exposure`. */
export function Risk({ state, solver, theses, isOld, asOfMs, nowMs }: RiskProps) {
  const { account } = state;
  const open = openOf(theses);
  const atRisk = open.reduce((sum, thesis) => sum + riskOf(thesis), 0n);
  const ofPlacing = solver?.executing ?? 0n; // for a moment, such a bet may also be among the open ones
  const all = worstLossOf(theses) + ofPlacing;
  const lastMs = Math.max(...open.map(({ endTime }) => endTime)) - nowMs;
  return (
    <Card title="What you may lose">
      <div class="headline" data-old={asOfMs !== undefined}>
        <div class="part">
          <p class="huge" data-maker-exposure>{formatLoss(all)} USDC</p>
          <p>
            {open.length === 0 ? "No bet is open" : `At most, on ${counted(open.length, "bet")}`}
            {asOfMs !== undefined && ` at ${formatTime(asOfMs)}`}
            {solver === undefined && ", without bets being placed"}
            {all < atRisk && `: not all of ${formatLoss(atRisk)} can be lost together`}.
            {open.length > 1 && " Stakes won on other bets are not deducted."}
          </p>
          {solver && <Limit {...{ all, solver, account, isOld }} />}
        </div>
        <dl class="facts tiles">
          <Fact label="Last bet ends">{lastMs > 0 ? `in ${spanText(lastMs)}` : "–"}</Fact>
          <Fact label="In bets being placed">
            {solver === undefined ? "unknown" : ofPlacing > 0n ? formatLoss(ofPlacing) : "–"}
          </Fact>
          <Fact label="Balance for new bets">
            <span data-maker-balance>{formatCents(account.balance)}</span>
          </Fact>
        </dl>
      </div>
    </Card>
  );
}

interface LimitProps {
  /** The most that may be lost. */
  all: bigint;
  solver: SolverFigures;
  account: Account;
  isOld: boolean;
}

/**
 * The used part of the limit. If the solver or the chain does not answer, only a warning, with its
 * time.
 */
function Limit({ all, solver, account, isOld }: LimitProps) {
  const { maxExposure } = solver;
  const known = headroomOf({ atRisk: all, maxExposure, account });
  const headroom = isOld && known.style === "won" ? undefined : known;
  const asOf = isOld ? ` At ${formatTime(solver.readAtMs)}.` : "";
  return (
    <>
      {headroom?.used !== undefined && (
        <p class={`level ${headroom.style}`} aria-hidden="true">
          <span style={{ width: `${100 * Math.min(1, headroom.used)}%` }} />
        </p>
      )}
      {headroom && (
        <p class={headroom.style}>
          <Words text={headroom.text + asOf} />
        </p>
      )}
      {!headroom && maxExposure !== null && (
        <p>The limit was {formatCents(maxExposure)} USDC at {formatTime(solver.readAtMs)}.</p>
      )}
      {!solver.complete && <p class="lost">▲ The solver does not know all open bets.</p>}
    </>
  );
}
