import { scaleLinear } from "d3-scale";
import { useSignal } from "@preact/signals";
import type { ComponentChildren, TargetedPointerEvent } from "preact";
import { useRef } from "preact/hooks";
import { clamp, formatProfit, fromNumber, toNumber } from "./format.ts";

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
  /** The values at a position in percent of the width. */
  readAt?(at: number): string;
}

/**
 * A drawing over a grid, which is labelled at the right and below, and is read at the pointer or
 * with keys.
 */
export function Plot({ label, xTicks, yTicks, children, readAt }: PlotProps) {
  const position = useSignal<number | undefined>(undefined);
  const slider = useRef<HTMLInputElement>(null);
  const read = readAt && position.value;
  const clear = () => position.value = undefined;
  const followPointer = ({ clientX, currentTarget }: TargetedPointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    position.value = clamp(100 * (clientX - left) / width, 0, 100);
  };
  return (
    <div class="plot">
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onPointerDown={(event) => {
          followPointer(event);
          slider.current?.focus({ preventScroll: true }); // what is read stays until it loses it
        }}
        onMouseDown={(event) => event.preventDefault()} // it would take the focus away
        onPointerMove={followPointer}
        onPointerLeave={({ pointerType }) => pointerType === "mouse" && clear()}
        onPointerCancel={clear}
      >
        {xTicks?.map(({ at }) => <path key={at} class="grid" d={`M${at} 0 V100`} />)}
        {yTicks.map(({ at }) => <path key={at} class="grid" d={`M0 ${at} H100`} />)}
        {children}
        {read !== undefined && <path class="mark" d={`M${read} 0 V100`} />}
      </svg>
      {readAt && (
        <input
          ref={slider}
          type="range"
          class="probe"
          aria-label="Value at a position"
          aria-valuetext={readAt(read ?? 50)}
          value={read ?? 50}
          step="0.5"
          onInput={({ currentTarget }) => position.value = currentTarget.valueAsNumber}
          onBlur={clear}
        />
      )}
      {readAt && read !== undefined && (
        <span
          class="reading"
          aria-hidden="true"
          style={{ left: `${read}%`, transform: `translateX(-${read}%)` }}
        >
          {readAt(read)}
        </span>
      )}
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
  /** The price or time at a position in percent of the width. */
  nameAt(at: number): string;
}

const tickText = (usdc: number) => formatProfit(fromNumber(usdc)).replace(".00", "");

/** Profits in USDC as steps. */
export function ProfitPlot({ label, start, steps, ticks, mark, nameAt }: ProfitPlotProps) {
  const profits = [start, ...steps.map(({ profit }) => profit)].map(toNumber);
  const toY = scaleLinear([Math.min(0, ...profits), Math.max(0, ...profits)], [97, 3]).nice(4);
  const path = steps.map(({ at, profit }) => `H${at} V${toY(toNumber(profit))}`);
  const yTicks = toY.ticks(4).map((usdc) => ({ at: toY(usdc), text: tickText(usdc) }));
  const profitAt = (at: number) => steps.findLast((step) => step.at <= at)?.profit ?? start;
  return (
    <Plot
      label={label}
      xTicks={ticks}
      yTicks={yTicks}
      readAt={(at) => `${nameAt(at)}: ${formatProfit(profitAt(at))}`}
    >
      <path class="mark" d={`M0 ${toY(0)} H100`} />
      {mark !== undefined && <path class="mark" d={`M${mark} 0 V100`} />}
      <path class="value" d={`M0 ${toY(toNumber(start))} ${path.join(" ")} H100`} />
    </Plot>
  );
}
