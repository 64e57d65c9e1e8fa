/** A point of a {@link Curve}. */
export interface CurvePoint {
  x: number;
  y: number;
}

interface CurveProps {
  /** Description for screen readers. */
  label: string;
  points: readonly CurvePoint[];
  /** Where a dashed line is drawn. */
  mark: number;
}

/** The lowest and the highest value of a curve and its mark. */
export function rangeOf(points: readonly CurvePoint[], mark: number): [low: number, high: number] {
  const ys = [mark, ...points.map(({ y }) => y)];
  return [Math.min(...ys), Math.max(...ys)];
}

/** A line with steps, where a value lasts until the next one. It is stretched to its place. */
export function Curve({ label, points, mark }: CurveProps) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [low, high] = rangeOf(points, mark);
  const toX = (x: number) =>
    last.x === first.x ? "100" : (100 * (x - first.x) / (last.x - first.x)).toFixed(1);
  const toY = (y: number) => high === low ? "50" : (100 * (high - y) / (high - low)).toFixed(1);
  const steps = points.map(({ x, y }) => `H${toX(x)} V${toY(y)}`);
  return (
    <svg viewBox="0 -4 100 108" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="mark" d={`M0 ${toY(mark)} H100`} />
      <path class="value" d={`M0 ${toY(first.y)} ${steps.join(" ")}`} />
    </svg>
  );
}
