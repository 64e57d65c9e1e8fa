import type { Account, Thesis } from "@rangemaker/client";
import { Card, Fact, Words } from "../parts/parts.tsx";
import type { PageModel } from "../data/page_model.ts";
import {
  counted,
  formatCents,
  formatLoss,
  formatProfit,
  formatTime,
  shortAddress,
} from "../parts/format.ts";
import { labelOf } from "../trade/chart_spans.ts";
import { runbookOf } from "../operator/finding.ts";
import { NEEDS_BACKFILL } from "../operator/causes.ts";
import { resultsOf } from "./earnings.ts";
import {
  headroomOf,
  mostAtRisk,
  openOf,
  profitIfStill,
  remainingRisksOf,
  riskiestUserOf,
  waitingText,
  worstLossOf,
} from "./exposure.ts";
import type { MakerState, SolverFigures } from "./maker_watch.ts";
import { freshPrice } from "./open_bets.tsx";

export interface RiskProps {
  model: PageModel;
  state: MakerState;
  /** The bets of the state, some decided since. */
  theses: readonly Thesis[];
  /** The open bets that wait for missing prices. */
  waiting: ReadonlySet<Thesis>;
  /** Whether the solver or the chain does not answer now. */
  isOld: boolean;
  /** When the bets were read, if the chain does not answer now. */
  asOfMs: number | undefined;
  nowMs: number;
}

/** The largest loss on all open bets, including bets being placed, and `--max-exposure`. */
export function Risk({ model, state, theses, waiting, isOld, asOfMs, nowMs }: RiskProps) {
  const { solver, placing, account } = state;
  const symbolOf = ({ base, quote }: Thesis) => model.markets.find(base, quote)?.symbol ?? "";
  const ifStill = profitIfStill(theses, (bet) => freshPrice(model, symbolOf(bet)), nowMs);
  const { open, atRisk } = resultsOf(theses);
  const ofOpen = worstLossOf(theses);
  // Bets being placed may exclude others. The solver was read before or after the bets.
  const ofChain = mostAtRisk(ofOpen, placing, isOld ? undefined : solver?.exposure);
  // While the chain does not answer, the solver may still place bets.
  const isMore = asOfMs !== undefined && solver !== undefined && solver.exposure > ofChain;
  const all = isMore ? solver.exposure : ofChain;
  const user = riskiestUserOf(theses);
  const lastMs = Math.max(...openOf(theses).map(({ endTime }) => endTime)) - nowMs;
  // A word joiner prevents a line break within the address.
  const who = user ? shortAddress(user.user).replace("…", "…\u2060") : "one user";
  const facts: [string, string][] = [
    ...remainingRisksOf(theses, waiting, nowMs)
      .map(({ label, risk }): [string, string] => [label, formatLoss(risk)]),
    ["Last bet ends", lastMs > 0 ? `in ${labelOf(lastMs)}` : "–"],
    [`Most from ${who}`, user ? `${formatLoss(user.atRisk)} in ${counted(user.bets, "bet")}` : "–"],
    [
      "In bets being placed",
      solver === undefined ? "unknown" : ofChain > ofOpen ? formatLoss(ofChain - ofOpen) : "–",
    ],
    ["If prices stay as now", ifStill === undefined ? "–" : formatProfit(ifStill)],
  ];
  return (
    <Card title="What you may lose">
      {waiting.size > 0 && (
        <p class="warned">
          {waitingText(waiting)} <a href="#operator">Commands: Operator</a>
          {" · "}
          <a
            href={runbookOf({ chapter: NEEDS_BACKFILL, service: "node" })}
            target="_blank"
          >
            Runbook: {NEEDS_BACKFILL}
          </a>
        </p>
      )}
      <div class="headline" data-old={asOfMs !== undefined}>
        <div class="part">
          <p class="huge" data-maker-exposure>{formatLoss(all)} USDC</p>
          <p>
            {open === 0 ? "No bet is open" : `At most, on ${counted(open, "bet")}`}
            {asOfMs !== undefined && ` at ${formatTime(asOfMs)}`}
            {isMore && ", and as the solver reports since"}
            {solver === undefined && ", without bets being placed"}
            {all < atRisk && `: not all of ${formatLoss(atRisk)} can be lost together`}.
            {open > 1 && " Stakes won on other bets are not deducted."}
          </p>
          {solver && (
            <Limit {...{ all, solver, account, isWaiting: waiting.size > 0 }} isOld={isOld} />
          )}
        </div>
        <dl class="facts tiles">
          {facts.map(([label, text]) => <Fact key={label} label={label}>{text}</Fact>)}
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
  account: Account | undefined;
  isOld: boolean;
  isWaiting?: boolean;
}

/**
 * The used part of the limit. If the solver or the chain does not answer, only a warning, with its
 * time.
 */
function Limit({ all, solver, account, isOld, isWaiting = false }: LimitProps) {
  const { maxExposure, info: { config: { minBetAmount } } } = solver;
  const known = account &&
    headroomOf({ atRisk: all, maxExposure, minBetAmount, account, isWaiting });
  const headroom = isOld && known?.style === "won" ? undefined : known;
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

/** What the solver itself reports, while the chain does not answer. */
export function SolverRisk({ solver }: { solver: SolverFigures }) {
  return (
    <Card title="What you may lose">
      <div class="part" data-old="true">
        <p class="huge" data-maker-exposure>{formatLoss(solver.exposure)} USDC</p>
        <p>At most, as the solver itself reported at {formatTime(solver.readAtMs)}.</p>
        <Limit all={solver.exposure} solver={solver} account={undefined} isOld />
      </div>
    </Card>
  );
}
