import { useEffect } from "preact/hooks";
import { systemClock, type Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import {
  historyOf,
  lastSettled,
  type Results,
  resultsByMarket,
  resultsByPeriod,
  resultsOf,
} from "../data/results.ts";
import {
  formatAmount,
  formatChange,
  formatDay,
  formatDuration,
  formatGain,
  formatRounded,
  formatTime,
  fromNumber,
  shortAddress,
} from "../format.ts";
import { Fact } from "../fact.tsx";
import type { View } from "../shell.tsx";
import { Table } from "../table.tsx";
import { useNow } from "../use_now.ts";
import { Answers } from "./answers_card.tsx";
import { earningsOf, picturesOf } from "./calibration.ts";
import { Calibration } from "./calibration_card.tsx";
import { type NextEnd, nextEndOf } from "./exposure.ts";
import { Exposure } from "./exposure_card.tsx";
import { type MakerState, MakerWatch, type SolverFigures } from "./maker_watch.ts";
import { OpenBoxes } from "./open_boxes.tsx";
import { ProfitChart } from "./profit_chart.tsx";

/** The maker's view: the money, risk and results of the solver. It asks only while it is shown. */
export function openMakerView(model: PageModel): View {
  const watch = new MakerWatch(model.client, model.config.urls.solver, systemClock);
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
      <div role="status" aria-atomic="false">
        <p class="note">
          The other side of every bet: what the solver (the market maker) earns, and what it risks.
        </p>
        {solverProblem && (
          <p class="warned">The solver does not answer: {solverProblem}. Trying again.</p>
        )}
        {problem && state && (
          <p class="warned">The bets may be out of date: {problem}. Trying again.</p>
        )}
      </div>
      {state?.solver && <Age name="the solver’s own figures" ofMs={state.solver.readAtMs} />}
      {state && <Age name="the bets" ofMs={state.readAtMs} />}
      {state === undefined
        ? <p class="note">{problem ?? "Reading the solver and its bets …"}</p>
        : <Maker model={model} state={state} />}
    </div>
  );
}

/** Figures that are older were not read at the last passes, whatever the reason. */
const OLD_MS = 6_000;

/** Apart from the announcement of the problem, which is read out once. */
function Age({ name, ofMs }: { name: string; ofMs: number }) {
  const nowMs = useNow(systemClock, 1_000);
  if (nowMs - ofMs < OLD_MS) return null;
  return (
    <p class="warning">
      ▲ Below, {name} are of {formatTime(ofMs)}, {formatDuration(nowMs - ofMs)} ago.
    </p>
  );
}

function Maker({ model, state }: { model: PageModel; state: MakerState }) {
  // A bet whose box was left is decided before the node says so.
  const theses = state.theses.map(model.withBreach);
  const results = resultsOf(theses);
  const nowMs = model.serverClock.now();
  const { solver } = state;
  return (
    <>
      <div class="tiles">
        <Profit theses={theses} results={results} solver={solver} />
        <AtRisk results={results} solver={solver} next={nextEndOf(theses, nowMs)} />
        <UsersWon results={results} />
        <Money state={state} />
      </div>
      <Exposure model={model} theses={theses} />
      <OpenBoxes model={model} theses={theses} />
      <div class="pair">
        <ProfitChart theses={theses} nowMs={nowMs} />
        <ByMarketAndPeriod
          rows={[
            ...resultsByMarket(theses, model.markets.list),
            ...resultsByPeriod(theses, nowMs).slice(0, -1),
            ["All", results],
          ]}
          sinceMs={historyOf(theses)[0]?.timeMs}
        />
      </div>
      {solver && <Answers metrics={solver.metrics} />}
      {solver && (
        <Calibration pictures={picturesOf(solver.metrics, solver.info.calibration ?? [])} />
      )}
    </>
  );
}

/** The built-in strategies in words. */
const PRICING_TEXTS: Readonly<Record<string, string>> = {
  mock: "at random, for tests (mock)",
  barrier: "a model of the market (barrier)",
};

function Money({ state: { solver, address, account } }: { state: MakerState }) {
  const { pricing = "", dryRun = false } = solver?.info ?? {};
  return (
    <Card title="Balance for new bets" note={dryRun && "dry run: takes no bets"}>
      <p class="big" data-maker-balance>{formatAmount(account.balance)} USDC</p>
      <dl class="facts">
        <Fact label="Address of the solver">
          <code title={address}>{shortAddress(address)}</code>
        </Fact>
        {solver && (
          <Fact label="Pricing">{PRICING_TEXTS[pricing] ?? `the strategy “${pricing}”`}</Fact>
        )}
      </dl>
      {solver === undefined && (
        <p class="note">
          It made the first bet of this chain: the solver itself has not answered yet.
        </p>
      )}
    </Card>
  );
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** Profit and loss as a share of the stakes. */
const shareText = ({ turnover, profit }: Results) =>
  turnover === 0n ? "–" : formatChange(Number(profit) / Number(turnover));

const styleOf = (gain: bigint) => gain < 0n ? "lost" : gain > 0n ? "won" : undefined;

interface TileProps {
  results: Results;
  solver: SolverFigures | undefined;
}

/** With less of the limit left, larger bets are refused: it is pointed out. */
const FREE_MIN = 0.1;

/** What all open bets can cost, those being executed included, against the bound of `--max-exposure`. */
function AtRisk(
  { results: { atRisk, open }, solver, next }: TileProps & { next: NextEnd | undefined },
) {
  const { executing = 0n, maxExposure, complete } = solver ?? {};
  const all = atRisk + executing;
  const free = maxExposure ? Math.max(0, 1 - Number(all) / Number(maxExposure)) : undefined;
  const isFull = free !== undefined && free < FREE_MIN;
  return (
    <Card title="At risk in open bets" note={`${open} open`}>
      <p class={isFull ? "big warning" : "big"} data-maker-exposure>
        {isFull && "▲ "}
        {formatRounded(all)} USDC
      </p>
      {free !== undefined && (
        <meter aria-label="Share of the limit in use" max={1} high={1 - FREE_MIN} value={1 - free}>
          {percent(1 - free)}
        </meter>
      )}
      <dl class="facts">
        {executing > 0n && <Fact label="Of which being executed">{formatRounded(executing)}</Fact>}
        <Fact label="Limit">
          {maxExposure ? formatRounded(maxExposure) : maxExposure === null ? "none" : "unknown"}
        </Fact>
        {maxExposure && free !== undefined && (
          <>
            <Fact label="Used">{percent(1 - free)}</Fact>
            <Fact label="Free">{formatRounded(all < maxExposure ? maxExposure - all : 0n)}</Fact>
          </>
        )}
        {next && (
          <Fact label="Next end frees">
            {formatRounded(next.atRisk)} at {formatTime(next.endTime)}
          </Fact>
        )}
      </dl>
      {complete === false && <p class="lost">▲ The solver does not know all open bets.</p>}
    </Card>
  );
}

function Profit({ theses, results, solver }: TileProps & { theses: readonly Thesis[] }) {
  const { settled, profit } = results;
  const earnings = solver && earningsOf(solver.metrics);
  // A solver that was restarted has counted fewer bets: chance is that of the bets that are compared.
  const { chance } = earnings ? resultsOf(lastSettled(theses, earnings.bets)) : results;
  const readAtMs = solver?.readAtMs;
  const chanceUsdc = Number(chance) / 1e6;
  const surprise = earnings ? earnings.actual - earnings.expected : Number(profit) / 1e6;
  return (
    <Card title="Profit and loss" note={`${settled} settled`}>
      <p class={`big ${styleOf(profit) ?? ""}`} data-maker-profit>{formatGain(profit)} USDC</p>
      <dl class="facts">
        <Fact label="Of the stakes">{shareText(results)}</Fact>
        {earnings && (
          <Fact
            label={earnings.bets === settled
              ? "Expected by its prices"
              : `Expected of ${earnings.bets} that it counted${
                readAtMs === undefined ? "" : ` until ${formatTime(readAtMs)}`
              }`}
          >
            {formatGain(fromNumber(earnings.expected))}{" "}
            ({formatChange(earnings.expected / earnings.stakes)})
          </Fact>
        )}
        {earnings && earnings.bets !== settled && (
          <Fact label={`These ${earnings.bets} brought`}>
            {formatGain(fromNumber(earnings.actual))}
          </Fact>
        )}
        <Fact label="By chance (95 %)">± {formatAmount(chance)}</Fact>
      </dl>
      {settled > 0 && (Math.abs(surprise) <= chanceUsdc
        ? <p class="note">Chance explains the difference.</p>
        : <p class="warning">▲ {surprise < 0 ? "Less" : "More"} than chance explains.</p>)}
    </Card>
  );
}

/** By payouts, since these decide about profit: long shots count for what they pay. */
function UsersWon({ results: { settled, held, wonShare, breakEven } }: { results: Results }) {
  return (
    <Card title="Payouts that users won">
      <p class="big">{wonShare === undefined ? "–" : percent(wonShare)}</p>
      <dl class="facts">
        <Fact label="You break even at">{breakEven === undefined ? "–" : percent(breakEven)}</Fact>
        <Fact label="Bets that they won">
          <span data-maker-hits>{settled === 0 ? "–" : `${held} of ${settled}`}</span>
        </Fact>
      </dl>
      <p class="note">The share of all payouts that settled bets had promised.</p>
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
        isCards
        rows={rows}
        keyOf={([name]) => name}
        attributesOf={([name]) => ({ class: name === "All" ? "total" : undefined })}
        columns={[
          { name: "Market or period", text: ([name]) => name },
          {
            name: "Profit and loss",
            number: ([, { settled, profit }]) =>
              settled > 0 && <span class={styleOf(profit)}>{formatGain(profit)}</span>,
          },
          {
            name: "Of the stakes",
            number: ([, results]) => results.settled > 0 && shareText(results),
          },
          { name: "Settled", number: ([, { settled }]) => settled || undefined },
          {
            name: "Stakes",
            number: ([, { settled, turnover }]) => settled > 0 && formatAmount(turnover),
          },
          { name: "Open", number: ([, { open }]) => open || undefined },
          { name: "At risk", number: ([, { open, atRisk }]) => open > 0 && formatRounded(atRisk) },
        ]}
      />
    </Card>
  );
}
