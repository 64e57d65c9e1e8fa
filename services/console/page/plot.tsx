import type { ComponentChildren, HTMLAttributes } from "preact";

/** A labelled position on an axis, in percent from the left or from the top. */
export interface Tick {
  at: number;
  text: string;
}

interface PlotProps extends HTMLAttributes<SVGSVGElement> {
  /** Description for screen readers. */
  label: string;
  xTicks: readonly Tick[];
  yTicks: readonly Tick[];
  /** Drawn in 100 × 100 units, over the grid. */
  children: ComponentChildren;
}

/** A drawing with a grid, and labels of the grid's lines at the right and below. */
export function Plot({ label, xTicks, yTicks, children, ...attributes }: PlotProps) {
  return (
    <div class="plot">
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        {...attributes}
      >
        {xTicks.map(({ at }) => <path key={at} class="grid" d={`M${at} 0 V100`} />)}
        {yTicks.map(({ at }) => <path key={at} class="grid" d={`M0 ${at} H100`} />)}
        {children}
      </svg>
      <p class="y-ticks" aria-hidden="true">
        {yTicks.map(({ at, text }) => <span key={at} style={{ top: `${at}%` }}>{text}</span>)}
      </p>
      <p class="x-ticks" aria-hidden="true">
        {xTicks.map(({ at, text }) => (
          <span key={at} class={at === 0 ? "first" : undefined} style={{ left: `${at}%` }}>
            {text}
          </span>
        ))}
      </p>
    </div>
  );
}
