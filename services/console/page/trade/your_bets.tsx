import { type Signal, useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { DAY_MS } from "../../../../lib/time.ts";
import { betsCsv } from "../data/bets_csv.ts";
import type { PageModel } from "../data/page_model.ts";
import { crossingText, gainOf, isDecided } from "../data/outcome.ts";
import {
  counted,
  dateOf,
  durationText,
  formatAmount,
  formatCents,
  formatDay,
  formatGain,
  formatRange,
  formatTime,
  shortAddress,
} from "../parts/format.ts";
import { type Column, Table } from "../parts/table.tsx";
import { useNow } from "../parts/hooks.ts";
import { download, NotifyButton, Signed } from "../parts/parts.tsx";
import { runText, SIGNS, stateOfBet } from "./chart_boxes.ts";
import { FILTERS, pageOf } from "./bet_list.ts";

/** Interval at which the list is drawn while a bet is open, and while none is. */
const [STEP_MS, SETTLED_STEP_MS] = [500, 60_000];

interface YourBetsProps {
  model: PageModel;
  chosen: Signal<number | undefined>;
  onShow(bet: Thesis): void;
  onRepeat(bet: Thesis): void;
}

/** The user's bets: open ones with their progress, settled ones with their gain or loss. */
export function YourBets({ model, chosen, onShow, onRepeat }: YourBetsProps) {
  const { session, feed } = model;
  // The chart shows that the connection is lost.
  const isOld = session.user.value?.portfolio.problem.value !== undefined && !feed.isAway.value;
  const theses = model.bets;
  const nowMs = useNow(model.serverClock, theses.every(isDecided) ? SETTLED_STEP_MS : STEP_MS);
  const filter = useSignal<FilterName>("All");
  const wanted = useSignal(0);
  const profit = theses.filter(isDecided).reduce((sum, thesis) => sum + gainOf(thesis), 0n);
  const shown = theses.filter(FILTERS[filter.value]);
  const { page, pages, rows } = pageOf(shown, wanted.value);
  const save = () => {
    download(betsCsv(shown, model.markets, gainOf));
    model.announce(`bets.csv was downloaded, with ${counted(shown.length, "bet")}.`);
  };
  return (
    <section class="card your-bets" aria-label="Your bets">
      <div class="row">
        <h2>Your bets</h2>
        {isOld && <span class="warned">They may be out of date: reconnecting.</span>}
        {theses.length > 0 && (
          <span>
            Profit and loss <strong>{formatGain(profit)} USDC</strong>
          </span>
        )}
      </div>
      {theses.length === 0
        ? (
          <p class="note">
            {session.user.value === undefined && session.hasKey
              ? "Use your account to see its bets."
              : "None yet. Your open and settled bets will be listed here."}
          </p>
        )
        : (
          <>
            <div class="row note">
              <BetFilter model={model} theses={theses} filter={filter} />
              <span class="spacer" />
              <button type="button" onClick={save}>Download CSV</button>
              <NotifyButton announce={model.announce} />
            </div>
            <Table
              of="your bets"
              rows={rows}
              keyOf={({ id }) => id}
              attributesOf={(thesis) => ({
                "data-thesis": thesis.id,
                "data-status": thesis.status,
                "data-chosen": chosen.value === thesis.id,
                onPointerEnter: () => chosen.value = thesis.id,
                onPointerLeave: () => chosen.value = undefined,
                onClick: () => onShow(thesis),
              })}
              columns={columnsOf(model, onRepeat, nowMs)}
            />
            {rows.length === 0 && <p class="note">You have no {filter.value.toLowerCase()} bets.
            </p>}
            {pages > 1 && <Pager page={page} pages={pages} wanted={wanted} />}
          </>
        )}
    </section>
  );
}

function BetFilter({ model, theses, filter }: Pick<YourBetsProps, "model"> & {
  theses: readonly Thesis[];
  filter: Signal<FilterName>;
}) {
  const countOf = (name: FilterName) => theses.filter(FILTERS[name]).length;
  const choose = (name: FilterName) => {
    filter.value = name;
    model.announce(`The list shows ${counted(countOf(name), "bet")}.`, { isSpoken: true });
  };
  return (
    <div class="choice" role="group" aria-label="Bets shown">
      {CHOICES.map(([name, sign]) => (
        <button
          key={name}
          type="button"
          aria-pressed={filter.value === name}
          onClick={() => choose(name)}
        >
          <span aria-hidden="true">{sign}</span>
          {name === "All" ? name : ` ${countOf(name)} ${name.toLowerCase()}`}
        </button>
      ))}
    </div>
  );
}

function columnsOf(
  model: PageModel,
  onRepeat: YourBetsProps["onRepeat"],
  nowMs: number,
): Column<Thesis>[] {
  return [
    {
      name: "Bet",
      // A click works on the whole row; this button is for the keyboard.
      text: ({ id }) => (
        <button type="button" class="quiet" aria-label={`Bet ${id}`} title="Show it on the chart">
          {id}
        </button>
      ),
    },
    {
      name: "Outcome",
      text: (thesis) => <Outcome thesis={thesis} nowMs={nowMs} isAway={model.feed.isAway.value} />,
    },
    {
      name: "Market",
      text: ({ base, quote }) => model.markets.find(base, quote)?.symbol ?? shortAddress(base),
    },
    { name: "Price stays in", text: (thesis) => formatRange(thesis) },
    { name: "Window", text: (thesis) => <Window thesis={thesis} nowMs={nowMs} /> },
    { name: "You bet", number: ({ betAmount }) => formatAmount(betAmount) },
    {
      name: "Pays",
      number: (thesis) => {
        const verb = FILTERS.Won(thesis) ? "Paid" : FILTERS.Lost(thesis) && "Would have paid";
        const format = verb ? formatAmount : formatCents;
        return <>{verb && <span class="note">{verb}</span>} {format(thesis.payout)}</>;
      },
    },
    {
      name: "Again",
      text: (thesis) => (
        <button
          type="button"
          class="quiet"
          aria-label={`Repeat bet ${thesis.id}`}
          onClick={(event) => {
            event.stopPropagation();
            onRepeat(thesis);
          }}
        >
          Repeat
        </button>
      ),
    },
  ];
}

type FilterName = keyof typeof FILTERS;

/** The choices of bets, with the signs of their states. */
const CHOICES = [
  ["All", ""],
  ["Open", SIGNS.open],
  ["Won", SIGNS.won],
  ["Lost", SIGNS.lost],
] as const;

function Pager(
  { page, pages, wanted }: { page: number; pages: number; wanted: Signal<number> },
) {
  return (
    <div class="row" role="group" aria-label="Pages of bets">
      <button type="button" disabled={page === 0} onClick={() => wanted.value = page - 1}>
        Newer
      </button>
      <span>Page {page + 1} of {pages}</span>
      <button type="button" disabled={page === pages - 1} onClick={() => wanted.value = page + 1}>
        Older
      </button>
    </div>
  );
}

/** When a bet runs, and for how long. The date is shown if the start is over 12 hours away. */
function Window({ thesis: { startTime, endTime }, nowMs }: { thesis: Thesis; nowMs: number }) {
  const isRecent = Math.abs(nowMs - startTime) < DAY_MS / 2;
  return (
    <>
      <time dateTime={dateOf(startTime).toISOString()} title={formatDay(startTime)}>
        {isRecent ? formatTime(startTime) : formatDay(startTime)}
      </time>
      , {durationText(endTime - startTime)}
    </>
  );
}

function Outcome(
  { thesis, nowMs, isAway }: { thesis: Thesis; nowMs: number; isAway: boolean },
) {
  const { status, breach } = thesis;
  const { kind, text } = stateOfBet(thesis, nowMs, isAway);
  const lostAt = kind === "lost" && breach
    ? `: ${crossingText(thesis, breach.price)[0]}` +
      (status === "lost" ? ` at ${formatTime(breach.time)}` : "")
    : "";
  return (
    <span class={kind}>
      <Signed
        sign={SIGNS[kind]}
        text={kind === "open" ? runText(thesis, nowMs, isAway) : text + lostAt}
      />
    </span>
  );
}
