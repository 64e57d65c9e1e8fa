import { isBeyond } from "../../../../lib/problems/mod.ts";
import { Curve } from "../curve.tsx";
import type { Trend } from "../data/trends.ts";
import { formatValue } from "./figures.ts";

/** A figure that has an alert: its newest value and its bound, with a curve if it has changed. */
export function Sparkline({ trend: { problem, values } }: { trend: Trend }) {
  const { title, bound, isFlag } = problem;
  const newest = values.at(-1) ?? 0;
  const isWrong = isBeyond(newest, bound);
  const sign = { ">": "above ", "<": "below ", "==": isFlag ? "if " : "at " }[bound.op];
  const [lowest, highest] = [Math.min(...values), Math.max(...values)]
    .map((value) => formatValue(value, problem));
  return (
    <div>
      <dt>
        {title} <span class="limit">· alert {sign + formatValue(bound.limit, problem)}</span>
      </dt>
      <dd class="sparkline">
        {lowest !== highest && (
          <Curve
            label={`from ${lowest} to ${highest} in the last minutes`}
            points={values.map((y, x) => ({ x, y }))}
            mark={bound.limit}
          />
        )}
        <span class={isWrong ? "lost" : undefined}>
          {isWrong && "✕ "}
          {formatValue(newest, problem)}
        </span>
      </dd>
    </div>
  );
}
