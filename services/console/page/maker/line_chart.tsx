/** A point of a {@link LineChart}. */
export interface ChartPoint {
  x: number;
  y: number;
}

interface LineChartProps {
  /** Description for screen readers. */
  label: string;
  points: readonly ChartPoint[];
  /** Where a dashed line is drawn, with its name. */
  mark: { y: number; label: string };
  format(y: number): string;
  formatX(x: number): string;
}

/** Size in units of the drawing; it is stretched to its place. */
const [WIDTH, HEIGHT] = [1_000, 200];

/** A line with steps: a value lasts until the next one. */
export function LineChart({ label, points, mark, format, formatX }: LineChartProps) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const ys = [mark.y, ...points.map(({ y }) => y)];
  const low = Math.min(...ys);
  const high = Math.max(...ys);
  const toX = (x: number) =>
    last.x === first.x ? WIDTH : WIDTH * (x - first.x) / (last.x - first.x);
  const toY = (y: number) => high === low ? HEIGHT / 2 : HEIGHT * (high - y) / (high - low);
  const steps = points.map(({ x, y }) => `H${toX(x).toFixed(1)} V${toY(y).toFixed(1)}`);
  const markY = toY(mark.y).toFixed(1);
  return (
    <figure class="line-chart">
      <figcaption>
        {label} <strong>{format(last.y)}</strong>
      </figcaption>
      <div class="plot">
        <svg
          viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label}: from ${format(first.y)} to ${format(last.y)}, between ${
            format(low)
          } and ${format(high)}; ${mark.label} at ${format(mark.y)}`}
        >
          <path class="mark" d={`M0 ${markY} H${WIDTH}`} />
          <path class="value" d={`M0 ${toY(first.y).toFixed(1)} ${steps.join(" ")}`} />
        </svg>
        <div class="scale" aria-hidden="true">
          <span>{format(high)}</span>
          <span>{high === low ? "" : format(low)}</span>
        </div>
      </div>
      <p class="note row">
        <span>{formatX(first.x)}</span>
        <span>{formatX(last.x)}</span>
      </p>
      <p class="note">Dashed: {mark.label}</p>
    </figure>
  );
}
