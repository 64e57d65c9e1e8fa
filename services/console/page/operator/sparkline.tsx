import { isBeyond } from "../../../../lib/problems/mod.ts";
import type { Trend } from "../data/trends.ts";
import { formatTime } from "../format.ts";
import { formatValue } from "./figures.ts";

/** Size in units of the drawing. */
const [WIDTH, HEIGHT] = [60, 20];

/** A figure that has an alert: its series with the bound as a dashed line, and its newest value. */
export function Sparkline({ trend: { problem, values, changedAtMs } }: { trend: Trend }) {
  const { title, bound, isFlag } = problem;
  const newest = values.at(-1) ?? 0;
  const { op, limit } = bound;
  const [low, high] = [Math.min(limit, ...values), Math.max(limit, ...values)];
  const toY = (value: number) =>
    high === low ? HEIGHT / 2 : (1 + (HEIGHT - 2) * (high - value) / (high - low)).toFixed(1);
  const drawn = values.length === 1 ? [newest, newest] : values; // a first look is a line, too
  const toX = (index: number) => (WIDTH * index / (drawn.length - 1)).toFixed(1);
  const isWrong = isBeyond(newest, bound);
  const sign = { ">": "above ", "<": "below ", "==": isFlag ? "if " : "at " }[op];
  return (
    <>
      <dt>
        {title}
        <span class="detail">
          alert {sign + formatValue(limit, problem)}
          {changedAtMs !== undefined && ` · changed ${formatTime(changedAtMs)}`}
        </span>
      </dt>
      <dd class="sparkline">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          width={WIDTH}
          height={HEIGHT}
          role="img"
          aria-label={`from ${formatValue(Math.min(...values), problem)} to ${
            formatValue(Math.max(...values), problem)
          } in the last minutes`}
        >
          <path class="mark" d={`M0 ${toY(limit)} H${WIDTH}`} />
          <path
            class="value"
            d={`M${drawn.map((value, index) => `${toX(index)} ${toY(value)}`).join(" L")}`}
          />
        </svg>
        <span class={isWrong ? "lost" : undefined}>
          {isWrong && "✕ "}
          {formatValue(newest, problem)}
        </span>
      </dd>
    </>
  );
}
