import { Curve, type CurvePoint, rangeOf } from "../curve.tsx";

interface LineChartProps {
  /** Description for screen readers. */
  label: string;
  points: readonly CurvePoint[];
  /** Where a dashed line is drawn, with its name. */
  mark: { y: number; label: string };
  format(y: number): string;
  formatX(x: number): string;
}

/** A curve with its newest value, its scale and its times. */
export function LineChart({ label, points, mark, format, formatX }: LineChartProps) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [low, high] = rangeOf(points, mark.y);
  return (
    <figure class="line-chart">
      <figcaption>
        {label} <strong>{format(last.y)}</strong>
      </figcaption>
      <div class="plot">
        <Curve
          points={points}
          mark={mark.y}
          label={`${label}: from ${format(first.y)} to ${format(last.y)}, between ${
            format(low)
          } and ${format(high)}; ${mark.label} at ${format(mark.y)}`}
        />
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
