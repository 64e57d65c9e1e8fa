import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Card, Words } from "../parts/parts.tsx";
import type { Metrics } from "../data/metrics.ts";
import { openOf } from "../data/outcome.ts";
import type { PageModel } from "../data/page_model.ts";
import { formatTime, shortAddress } from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import {
  type AnswerCount,
  answersOf,
  countText,
  meaningOf,
  refusedText,
  REQUESTS,
  startText,
  SUCCESSES,
} from "./answers.ts";
import { Calibration } from "./calibration_card.tsx";
import { Exposure } from "./exposure_card.tsx";
import { activityOf, MakerWatch, type SolverFigures, termsOf } from "./maker_watch.ts";
import { OpenBets } from "./open_bets.tsx";
import { ResultsCard } from "./results_card.tsx";
import { Risk, type RiskProps } from "./risk_card.tsx";

/** The maker's view: the money, risk and results of the solver. It polls only while it is shown. */
export function createMakerView(model: PageModel): ComponentType {
  const watch = new MakerWatch(model, model.config.urls.solver, model.serverClock);
  return () => <MakerView model={model} watch={watch} />;
}

function MakerView({ model, watch }: { model: PageModel; watch: MakerWatch }) {
  useEffect(() => {
    watch.start();
    return () => watch.stop();
  }, []);
  const [state, solver, problem] = [watch.state.value, watch.solver.value, watch.problem.value];
  const wrong = newsOf(watch);
  const [style, activity] = state
    ? activityOf(model.feed.states, solver?.info.pricing)
    : ["note", "Reading the solver and its bets …"];
  return (
    <div class="board">
      {/* One element for good and bad news, so that the end of an outage is spoken too. */}
      <p class={wrong ? "warned" : style} role="status">
        {state && (
          <>
            Solver <code title={state.address}>{shortAddress(state.address)}</code>:{" "}
          </>
        )}
        {wrong || activity}
        {solver?.info.dryRun && ", a dry run: it takes no bets"}
      </p>
      {solver && <p class="note">{termsOf(solver.info)}</p>}
      {state
        ? (
          <Maker
            model={model}
            state={state}
            solver={solver}
            isOld={wrong !== ""}
            asOfMs={problem === undefined ? undefined : state.readAtMs}
          />
        )
        : problem && solver && <SolverCards solver={solver} />}
    </div>
  );
}

/** What does not answer, and since when which figures are old; empty if all is well. */
function newsOf(watch: MakerWatch): string {
  const [state, solver, problem] = [watch.state.value, watch.solver.value, watch.problem.value];
  if (state === undefined) {
    const known = solver ? "Only the solver’s own figures are known" : "Nothing is known yet";
    return problem ? `${known}: ${problem}. Trying again.` : "";
  }
  const own = solver
    ? `its own figures are of ${formatTime(solver.readAtMs)}`
    : "its limit, bets being placed, refusals and forecasts are not known yet";
  const news = [
    watch.solverProblem.value && `${watch.solverProblem.value}, ${own}`,
    problem && `${problem}, the bets are of ${formatTime(state.readAtMs)}`,
  ].filter((text) => text !== undefined);
  return news.length > 0 ? `${news.join("; ")}. Trying again.` : "";
}

interface MakerProps extends Pick<RiskProps, "state" | "solver" | "isOld" | "asOfMs"> {
  model: PageModel;
}

function Maker({ model, state, solver, isOld, asOfMs }: MakerProps) {
  // A bet is decided as soon as the price leaves its box, before the node reports it.
  const theses = state.theses.map(model.withBreach);
  const open = openOf(theses).length;
  const nowMs = model.serverClock.now();
  return (
    <>
      <Risk {...{ state, solver, theses, isOld, asOfMs, nowMs }} />
      <ResultsCard {...{ model, theses, nowMs }} />
      <Card title="Open bets">
        {open > 0 && <p>{open} open. What you may lose in each market:</p>}
        <Exposure {...{ model, theses, nowMs }} />
        <OpenBets {...{ model, theses }} />
      </Card>
      {solver && <SolverCards solver={solver} />}
    </>
  );
}

function SolverCards({ solver }: { solver: SolverFigures }) {
  return (
    <>
      <Answers metrics={solver.metrics} />
      <Calibration markets={solver.info.calibration} />
    </>
  );
}

/** The solver's answers by code, each with its share, since its start. */
function Answers({ metrics }: { metrics: Metrics }) {
  const rows = answersOf(metrics);
  return (
    <Card title="Quotes and refusals">
      <p>
        {refusedText(rows)} since {startText(metrics)}. Earlier answers are in Prometheus.
      </p>
      <Table
        of="answers"
        empty="Nothing was asked yet."
        first={5}
        isCards
        rows={rows}
        keyOf={({ outcome }) => outcome}
        columns={[
          {
            name: "Answer",
            text: ({ outcome }) => SUCCESSES.has(outcome) ? `✓ ${outcome}` : <code>{outcome}</code>,
          },
          ...REQUESTS.map(({ name }, request) => ({
            name,
            number: (row: AnswerCount) => countText(row, request, rows),
          })),
          {
            name: "Meaning",
            text: (row) => <Words text={meaningOf(row)} />,
          },
        ]}
      />
    </Card>
  );
}
