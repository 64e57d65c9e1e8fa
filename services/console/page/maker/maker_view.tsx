import { useEffect } from "preact/hooks";
import { systemClock, type Thesis } from "@rangemaker/client";
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
import { profitIfStill } from "./exposure.ts";
import { Exposure } from "./exposure_card.tsx";
import { type MakerState, MakerWatch } from "./maker_watch.ts";
import { freshPrice, OpenBets } from "./open_bets.tsx";
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
  const wrong = newsOf(state, solverProblem, problem);
  return (
    <div class="board">
      {/* One element for good and bad news, so that the end of an outage is spoken too. */}
      <p class={wrong ? "warned" : "note"} role="status">
        {state && (
          <>
            Solver <code title={state.address}>{shortAddress(state.address)}</code>:{" "}
          </>
        )}
        {wrong || (state
          ? `live, pricing ${state.solver?.info.pricing}`
          : "Reading the solver and its bets …")}
        {state?.solver?.info.dryRun && ", a dry run: it takes no bets"}
      </p>
      {state && (
        <Maker model={model} state={state} isOld={(solverProblem ?? problem) !== undefined} />
      )}
    </div>
  );
}

/** What does not answer, and since when which figures are old; empty if all is well. */
function newsOf(
  state: MakerState | undefined,
  solverProblem: string | undefined,
  problem: string | undefined,
): string {
  if (state === undefined) {
    return problem ? `Nothing is known yet: ${problem}. Trying again.` : "";
  }
  const { solver, readAtMs } = state;
  const own = solver
    ? `its own figures are of ${formatTime(solver.readAtMs)}`
    : "its limit, expected profits, refusals and forecasts are not known yet, only its bets";
  const news = [
    solverProblem && `${solverProblem}: ${own}.`,
    problem && `${problem}: the bets are of ${formatTime(readAtMs)}.`,
  ].filter((text) => text !== undefined);
  return news.length > 0 ? [...news, "Trying again."].join(" ") : "";
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
  const priceOf = ({ base, quote }: Thesis) =>
    freshPrice(model, model.markets.find(base, quote)?.symbol ?? "");
  return (
    <>
      <Risk
        {...{ theses, results, solver, isOld, nowMs, placing, balance: account.balance }}
        expected={expectedOfOpen(theses, probabilities)}
        ifStill={profitIfStill(theses, priceOf, nowMs)}
      />
      <ResultsCard
        {...{ theses, compared, probabilities, nowMs }}
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
      <Card title="Open bets">
        {results.open > 0 && (
          <p>{results.open} open, and how much of what you may lose is in each market:</p>
        )}
        <Exposure {...{ model, theses, nowMs }} />
        <OpenBets model={model} theses={theses} />
      </Card>
      {solver && (
        <>
          <Answers metrics={solver.metrics} />
          <Calibration
            predicted={predictedBets(compared, probabilities)}
            markets={solver.info.calibration ?? []}
          />
        </>
      )}
    </>
  );
}
