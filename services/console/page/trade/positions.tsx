import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { isDecided } from "../data/live_breaches.ts";
import { resultsOf } from "../data/results.ts";
import {
  formatAmount,
  formatDay,
  formatDuration,
  formatQuotePrice,
  formatRange,
  formatTime,
  shortAddress,
  toNumber,
} from "../format.ts";
import { NotifyButton } from "../notify_button.tsx";
import { type Sort, Table } from "../table.tsx";
import { useNow } from "../use_now.ts";
import { isWaiting, stateOfBet } from "./chart_boxes.ts";
import { durationText } from "./input.ts";
import { csvOf, type Filter, filtered, FILTERS, pageOf, sorted } from "./history.ts";

/** How often the list is drawn while a bet is open, and while none is. */
const [STEP_MS, SETTLED_STEP_MS] = [500, 60_000];

interface PositionsProps {
  model: PageModel;
  chosen: Signal<number | undefined>;
  /** What bets were signed for that pay something else, by their quote's hash. */
  signedFor: Readonly<Record<string, string>>;
  onShow(bet: Thesis): void;
  onRepeat(bet: Thesis): void;
}

/** The user's bets: open ones with their progress, settled ones with what they brought. */
export function Positions({ model, chosen, signedFor, onShow, onRepeat }: PositionsProps) {
  const theses = (model.session.user.value?.portfolio.theses.value ?? []).map(model.withBreach);
  const nowMs = useNow(model.serverClock, theses.every(isDecided) ? SETTLED_STEP_MS : STEP_MS);
  const filter = useSignal<Filter>("All");
  const wanted = useSignal(0);
  const sort = useSignal<Sort>({ by: "Bet", isDescending: true });
  const { open, settled, held, profit } = resultsOf(theses); // as the maker sees them
  const waiting = theses.filter((thesis) => isWaiting(thesis, nowMs)).length;
  const shown = sorted(filtered(theses, filter.value), sort.value);
  const { page, pages, rows } = pageOf(shown, wanted.value);
  const choose = (name: Filter) => {
    filter.value = name;
    const count = filtered(theses, name).length;
    model.announce(`${name}: ${count} ${count === 1 ? "bet" : "bets"}`, { isSpoken: true });
  };
  const { by, isDescending } = sort.value;
  const order = useRef(sort.value);
  useEffect(() => {
    if (order.current === sort.value) return;
    order.current = sort.value;
    const direction = isDescending ? "descending" : "ascending";
    model.announce(`Sorted by ${by}, ${direction}.`, { isSpoken: true });
  }, [sort.value]);
  const save = () => {
    download(csvOf(theses, model.markets));
    model.announce(
      `bets.csv was downloaded, with ${theses.length} bet${theses.length === 1 ? "" : "s"}.`,
    );
  };
  return (
    <section class="card positions" aria-label="Your bets">
      <div class="row">
        <h2>Your bets</h2>
        {theses.length > 0 && (
          <p class="row">
            <span class="open">● {open - waiting} open</span>
            {waiting > 0 && <span>… {waiting} waiting for prices</span>}
            <span class="won">✓ {held} won</span>
            <span class="lost">✕ {settled - held} lost</span>
            <span>
              Profit and loss{" "}
              <strong data-profit>{(profit < 0n ? "+" : "") + formatAmount(-profit)} USDC</strong>
            </span>
          </p>
        )}
      </div>
      {theses.length === 0
        ? <p class="note">None yet. Your open and settled bets will be listed here.</p>
        : (
          <>
            <div class="row choice" role="group" aria-label="Bets shown">
              {FILTERS.map((name) => (
                <button
                  key={name}
                  type="button"
                  aria-pressed={filter.value === name}
                  onClick={() => choose(name)}
                >
                  {name}
                </button>
              ))}
              <span class="spacer" />
              <NotifyButton
                label="Notify me when a bet ends"
                granted="You will be notified when a bet ends and this page is hidden."
                announce={model.announce}
              />
              <button type="button" onClick={save}>Download CSV</button>
            </div>
            <Table
              of="your bets"
              isCards
              sort={sort}
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
              columns={[
                { name: "Bet", text: (thesis) => <ShowButton id={thesis.id} /> },
                { name: "Outcome", text: (thesis) => <Outcome thesis={thesis} nowMs={nowMs} /> },
                {
                  name: "Market",
                  text: ({ base, quote }) =>
                    model.markets.find(base, quote)?.symbol ?? shortAddress(base),
                },
                { name: "Price stays in", text: (thesis) => formatRange(thesis) },
                { name: "Window", text: (thesis) => <Window thesis={thesis} nowMs={nowMs} /> },
                { name: "You bet", number: ({ betAmount }) => formatAmount(betAmount) },
                {
                  name: "Pays",
                  number: ({ quoteHash, payout }) => {
                    const first = signedFor[quoteHash];
                    const signed = first && ` (signed for ${formatAmount(BigInt(first))})`;
                    return `${formatAmount(payout)}${signed ?? ""}`;
                  },
                },
                {
                  name: "Again",
                  isSortable: false,
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
              ]}
            />
            {rows.length === 0 && (
              <p class="note">None of your bets is {filter.value.toLowerCase()}.</p>
            )}
            {pages > 1 && (
              <div class="row" role="group" aria-label="Pages of bets">
                <button type="button" disabled={page === 0} onClick={() => wanted.value = page - 1}>
                  Newer
                </button>
                <span>Page {page + 1} of {pages}</span>
                <button
                  type="button"
                  disabled={page === pages - 1}
                  onClick={() => wanted.value = page + 1}
                >
                  Older
                </button>
              </div>
            )}
          </>
        )}
    </section>
  );
}

/** Shows a bet on the chart: its whole row is pressed, and the keyboard reaches this. */
function ShowButton({ id }: { id: number }) {
  return (
    <button type="button" class="quiet" aria-label={`Bet ${id}: show on the chart`}>{id}</button>
  );
}

/** Saves text as a file of bets. */
export function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "bets.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

const DAY_MS = 86_400_000;

/** When a bet runs, and for how long; the day only of those that are not of the last day. */
function Window({ thesis: { startTime, endTime }, nowMs }: { thesis: Thesis; nowMs: number }) {
  const isRecent = Math.abs(nowMs - startTime) < DAY_MS / 2;
  return (
    <>
      <time dateTime={new Date(startTime).toISOString()} title={formatDay(startTime)}>
        {isRecent ? formatTime(startTime) : formatDay(startTime)}
      </time>
      , {durationText(endTime - startTime)}
    </>
  );
}

function Outcome({ thesis, nowMs }: { thesis: Thesis; nowMs: number }) {
  const { status, startTime, endTime, breach } = thesis;
  const { kind, text } = stateOfBet(thesis, nowMs);
  if (kind === "won" || kind === "waiting") return <span class={kind}>{text}</span>;
  if (kind === "lost") {
    const at = breach && `: ${formatQuotePrice(toNumber(breach.price))}` +
        (status === "lost" ? ` at ${formatTime(breach.time)}` : "");
    return <span class="lost">{text}{at}</span>;
  }
  if (nowMs < startTime) {
    return <span class="open">● starts in {formatDuration(startTime - nowMs)}</span>;
  }
  if (nowMs >= endTime) return <span class="open">● being settled</span>;
  const done = (nowMs - startTime) / (endTime - startTime);
  return (
    <span class="open">
      ● {formatDuration(endTime - nowMs)} left{" "}
      <progress max={100} value={Math.round(100 * done)} aria-hidden="true" />
    </span>
  );
}
