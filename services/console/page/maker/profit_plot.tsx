import { scaleLinear } from "d3-scale";
import { formatGain, fromNumber, toNumber } from "../format.ts";

/** A profit in USDC with 6 decimals, from a position in percent of the width on. */
export interface Step {
  at: number;
  profit: bigint;
}

interface ProfitPlotProps {
  /** Description for screen readers. */
  label: string;
  /** The profit left of the first step. */
  start: bigint;
  steps: readonly Step[];
  /** Labelled positions, in percent of the width. */
  ticks: readonly { at: number; text: string }[];
  /** Where a vertical line is. */
  mark?: number | undefined;
}

const tickText = (usdc: number) => formatGain(fromNumber(usdc)).replace(".00", "");

/** Profits in USDC as steps over a grid, which is labelled at the right and below. */
export function ProfitPlot({ label, start, steps, ticks, mark }: ProfitPlotProps) {
  const profits = [start, ...steps.map(({ profit }) => profit)].map(toNumber);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const levels = toY.ticks(4);
  const path = steps.map(({ at, profit }) => `H${at} V${toY(toNumber(profit))}`);
  return (
    <div class="plot">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={label}>
        {ticks.map(({ at }) => <path key={at} class="grid" d={`M${at} 0 V100`} />)}
        {levels.map((usdc) => <path key={usdc} class="grid" d={`M0 ${toY(usdc)} H100`} />)}
        <path class="mark" d={`M0 ${toY(0)} H100`} />
        {mark !== undefined && <path class="mark" d={`M${mark} 0 V100`} />}
        <path class="value" d={`M0 ${toY(toNumber(start))} ${path.join(" ")} H100`} />
      </svg>
      <p class="y-ticks" aria-hidden="true">
        {levels.map((usdc) => (
          <span key={usdc} style={{ top: `${toY(usdc)}%` }}>{tickText(usdc)}</span>
        ))}
      </p>
      <p class="x-ticks" aria-hidden="true">
        {ticks.map(({ at, text }) => (
          <span key={at} class={at === 0 ? "first" : undefined} style={{ left: `${at}%` }}>
            {text}
          </span>
        ))}
      </p>
    </div>
  );
}
