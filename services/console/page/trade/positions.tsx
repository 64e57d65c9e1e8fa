import type { Markets, Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { resultsOf } from "../data/results.ts";
import {
  formatAmount,
  formatDuration,
  formatGain,
  formatQuotePrice,
  formatTime,
  shortAddress,
  toNumber,
} from "../format.ts";
import { Table } from "../table.tsx";
import { useNow } from "../use_now.ts";

/** Rows that are shown; older bets count in the sums. */
const ROWS_MAX = 50;

/** The user's bets: open ones with their progress, settled ones with what they brought. */
export function Positions({ model }: { model: PageModel }) {
  const theses = model.session.user.value?.portfolio.theses.value ?? [];
  const nowMs = useNow(() => model.serverClock.now(), 500);
  const { open, settled, held, profit } = resultsOf(theses); // as the maker sees them
  return (
    <section class="card positions" aria-label="Your bets">
      <div class="row">
        <h2>Your bets</h2>
        {theses.length > 0 && (
          <p class="summary">
            <span class="open">● {open} open</span>
            <span class="won">✓ {held} won</span>
            <span class="lost">✕ {settled - held} lost</span>
            <span>
              Profit and loss <strong data-profit>{formatGain(-profit)} USDC</strong>
            </span>
          </p>
        )}
      </div>
      {theses.length === 0
        ? <p class="note">None yet. Your open and settled bets will be listed here.</p>
        : (
          <Table
            of="your bets"
            columns={[
              "Bet",
              "Outcome",
              "Market",
              "Price stays in",
              "Window",
              { number: "You bet" },
              { number: "Pays" },
            ]}
          >
            {theses.slice(0, ROWS_MAX).map((thesis) => (
              <Row key={thesis.id} thesis={thesis} markets={model.markets} nowMs={nowMs} />
            ))}
          </Table>
        )}
    </section>
  );
}

interface RowProps {
  thesis: Thesis;
  markets: Markets;
  nowMs: number;
}

function Row({ thesis, markets, nowMs }: RowProps) {
  const { id, base, quote, lowerPrice, upperPrice, startTime, endTime, betAmount, payout } = thesis;
  const symbol = markets.find(base, quote)?.symbol ?? shortAddress(base);
  return (
    <tr data-thesis={id} data-status={thesis.status}>
      <td>{id}</td>
      <td>
        <Outcome thesis={thesis} nowMs={nowMs} />
      </td>
      <td>{symbol}</td>
      <td>
        {formatQuotePrice(toNumber(lowerPrice))} – {formatQuotePrice(toNumber(upperPrice))}
      </td>
      <td>{formatTime(startTime)}, {formatDuration(endTime - startTime)}</td>
      <td class="number">{formatAmount(betAmount)}</td>
      <td class="number">{formatAmount(payout)}</td>
    </tr>
  );
}

function Outcome({ thesis, nowMs }: { thesis: Thesis; nowMs: number }) {
  const { status, startTime, endTime, betAmount, payout, breach } = thesis;
  if (status === "won") return <span class="won">✓ won {formatGain(payout - betAmount)}</span>;
  if (status === "lost") {
    const at = breach &&
      `: ${formatQuotePrice(toNumber(breach.price))} at ${formatTime(breach.time)}`;
    return <span class="lost">✕ lost {formatGain(-betAmount)}{at}</span>;
  }
  if (status === "needs_backfill") return <span>… waits for missing prices</span>;
  if (nowMs < startTime) {
    return <span class="open">● starts in {formatDuration(startTime - nowMs)}</span>;
  }
  if (nowMs >= endTime) return <span class="open">● being settled</span>;
  const done = (nowMs - startTime) / (endTime - startTime);
  return (
    <span class="open">
      ● {formatDuration(endTime - nowMs)} left{" "}
      <progress max={1} value={done} aria-label={`Bet ${thesis.id}, time passed`} />
    </span>
  );
}
