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
import { formatAmount, formatDay, formatGain, formatRounded, shortAddress } from "../format.ts";
import { Fact } from "../fact.tsx";
import type { View } from "../shell.tsx";
import { Table } from "../table.tsx";
import { Answers } from "./answers_card.tsx";
import { Calibration } from "./calibration_card.tsx";
import { CalibrationPictures } from "./calibration_picture.tsx";
import { Exposure } from "./exposure_card.tsx";
import { type MakerState, MakerWatch } from "./maker_watch.ts";
import { OpenBoxes } from "./open_boxes.tsx";
import { ProfitChart } from "./profit_chart.tsx";

/** The maker's view: the money, risk and results of the solver. It asks only while it is shown. */
export function openMakerView(model: PageModel): View {
  const watch = new MakerWatch(model.client, model.config.urls.solver, systemClock);
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
  const problem = service.isUp === false
    ? `The solver does not answer: ${service.reason}. Trying again.`
    : watch.problem.value && `The bets may be out of date: ${watch.problem.value}. Trying again.`;
  return (
    <div class="board">
      <div role="status" aria-atomic="false">
        <p class="note">
          The other side of every bet: what the solver (the market maker) earns, and what it risks.
        </p>
        {problem && <p class="warned">{problem}</p>}
      </div>
      {state === undefined
        ? <p class="note">{watch.problem.value ?? "Reading the solver and its bets …"}</p>
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
  const metrics = service.history.latest;
  const nowMs = model.serverClock.now();
  return (
    <>
      <div class="tiles">
        <Profit results={results} />
        <Limit state={state} metrics={metrics} results={results} />
        <UsersWon results={results} />
        <Money state={state} />
      </div>
      <Exposure model={model} theses={state.theses} />
      <OpenBoxes model={model} theses={state.theses} />
      <div class="pair">
        <ProfitChart theses={state.theses} nowMs={nowMs} />
        <Answers metrics={metrics} />
      </div>
      <ByMarketAndPeriod
        rows={[
          ...resultsByMarket(state.theses, model.markets.list),
          ...resultsByPeriod(state.theses, nowMs).slice(0, -1),
          ["All", results],
        ]}
        sinceMs={historyOf(state.theses)[0]?.timeMs}
      />
      <CalibrationPictures markets={state.info?.calibration ?? []} />
      <Calibration metrics={metrics} />
    </>
  );
}

/** The built-in strategies in words. */
const PRICING_TEXTS: Readonly<Record<string, string>> = {
  mock: "prices at random, for tests (mock)",
  barrier: "prices by a model of the market (barrier)",
};

function Money({ state: { info, address, account } }: { state: MakerState }) {
  return (
    <Card title="Balance for new bets">
      <p class="big" data-maker-balance>{formatAmount(account.balance)} USDC</p>
      <dl class="facts">
        <Fact label="Locked in open bets">{formatRounded(account.locked)}</Fact>
      </dl>
      <p class="note">
        <code title={address}>{shortAddress(address)}</code> {info === undefined
          ? "made the first bet of this chain: the solver itself has not answered yet"
          : PRICING_TEXTS[info.pricing] ?? `prices by the strategy “${info.pricing}”`}
        {info?.dryRun && ", dry run: takes no bets"}
      </p>
    </Card>
  );
}

const percent = (share: number) => `${share < 0 ? "−" : ""}${Math.abs(share * 100).toFixed(1)} %`;

/** Profit and loss as a share of the stakes. */
const shareText = ({ turnover, profit }: Results) =>
  turnover === 0n ? "–" : percent(Number(profit) / Number(turnover));

const styleOf = (gain: bigint) => gain < 0n ? "lost" : gain > 0n ? "won" : undefined;

const usdc = (amount: number) => BigInt(Math.round(amount * 1e6));

interface LimitProps {
  state: MakerState;
  metrics: Metrics;
  results: Results;
}

/** What all open bets can cost, against the bound of `--max-exposure`. */
function Limit({ state: { maxExposure }, metrics, results }: LimitProps) {
  const counted = metrics.sum("solver_exposure_usdc");
  // The solver counts executions under way, too.
  const exposure = counted === undefined ? results.atRisk : usdc(counted);
  const free = maxExposure ? Number(maxExposure - exposure) / Number(maxExposure) : undefined;
  const isFull = free !== undefined && free < FREE_MIN;
  return (
    <Card title="At risk in open bets">
      <p class={isFull ? "big warning" : "big"} data-maker-exposure>
        {isFull && "▲ "}
        {formatRounded(exposure)} {maxExposure ? `of ${formatRounded(maxExposure)} ` : ""}USDC
      </p>
      <dl class="facts">
        <Fact label="Limit (--max-exposure)">
          {free !== undefined ? `${percent(free)} free` : maxExposure === null ? "none" : "unknown"}
        </Fact>
        <Fact label="Open bets">{results.open}</Fact>
      </dl>
      {metrics.sum("solver_exposure_complete") === 0 && (
        <p class="lost">▲ The solver does not know all open bets.</p>
      )}
    </Card>
  );
}

/** With less of the limit left, larger bets are refused: it is pointed out. */
const FREE_MIN = 0.1;

function Profit({ results }: { results: Results }) {
  const { settled, profit, chance, open } = results;
  const isChance = profit <= chance && profit >= -chance;
  return (
    <Card title="Profit and loss" note={`${settled} settled, ${open} open`}>
      <p class={`big ${styleOf(profit) ?? ""}`} data-maker-profit>{formatGain(profit)} USDC</p>
      <dl class="facts">
        <Fact label="Of the stakes">{shareText(results)}</Fact>
        <Fact label="By chance alone (95 %)">± {formatAmount(chance)}</Fact>
      </dl>
      {settled > 0 && (isChance
        ? <p class="note">Chance explains it.</p>
        : <p class="warning">▲ More than chance.</p>)}
    </Card>
  );
}

function UsersWon({ results: { settled, held, wonShare, breakEven } }: { results: Results }) {
  return (
    <Card title="Bets that users won">
      <p class="big" data-maker-hits>
        {settled === 0 ? "–" : `${percent(held / settled)} (${held} of ${settled})`}
      </p>
      <dl class="facts">
        <Fact label="Of all payouts, users won">
          {wonShare === undefined ? "–" : percent(wonShare)}
        </Fact>
        <Fact label="You lose if they win more than">
          {breakEven === undefined ? "–" : percent(breakEven)}
        </Fact>
      </dl>
    </Card>
  );
}

type ResultsRow = readonly [name: string, results: Results];

/** @param sinceMs When the first bet was decided: periods that begin before it are one row. */
function ByMarketAndPeriod(
  { rows, sinceMs }: { rows: readonly ResultsRow[]; sinceMs: number | undefined },
) {
  return (
    <Card
      title="By market and period"
      note={sinceMs && `first bet decided ${formatDay(sinceMs)}`}
    >
      <Table
        of="results"
        rows={rows}
        keyOf={([name]) => name}
        columns={[
          { name: "Market, or decided in", text: ([name]) => name },
          {
            name: "Profit and loss",
            number: ([, { profit }]) => <span class={styleOf(profit)}>{formatGain(profit)}</span>,
          },
          { name: "Of the stakes", number: ([, results]) => shareText(results) },
          { name: "Settled", number: ([, { settled }]) => settled },
          {
            name: "Users won",
            number: ([, { settled, held }]) => settled === 0 ? "–" : percent(held / settled),
          },
          { name: "Settled stakes", number: ([, { turnover }]) => formatAmount(turnover) },
          { name: "Open", number: ([, { open }]) => open || "–" },
          {
            name: "Open stakes",
            number: ([, { open, stakes }]) => open ? formatAmount(stakes) : "–",
          },
          { name: "At risk", number: ([, { open, atRisk }]) => open ? formatRounded(atRisk) : "–" },
        ]}
      />
    </Card>
  );
}
