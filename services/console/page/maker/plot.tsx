import { scaleLinear } from "d3-scale";
import type { ComponentChildren } from "preact";
import { formatGain, fromNumber, toNumber } from "../format.ts";

/** A profit in USDC with 6 decimals, from a position in percent of the width on. */
export interface Step {
  at: number;
  profit: bigint;
}

/** A labelled position, in percent of the width or height. */
interface Tick {
  at: number;
  text: string;
}

interface PlotProps {
  /** Description for screen readers. */
  label: string;
  /** Below. */
  xTicks?: readonly Tick[];
  /** At the right, from the top. */
  yTicks: readonly Tick[];
  /** Drawn over the grid, in percent of width and height. */
  children: ComponentChildren;
}

/** A drawing over a grid, which is labelled at the right and below. */
export function Plot({ label, xTicks, yTicks, children }: PlotProps) {
  return (
    <div class="plot">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={label}>
        {xTicks?.map(({ at }) => <path key={at} class="grid" d={`M${at} 0 V100`} />)}
        {yTicks.map(({ at }) => <path key={at} class="grid" d={`M0 ${at} H100`} />)}
        {children}
      </svg>
      <p class="y-ticks" aria-hidden="true">
        {yTicks.map(({ at, text }) => <span key={at} style={{ top: `${at}%` }}>{text}</span>)}
      </p>
      {xTicks && (
        <p class="x-ticks" aria-hidden="true">
          {xTicks.map(({ at, text }) => (
            <span key={at} class={at < 5 ? "first" : undefined} style={{ left: `${at}%` }}>
              {text}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

interface ProfitPlotProps extends Pick<PlotProps, "label"> {
  /** The profit left of the first step. */
  start: bigint;
  steps: readonly Step[];
  ticks: readonly Tick[];
  /** Where a vertical line is. */
  mark?: number | undefined;
}

const tickText = (usdc: number) => formatGain(fromNumber(usdc)).replace(".00", "");

/** Profits in USDC as steps. */
export function ProfitPlot({ label, start, steps, ticks, mark }: ProfitPlotProps) {
  const profits = [start, ...steps.map(({ profit }) => profit)].map(toNumber);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const path = steps.map(({ at, profit }) => `H${at} V${toY(toNumber(profit))}`);
  const yTicks = toY.ticks(4).map((usdc) => ({ at: toY(usdc), text: tickText(usdc) }));
  return (
    <Plot label={label} xTicks={ticks} yTicks={yTicks}>
      <path class="mark" d={`M0 ${toY(0)} H100`} />
      {mark !== undefined && <path class="mark" d={`M${mark} 0 V100`} />}
      <path class="value" d={`M0 ${toY(toNumber(start))} ${path.join(" ")} H100`} />
    </Plot>
  );
}
