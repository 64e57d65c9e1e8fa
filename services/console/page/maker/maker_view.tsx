import { useEffect } from "preact/hooks";
import { systemClock } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { Metrics } from "../data/metrics.ts";
import type { PageModel } from "../data/page_model.ts";
import {
  historyOf,
  type Results,
  resultsByMarket,
  resultsByPeriod,
  resultsOf,
} from "../data/results.ts";
import { type ServiceState, ServiceWatch } from "../data/service_watch.ts";
import {
  formatAmount,
  formatDay,
  formatGain,
  formatRounded,
  formatTime,
  shortAddress,
} from "../format.ts";
import { Fact } from "../fact.tsx";
import type { View } from "../shell.tsx";
import { type Column, Table } from "../table.tsx";
import { Answers } from "./answers_card.tsx";
import { Calibration } from "./calibration_card.tsx";
import { CalibrationPictures } from "./calibration_picture.tsx";
import { Exposure } from "./exposure_card.tsx";
import { LineChart } from "./line_chart.tsx";
import { type MakerState, MakerWatch } from "./maker_watch.ts";
import { OpenBoxes } from "./open_boxes.tsx";

/** The maker's view: the money, risk and results of the solver. It asks only while it is shown. */
export function openMakerView(model: PageModel): View {
  const watch = new MakerWatch(model.client, systemClock);
  const solver = new ServiceWatch("solver", model.config.urls.solver, systemClock);
  const Body = () => <MakerView model={model} watch={watch} solver={solver} />;
  return { id: "maker", label: "Maker", Body };
}

interface MakerViewProps {
  model: PageModel;
  watch: MakerWatch;
  solver: ServiceWatch;
}

function MakerView({ model, watch, solver }: MakerViewProps) {
  useEffect(() => {
    watch.start();
    solver.poll.start();
    return () => {
      watch.stop();
      solver.poll.stop();
    };
  }, []);
  const state = watch.state.value;
  const service = solver.state.value;
  const problems = [
    watch.problem.value && `The bets may be out of date: ${watch.problem.value}. Trying again.`,
    service.isUp === false && `The solver does not answer: ${service.reason}. Trying again.`,
  ].filter((text) => typeof text === "string");
  return (
    <div class="board">
      <p class="note">
        The other side of every bet: what the solver (the market maker) earns, and what it risks.
      </p>
      <div class="problems" role="status" aria-atomic="false">
        {problems.map((text) => <p key={text} class="warned">{text}</p>)}
      </div>
      {state === undefined
        ? <p class="note">Reading the solver and its bets …</p>
        : <Maker model={model} state={state} service={service} />}
    </div>
  );
}

interface MakerProps {
  model: PageModel;
  state: MakerState;
  service: ServiceState;
}

function Maker({ model, state: known, service }: MakerProps) {
  // A bet whose box was left is decided before the node says so.
  const state = { ...known, theses: known.theses.map(model.withBreach) };
  const results = resultsOf(state.theses);
  return (
    <>
      <div class="pair">
        <Money state={state} metrics={service.history.latest} results={results} />
        <Outcome results={results} />
      </div>
      <Trend state={state} results={results} />
      <ByMarket rows={resultsByMarket(state.theses, model.markets.list)} />
      <ByPeriod
        rows={resultsByPeriod(state.theses, model.serverClock.now())}
        sinceMs={historyOf(state.theses)[0]?.timeMs}
      />
      <Exposure model={model} theses={state.theses} />
      <OpenBoxes model={model} theses={state.theses} />
      <CalibrationPictures markets={state.info.calibration ?? []} />
      <div class="pair">
        <Calibration metrics={service.history.latest} />
        <Answers metrics={service.history.latest} />
      </div>
    </>
  );
}

/** The built-in strategies in words. */
const PRICING_TEXTS: Readonly<Record<string, string>> = {
  mock: "prices at random, for tests (mock)",
  barrier: "prices by a model of the market (barrier)",
};

interface MoneyProps {
  state: MakerState;
  metrics: Metrics;
  results: Results;
}

function Money({ state: { info, account }, metrics, results }: MoneyProps) {
  const exposure = metrics.sum("solver_exposure_usdc");
  const isComplete = metrics.sum("solver_exposure_complete") !== 0;
  return (
    <Card
      title="Money"
      note={
        <>
          <code title={info.address}>{shortAddress(info.address)}</code>,{" "}
          {PRICING_TEXTS[info.pricing] ?? `prices by the strategy “${info.pricing}”`}
          {info.dryRun && ", dry run: takes no bets"}
        </>
      }
    >
      <dl class="facts">
        <Fact label="Balance for new bets" isBig>
          <span data-maker-balance>{formatAmount(account.balance)} USDC</span>
        </Fact>
        <Fact label="Locked in open bets">{formatAmount(account.locked)} USDC</Fact>
        <Fact label="Lost if every open bet wins">
          {formatRounded(results.atRisk)} USDC
        </Fact>
        <Fact label="Exposure, as the solver counts it">
          {exposure === undefined
            ? "–"
            : `${formatRounded(BigInt(Math.round(exposure * 1e6)))} USDC`}
          {!isComplete && <span class="lost">▲ incomplete</span>}
        </Fact>
      </dl>
    </Card>
  );
}

const percent = (share: number) => `${share < 0 ? "−" : ""}${Math.abs(share * 100).toFixed(1)} %`;

/** Profit and loss as a share of the stakes. */
const shareText = ({ turnover, profit }: Results) =>
  turnover === 0n ? "–" : percent(Number(profit) / Number(turnover));

function Outcome({ results }: { results: Results }) {
  const { settled, held, profit, chance, wonShare, breakEven, open } = results;
  return (
    <Card title="Results" note={`${settled} settled, ${open} open`}>
      <dl class="facts">
        <Fact label="Profit and loss" isBig>
          <span data-maker-profit class={profit < 0n ? "lost" : "won"}>
            {formatGain(profit)} USDC
          </span>
        </Fact>
        <Fact label="Chance alone, two standard deviations">± {formatAmount(chance)} USDC</Fact>
        <Fact label="Share of the stakes">{shareText(results)}</Fact>
        <Fact label="Hit rate: bets that users won">
          <span data-maker-hits>
            {settled === 0 ? "–" : `${percent(held / settled)} (${held} of ${settled})`}
          </span>
        </Fact>
        <Fact label="Of the payouts, users won">
          {wonShare === undefined ? "–" : percent(wonShare)}
        </Fact>
        <Fact label="Above this share, the maker loses">
          {breakEven === undefined ? "–" : percent(breakEven)}
        </Fact>
      </dl>
    </Card>
  );
}

function Trend({ state: { theses }, results }: { state: MakerState; results: Results }) {
  const history = historyOf(theses);
  return (
    <Card title="Over time">
      {history.length === 0 && <p class="note">No bet is settled yet.</p>}
      <div class="pair">
        <LineChart
          label="Profit and loss, USDC"
          points={history.map(({ timeMs, profit }) => ({ x: timeMs, y: Number(profit) / 1e6 }))}
          mark={{ y: 0, label: "neither profit nor loss" }}
          format={(usdc) => formatGain(BigInt(Math.round(usdc * 1e6)))}
          formatX={formatTime}
        />
        <LineChart
          label="Of all payouts until then, users won"
          points={history.map(({ timeMs, wonShare }) => ({ x: timeMs, y: wonShare }))}
          mark={{ y: results.breakEven ?? 0, label: "neither profit nor loss" }}
          format={percent}
          formatX={formatTime}
        />
      </div>
    </Card>
  );
}

type ResultsRow = readonly [name: string, results: Results];

const SETTLED: readonly Column<ResultsRow>[] = [
  { name: "Settled", number: ([, { settled }]) => settled },
  {
    name: "Users won",
    number: ([, { settled, held }]) => settled === 0 ? "–" : percent(held / settled),
  },
  { name: "Profit and loss", number: ([, { profit }]) => formatGain(profit) },
];

function ByMarket({ rows }: { rows: readonly ResultsRow[] }) {
  const largest = rows.reduce((max, [, { atRisk }]) => atRisk > max ? atRisk : max, 1n);
  return (
    <Card title="By market">
      <Table
        of="markets"
        rows={rows}
        keyOf={([symbol]) => symbol}
        columns={[
          { name: "Market", text: ([symbol]) => symbol },
          { name: "Open", number: ([, { open }]) => open },
          { name: "Stakes", number: ([, { stakes }]) => formatAmount(stakes) },
          {
            name: "At risk",
            number: ([, { atRisk }]) => (
              <>
                <Bar share={Number(atRisk) / Number(largest)} /> {formatRounded(atRisk)}
              </>
            ),
          },
          ...SETTLED,
        ]}
      />
    </Card>
  );
}

const Bar = ({ share }: { share: number }) => (
  <svg class="bar" viewBox="0 0 60 8" width="60" height="8" aria-hidden="true">
    <rect x={60 - 60 * share} width={60 * share} height="8" rx="2" />
  </svg>
);

/** @param sinceMs When the first bet was decided: periods that begin before it are one row. */
function ByPeriod({ rows, sinceMs }: { rows: readonly ResultsRow[]; sinceMs: number | undefined }) {
  return (
    <Card title="By period" note={sinceMs && `first bet decided ${formatDay(sinceMs)}`}>
      <Table
        of="periods"
        rows={rows}
        keyOf={([period]) => period}
        columns={[
          { name: "Decided in", text: ([period]) => period },
          { name: "Stakes", number: ([, { turnover }]) => formatAmount(turnover) },
          ...SETTLED,
          { name: "Share of the stakes", number: ([, results]) => shareText(results) },
        ]}
      />
    </Card>
  );
}
