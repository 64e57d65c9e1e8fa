import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { formatGain, formatQuotePrice, formatTime, toNumber } from "../format.ts";
import { Table } from "../table.tsx";
import { COLUMNS, exposureGrid, MOVES, profitAfter, ROWS } from "./exposure.ts";

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
    <Card title="Exposure by price and time">
      <div class="pair">
        {markets.map((market) => (
          <HeatMap key={market.symbol} {...market} nowMs={model.serverClock.now()} />
        ))}
      </div>
      <Table
        of="moves of the price"
        rows={markets}
        keyOf={({ symbol }) => symbol}
        columns={[
          { name: "If the price moves by", text: ({ symbol }) => symbol },
          ...MOVES.map((move) => ({
            name: percent(move),
            number: ({ price, own }: typeof markets[number]) =>
              price === undefined ? "–" : usdc(profitAfter(own, price, move)),
          })),
        ]}
      />
      <p class="note">
        Profit and loss on the open bets if the price moves so far at once and then stays, USDC.
      </p>
    </Card>
  );
}

const percent = (move: number) =>
  move === 0 ? "0 %" : `${move > 0 ? "+" : "−"}${Math.abs(100 * move)} %`;

interface HeatMapProps {
  symbol: string;
  price: number | undefined;
  own: readonly Thesis[];
  nowMs: number;
}

function HeatMap({ symbol, price, own, nowMs }: HeatMapProps) {
  const grid = exposureGrid(own, nowMs);
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
        viewBox={`0 0 ${COLUMNS} ${ROWS}`}
        shape-rendering="crispEdges"
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
              opacity={0.8 * loss / most}
            />
          ))
        )}
        {price !== undefined && (
          <path class="mark" d={`M0 ${ROWS * (high - price) / (high - low)} H${COLUMNS}`} />
        )}
      </svg>
      <p class="note row">
        <span>{formatQuotePrice(low)}, now</span>
        <span>{formatTime((fromMs + toMs) / 2)}</span>
        <span>{formatTime(toMs)}</span>
      </p>
      <p class="note">Dashed: the price now</p>
    </figure>
  );
}
