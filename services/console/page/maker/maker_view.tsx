import { useEffect } from "preact/hooks";
import { systemClock } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { resultsOf } from "../data/results.ts";
import { formatTime, shortAddress } from "../format.ts";
import type { View } from "../shell.tsx";
import { makerCsv } from "../trade/history.ts";
import { download } from "../trade/positions.tsx";
import { Answers } from "./answers_card.tsx";
import { Calibration } from "./calibration_card.tsx";
import { comparableBets, expectedOfOpen, predictedBets } from "./earnings.ts";
import { Exposure } from "./exposure_card.tsx";
import { type MakerState, MakerWatch } from "./maker_watch.ts";
import { OpenBets } from "./open_bets.tsx";
import { lacksHistory, startText } from "./refusals.ts";
import { ResultsCard } from "./results_card.tsx";
import { Risk } from "./risk_card.tsx";

/** The maker's view: the money, risk and results of the solver. It polls only while it is shown. */
export function openMakerView(model: PageModel): View {
  const { solver } = model.config.urls;
  const watch = new MakerWatch(model.client, solver, systemClock);
  const Body = () => <MakerView model={model} watch={watch} />;
  return { id: "maker", label: "Maker", Body };
}

function MakerView({ model, watch }: { model: PageModel; watch: MakerWatch }) {
  useEffect(() => {
    watch.start();
    return () => watch.stop();
  }, []);
  const state = watch.state.value;
  const [solverProblem, problem] = [watch.solverProblem.value, watch.problem.value];
  return (
    <div class="board">
      <div class="part">
        <p class="note">
          What the market maker risks and earns{state && (
            <>
              : solver <code title={state.address}>{shortAddress(state.address)}</code>,{" "}
              {state.solver
                ? `pricing: ${state.solver.info.pricing}`
                : "which has not answered yet"}
              {state.solver?.info.dryRun && ", a dry run: it takes no bets"}
            </>
          )}
        </p>
        <div role="status" aria-atomic="false">
          {solverProblem && (
            <p class="warned">
              No news of the solver: {solverProblem}. {state?.solver &&
                `Its own figures are of ${formatTime(state.solver.readAtMs)}. `}Trying again.
            </p>
          )}
          {state?.solver && lacksHistory(state.solver.metrics) && (
            <p class="warned">
              Not quoting yet: nothing was priced since{" "}
              {startText(state.solver.metrics)}, for lack of price history. A first start needs a
              minute of it.
            </p>
          )}
          {problem && state && (
            <p class="warned">
              The bets are of {formatTime(state.readAtMs)}: {problem}. Trying again.
            </p>
          )}
        </div>
      </div>
      {state === undefined
        ? (
          <p class="note">
            {problem === undefined
              ? "Reading the solver and its bets …"
              : `Nothing is known yet: ${problem}. Trying again.`}
          </p>
        )
        : <Maker model={model} state={state} isOld={(solverProblem ?? problem) !== undefined} />}
    </div>
  );
}

interface MakerProps {
  model: PageModel;
  state: MakerState;
  /** Whether the solver or the chain does not answer now. */
  isOld: boolean;
}

function Maker({ model, state, isOld }: MakerProps) {
  const { solver, placing, account } = state;
  // A bet is decided as soon as the price leaves its box, before the node reports it.
  const theses = state.theses.map(model.withBreach);
  const results = resultsOf(theses);
  const nowMs = model.serverClock.now();
  const probabilities = solver?.probabilities ?? new Map<string, number>();
  const compared = comparableBets(theses, probabilities, nowMs);
  return (
    <>
      <Risk
        {...{ theses, results, solver, isOld, nowMs, placing, balance: account.balance }}
        expected={expectedOfOpen(theses, probabilities)}
      />
      <ResultsCard
        {...{ probabilities, nowMs }}
        theses={compared}
        all={results}
        markets={model.markets.list}
        action={
          <button
            type="button"
            onClick={() => download(makerCsv(theses, model.markets, probabilities))}
          >
            Download CSV
          </button>
        }
      />
      <Card title="Open bets" note={results.open > 0 && `${results.open} open`}>
        <Exposure model={model} theses={theses} />
        <OpenBets model={model} theses={theses} />
      </Card>
      {solver
        ? (
          <>
            <Answers {...solver} />
            <Calibration
              predicted={predictedBets(compared, probabilities)}
              markets={solver.info.calibration ?? []}
            />
          </>
        )
        : (
          <p class="note">
            Expected profit, refusals and forecasts are known once the solver answers.
          </p>
        )}
    </>
  );
}
