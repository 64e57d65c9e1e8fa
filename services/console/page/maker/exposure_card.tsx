import type { Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { formatGain, formatQuotePrice, formatTime, toNumber } from "../format.ts";
import { Table } from "../table.tsx";
import { exposureGrid, MOVES, profitAfter } from "./exposure.ts";

const usdc = (amount: number) => formatGain(BigInt(Math.round(amount * 1e6)));

/** Where in price and time the open bets of each market cost money, and what a move would bring. */
export function Exposure({ model, theses }: { model: PageModel; theses: readonly Thesis[] }) {
  const prices = model.feed.latest.peek(); // read with the bets
  const markets = model.markets.list.map(({ symbol, base, quote }) => ({
    symbol,
    price: prices[symbol] && toNumber(prices[symbol].price),
    own: theses.filter((thesis) => thesis.base === base && thesis.quote === quote),
  }));
  return (
    <section class="card" aria-label="Exposure">
      <h2>Exposure by price and time</h2>
      <div class="pair">
        {markets.map(({ symbol, own }) => (
          <HeatMap key={symbol} symbol={symbol} theses={own} nowMs={model.serverClock.now()} />
        ))}
      </div>
      <Table
        of="moves of the price"
        columns={["If the price moves by", ...MOVES.map((move) => ({ number: percent(move) }))]}
      >
        {markets.map(({ symbol, price, own }) => (
          <tr key={symbol} data-moves={symbol}>
            <th scope="row">{symbol}</th>
            {MOVES.map((move) => (
              <td key={move} class="number">
                {price === undefined ? "–" : usdc(profitAfter(own, price, move))}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="note">
        Profit and loss on the open bets if the price moves so far at once and then stays, USDC.
      </p>
    </section>
  );
}

const percent = (move: number) =>
  move === 0 ? "0 %" : `${move > 0 ? "+" : "−"}${Math.abs(100 * move)} %`;

interface HeatMapProps {
  symbol: string;
  theses: readonly Thesis[];
  nowMs: number;
}

function HeatMap({ symbol, theses, nowMs }: HeatMapProps) {
  const grid = exposureGrid(theses, nowMs);
  if (grid === undefined) return null;
  const { cells, low, high, fromMs, toMs } = grid;
  const most = Math.max(...cells.flat());
  const range = `${formatQuotePrice(low)} to ${formatQuotePrice(high)}`;
  return (
    <figure class="line-chart">
      <figcaption>
        {symbol}, {range}: at most <strong>{usdc(-most)}</strong>
      </figcaption>
      <p class="note">{formatQuotePrice(high)}</p>
      <svg
        viewBox={`0 0 ${cells[0]?.length ?? 0} ${cells.length}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Loss of ${symbol} by price and time: at most ${usdc(most)} USDC, ${range}`}
      >
        {cells.flatMap((row, y) =>
          row.map((loss, x) => (
            <rect
              key={`${x} ${y}`}
              class="heat"
              {...{ x, y }}
              width="1"
              height="1"
              opacity={loss / most}
            />
          ))
        )}
      </svg>
      <p class="note row">
        <span>{formatQuotePrice(low)}, now</span>
        <span>{formatTime((fromMs + toMs) / 2)}</span>
        <span>{formatTime(toMs)}</span>
      </p>
    </figure>
  );
}
