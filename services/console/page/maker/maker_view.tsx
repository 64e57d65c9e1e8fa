import { useEffect, useMemo } from "preact/hooks";
import { systemClock } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { type Results, resultsByMarket, resultsByPeriod, resultsOf } from "../data/results.ts";
import { Fact } from "../fact.tsx";
import {
  formatAmount,
  formatChange,
  formatGain,
  formatTime,
  fromNumber,
  shortAddress,
} from "../format.ts";
import type { View } from "../shell.tsx";
import { Table } from "../table.tsx";
import { makerCsv } from "../trade/history.ts";
import { download } from "../trade/positions.tsx";
import { Answers } from "./answers_card.tsx";
import {
  COUNT_MIN,
  earningsOf,
  earningsVerdict,
  expectedOfOpen,
  type PredictedBet,
  predictedBets,
} from "./calibration.ts";
import { Calibration } from "./calibration_card.tsx";
import { Exposure } from "./exposure_card.tsx";
import { type MakerState, MakerWatch } from "./maker_watch.ts";
import { OpenBets } from "./open_bets.tsx";
import { ProfitChart } from "./profit_chart.tsx";
import { Risk } from "./risk_card.tsx";

/** The maker's view: the money, risk and results of the solver. It polls only while it is shown. */
export function openMakerView(model: PageModel): View {
  const { solver } = model.config.urls;
  const watch = new MakerWatch(model.client, solver, systemClock, sessionStorage);
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
  // A bet is decided as soon as the price leaves its box, before the node reports it.
  const theses = state.theses.map(model.withBreach);
  const results = resultsOf(theses);
  const nowMs = model.serverClock.now();
  const { solver } = state;
  const probabilities = solver?.probabilities ?? new Map<string, number>();
  const predicted = predictedBets(theses, probabilities, nowMs);
  const startedAtS = solver?.metrics.sum("process_start_time_seconds");
  const startedAtMs = startedAtS && 1_000 * startedAtS;
  return (
    <>
      <Risk
        {...{
          theses,
          results,
          solver,
          isOld,
          nowMs,
          placing: state.placing,
          balance: state.account.balance,
        }}
        expected={expectedOfOpen(theses, probabilities)}
      />
      <Glance results={results} predicted={predicted} />
      <Card title="Open bets" note={results.open > 0 && `${results.open} open`}>
        <Exposure model={model} theses={theses} />
        <OpenBets model={model} theses={theses} />
      </Card>
      <Card
        title="Results"
        note={
          <button
            type="button"
            onClick={() => download(makerCsv(theses, model.markets, probabilities))}
          >
            Download CSV
          </button>
        }
      >
        <div class="columns">
          <ProfitChart theses={theses} nowMs={nowMs} />
          {theses.length > 0 && (
            <ByMarketAndPeriod
              rows={[
                ...resultsByMarket(theses, model.markets.list),
                ["All", results],
                ...resultsByPeriod(theses, nowMs),
              ]}
            />
          )}
        </div>
      </Card>
      {solver && (
        <Answers
          history={solver.answers}
          startedAtMs={startedAtMs}
          refusedRisk={solver.metrics.sum("solver_refused_risk_usdc_total") ?? 0}
        />
      )}
      {solver && <Calibration predicted={predicted} markets={solver.info.calibration ?? []} />}
    </>
  );
}

/** Profit and loss as a share of the stakes. */
const shareText = ({ turnover, profit }: Results) =>
  formatChange(Number(profit) / Number(turnover));

const styleOf = (gain: bigint) => gain < 0n ? "lost" : gain > 0n ? "won" : undefined;

/** Where the result lies in 19 of 20 cases if the forecasts are right. */
function chanceText({ expected, chance }: ReturnType<typeof earningsOf>): string {
  const [low, high] = [-chance.together, chance.together]
    .map((usdc) => formatGain(fromNumber(expected + usdc)));
  return `By chance alone, the result would lie between ${low} and ${high} in 19 of 20 cases`;
}

interface GlanceProps {
  results: Results;
  predicted: readonly PredictedBet[];
}

/** What the solver expected of its bets, and what the same bets brought. */
function Glance({ results, predicted }: GlanceProps) {
  const { settled, held, profit, open } = results;
  // Compares all pairs of bets that overlap, so only after another one was counted.
  const earnings = useMemo(() => earningsOf(predicted), [predicted.length]);
  const { bets, stakes, expected, actual } = earnings;
  const verdict = earningsVerdict(earnings);
  const All = bets > 0 ? "span" : "strong";
  return (
    <Card
      title="Profit and loss"
      note={bets > 0 && `${bets} ${bets === 1 ? "bet" : "bets"} whose window is over`}
    >
      <dl class="columns glance">
        {bets > 0 && (
          <>
            <Fact label="Expected, USDC">
              <strong>{formatGain(fromNumber(expected))}</strong>
              <span class="detail">{formatChange(expected / stakes)} of the stakes</span>
            </Fact>
            <Fact label="Brought, USDC">
              <strong class={styleOf(fromNumber(actual))}>
                {formatGain(fromNumber(actual))}
              </strong>
              <span class="detail">{formatChange(actual / stakes)} of the stakes</span>
            </Fact>
          </>
        )}
        <Fact label="All decided bets">
          <All class={styleOf(profit)} data-maker-profit>{formatGain(profit)} USDC</All>
          <span class="detail">
            {settled === 0 ? "no bet is settled yet" : (
              <>
                {shareText(results)} of the stakes; users won{" "}
                <span data-maker-hits>{held} of {settled}</span>
              </>
            )}
          </span>
        </Fact>
      </dl>
      {bets > 0 && (
        <p class="note">
          {bets >= COUNT_MIN && `${chanceText(earnings)}: `}
          <span class={verdict.startsWith("▲") ? "warning" : undefined}>{verdict}</span>.
          {settled > bets && open > 0 &&
            " Bets that users lose early are decided at once, so all bets look better while some are open."}
        </p>
      )}
    </Card>
  );
}

type ResultsRow = readonly [name: string, results: Results];

function ByMarketAndPeriod({ rows }: { rows: readonly ResultsRow[] }) {
  return (
    <Table
      of="results"
      rows={rows}
      keyOf={([name]) => name}
      attributesOf={([name]) => ({ class: name === "All" ? "total" : undefined })}
      columns={[
        { name: "Market or period", text: ([name]) => name },
        {
          name: "Profit",
          number: ([, { settled, profit }]) =>
            settled > 0 && <span class={styleOf(profit)}>{formatGain(profit)}</span>,
        },
        {
          name: "Of the stakes",
          number: ([, results]) => results.settled > 0 && shareText(results),
        },
        { name: "Bets", number: ([, { settled }]) => settled || undefined },
        { name: "At risk", number: ([, { open, atRisk }]) => open > 0 && formatAmount(atRisk) },
      ]}
    />
  );
}
