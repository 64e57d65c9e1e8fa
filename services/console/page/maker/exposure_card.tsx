import type { Thesis } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { formatDuration, formatGain, formatQuotePrice, formatTime, toNumber } from "../format.ts";
import { type Column, Table } from "../table.tsx";
import { COLUMNS, exposureGrid, MOVES, placeOf, profitAfter, ROWS } from "./exposure.ts";

const usdc = (amount: number) => formatGain(BigInt(Math.round(amount * 1e6)));

/** A gain in words, losses in their colour. */
const Gain = ({ of }: { of: number }) => <span class={of < 0 ? "lost" : undefined}>{usdc(of)}
</span>;

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
      <div class="tiles">
        {markets.map((market) => (
          <HeatMap key={market.symbol} {...market} nowMs={model.serverClock.now()} />
        ))}
      </div>
      <Table
        of="moves of the price"
        rows={markets.length > 1 ? [...markets, undefined] : markets}
        keyOf={(market) => market?.symbol ?? "all"}
        attributesOf={(market) => ({ class: market === undefined ? "total" : undefined })}
        columns={[
          { name: "If the price moves by", text: (market) => market?.symbol ?? "All markets" },
          ...MOVES.map((move): Column<typeof markets[number] | undefined> => ({
            name: percent(move),
            number: (market) => {
              const gains = (market === undefined ? markets : [market]).map(({ price, own }) =>
                own.length === 0 ? 0 : price === undefined ? NaN : profitAfter(own, price, move)
              );
              const sum = gains.reduce((sum, gain) => sum + gain, 0);
              return Number.isNaN(sum) ? "–" : <Gain of={sum} />;
            },
          })),
        ]}
      />
      <p class="note">
        Profit and loss on the open bets if all prices move so far at once and then stay, USDC.
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
  const { cells, low, high, timesMs, worst } = grid;
  const most = Math.max(...cells.flat());
  const allMs = timesMs[COLUMNS]! - nowMs;
  const ticksMs = TICKS_MS.filter((ms) => Math.abs(placeOf(ms, allMs) - 0.42) < 0.2);
  const priceAt = (row: number) => high - row * (high - low) / ROWS;
  return (
    <figure class="line-chart">
      <figcaption>
        {symbol} <strong>{usdc(-worst)}</strong> at worst, if the price stays
      </figcaption>
      <div class="plot">
        <svg
          viewBox={`0 0 ${COLUMNS} ${ROWS}`}
          shape-rendering="crispEdges"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${symbol} by price and time: at most ${usdc(-most)} USDC at one time, ` +
            `between ${formatQuotePrice(low)} and ${formatQuotePrice(high)}`}
        >
          {cells.flatMap((row, y) =>
            row.map((loss, x) => (
              <rect
                key={`${x} ${y}`}
                class="heat"
                {...{ x, y }}
                width="1"
                height="1"
                fill-opacity={0.8 * loss / most}
              >
                <title>
                  {`${usdc(-loss)} at ${formatQuotePrice(priceAt(y + 1))} to ` +
                    `${formatQuotePrice(priceAt(y))} from ${formatTime(timesMs[x]!)}`}
                </title>
              </rect>
            ))
          )}
          {price !== undefined && (
            <path class="mark" d={`M0 ${ROWS * (high - price) / (high - low)} H${COLUMNS}`} />
          )}
        </svg>
        <div class="scale" aria-hidden="true">
          <span>{formatQuotePrice(high)}</span>
          <span>{formatQuotePrice((low + high) / 2)}</span>
          <span>{formatQuotePrice(low)}</span>
        </div>
        <p class="ticks note" aria-hidden="true">
          <span>now</span>
          {ticksMs.map((ms) => (
            <span key={ms} style={{ left: `${100 * placeOf(ms, allMs)}%` }}>
              {formatDuration(ms).replace(/ 00 (s|min)$/, "")}
            </span>
          ))}
          <span>{formatDuration(allMs)}</span>
        </p>
      </div>
      <p class="note row">
        <span class="legend">
          0 <i aria-hidden="true" /> {usdc(-most)} at one time
        </span>
        <span>Dashed: the price now</span>
      </p>
    </figure>
  );
}

/** Times from now that are named below a picture. */
const TICKS_MS = [60_000, 600_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000];
