import { useSignal } from "@preact/signals";
import type { Thesis } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { formatGain, formatQuotePrice, fromNumber, toNumber } from "../format.ts";
import { Plot } from "../plot.tsx";
import { type Column, Table } from "../table.tsx";
import { labelOf } from "../trade/chart_spans.ts";
import {
  COLUMNS,
  endedOf,
  type ExposureGrid,
  exposureGrid,
  isIn,
  MOVES,
  profitAfter,
  ROWS,
  timeScaleOf,
  timeTicksOf,
  type WorstPlace,
} from "./exposure.ts";

const usdc = (amount: number) => formatGain(fromNumber(amount));

/** A market that has open bets. */
interface OpenMarket {
  symbol: string;
  price: number | undefined;
  own: readonly Thesis[];
  grid: ExposureGrid;
}

/** Where in price and time the open bets of each market cost money, and what a move would bring. */
export function Exposure({ model, theses }: { model: PageModel; theses: readonly Thesis[] }) {
  const nowMs = model.serverClock.now();
  const prices = model.feed.latest.peek(); // read with the bets
  const markets = model.markets.list.flatMap(({ symbol, base, quote }): OpenMarket[] => {
    const own = theses.filter((thesis) => thesis.base === base && thesis.quote === quote);
    const price = prices[symbol] && toNumber(prices[symbol].price);
    const grid = exposureGrid(own, nowMs, price);
    return grid === undefined ? [] : [{ symbol, price, own, grid }];
  });
  const most = Math.max(0, ...markets.map(({ grid }) => grid.worst.loss));
  const ended = endedOf(theses, nowMs);
  return (
    <Card title="Exposure by price and time">
      {markets.length === 0 ? <p class="note">No bet is open.</p> : (
        <div class="exposure">
          <div>
            <div class="maps">
              {markets.map((market) => (
                <HeatMap key={market.symbol} {...market} most={most} nowMs={nowMs} />
              ))}
            </div>
            <p class="note">
              What bets lose if the price is in their boxes at that time: 0{" "}
              <span class="heat-key" aria-hidden="true" /> {usdc(-most)}{" "}
              USDC. Dashed: the price now. Point at a place for its figures. Time is logarithmic:
              the next minute is wide.
            </p>
          </div>
          <Moves markets={markets} nowMs={nowMs} />
        </div>
      )}
      {ended.count > 0 && (
        <p class="note">
          {ended.count} that have ended and are not settled are not in it: {usdc(-ended.loss)}{" "}
          if their users won, {usdc(ended.gain)} if not.
        </p>
      )}
    </Card>
  );
}

/** What the open bets bring if prices move. */
function Moves({ markets, nowMs }: { markets: readonly OpenMarket[]; nowMs: number }) {
  const profitOf = (of: readonly OpenMarket[], move: number) =>
    of.reduce(
      (sum, { price = NaN, own }) => sum + profitAfter(own, price, move, nowMs),
      0,
    );
  const columnOf = (name: string, of: readonly OpenMarket[]): Column<number> => ({
    name,
    number: (move) => <Gain of={profitOf(of, move)} />,
  });
  return (
    <div>
      <Table
        of="moves of the price"
        rows={MOVES}
        keyOf={(move) => move}
        columns={[
          { name: "Move", text: percent },
          ...(markets.length > 1 ? [columnOf("All", markets)] : []),
          ...markets.map((market) => columnOf(market.symbol, [market])),
        ]}
      />
      <p class="note">
        Profit and loss on the open bets, USDC, if all prices move so far at once and then stay.
      </p>
    </div>
  );
}

/** Whole USDC: it is an estimate. */
function Gain({ of }: { of: number }) {
  if (Number.isNaN(of)) return <>–</>;
  const text = usdc(Math.round(of)).replace(".00", "");
  return <span class={of < 0 ? "lost" : undefined}>{text}</span>;
}

const percent = (move: number) =>
  move === 0 ? "0 %" : `${move > 0 ? "+" : "−"}${Math.abs(100 * move)} %`;

interface HeatMapProps extends Omit<OpenMarket, "own"> {
  /** The largest loss of all markets: the darkest colour. */
  most: number;
  nowMs: number;
}

function HeatMap({ symbol, grid, price, most, nowMs }: HeatMapProps) {
  const { cells, low, high, timesMs, worst } = grid;
  const pointed = useSignal<[row: number, column: number] | undefined>(undefined);
  const allMs = timesMs[COLUMNS]! - nowMs;
  const toX = timeScaleOf(allMs);
  const toY = scaleLinear([low, high], [100, 0]);
  const point = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
    const at = (share: number, count: number) =>
      Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    pointed.value = [
      at((event.clientY - top) / height, ROWS),
      at((event.clientX - left) / width, COLUMNS),
    ];
  };
  const [row, column] = pointed.value ?? [];
  const text = row === undefined || column === undefined
    ? describeWorst(worst, price, nowMs)
    : `up to ${usdc(-(cells[row]?.[column] ?? 0))} at ` +
      `${formatQuotePrice(toY.invert(100 * (row + 1) / ROWS))} – ` +
      `${formatQuotePrice(toY.invert(100 * row / ROWS))}, ${describeTime(timesMs[column]!, nowMs)}`;
  return (
    <figure class="chart-figure">
      <figcaption>
        <strong>{symbol}</strong>
        <span class={row === undefined ? "detail" : "detail pointed-text"}>{text}</span>
      </figcaption>
      <Plot
        class="heat-map"
        label={`${symbol} by price and time: ${describeWorst(worst, price, nowMs)}`}
        shape-rendering="crispEdges"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => pointed.value = undefined}
        xTicks={timeTicksOf(allMs).map((ms) => ({
          at: toX(ms),
          text: ms === 0 ? "0" : labelOf(ms),
        }))}
        yTicks={toY.ticks(4).map((tick) => ({ at: toY(tick), text: formatQuotePrice(tick) }))}
      >
        {cells.flatMap((losses, y) =>
          losses.map((loss, x) =>
            loss > 0 && (
              <rect
                key={`${x} ${y}`}
                class="heat"
                x={100 * x / COLUMNS}
                y={100 * y / ROWS}
                width={100 / COLUMNS}
                height={100 / ROWS}
                fill-opacity={(0.1 + 0.9 * loss / most).toFixed(3)}
              />
            )
          )
        )}
        {price !== undefined && <path class="mark" d={`M0 ${toY(price)} H100`} />}
        {row !== undefined && column !== undefined && (
          <rect
            class="pointed"
            x={100 * column / COLUMNS}
            y={100 * row / ROWS}
            width={100 / COLUMNS}
            height={100 / ROWS}
          />
        )}
      </Plot>
    </figure>
  );
}

/** Where most is lost: exact prices, and whether that of now is among them. */
function describeWorst(worst: WorstPlace, price: number | undefined, nowMs: number): string {
  const { loss, low, high, fromMs } = worst;
  const isHere = price !== undefined && isIn(price, worst);
  return `most: ${usdc(-loss)} at ${formatQuotePrice(low)} – ${formatQuotePrice(high)}, ` +
    describeTime(fromMs, nowMs) + (isHere ? "; the price is inside" : "");
}

const describeTime = (timeMs: number, nowMs: number) =>
  timeMs <= nowMs ? "now" : `in ${labelOf(timeMs - nowMs)}`;
