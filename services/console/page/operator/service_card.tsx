import { scaleLinear } from "d3-scale";
import { isBeyond } from "../../../../lib/problems/mod.ts";
import { Card, Fact } from "../parts/parts.tsx";
import { TREND_MAX } from "../data/metrics.ts";
import { isAway, isUp, type ServiceState } from "../data/service_watch.ts";
import { durationText, formatTime } from "../parts/format.ts";
import { alertText, figuresText, formatValue, isWarmingUp, usageOf } from "./figures.ts";
import type { Look } from "./finding.ts";

type ServiceCardProps = Look["verdicts"][number] & {
  /** The services of its process. */
  process: readonly ServiceState[];
};

/** The state of a service, its use, and its figures that have an alert. */
export function ServiceCard({ state, style, text, sinceMs, process }: ServiceCardProps) {
  const { name, url, history } = state;
  // Figures of a service that is away are out of date.
  const figures = [...isUp(state) ? history.trends : []].map(([problem, trend]) => {
    const worst = trend.at(-1) ?? NaN; // none is empty
    const warmsUp = isWarmingUp(problem, history);
    return { problem, trend, worst, warmsUp, isBad: isBeyond(worst, problem.bound) && !warmsUp };
  });
  const bad = figures.filter(({ isBad }) => isBad).length;
  return (
    <Card
      title={name}
      note={<span class={style}>{text}</span>}
      data-service={name}
      data-up={isUp(state)}
    >
      <p class="note">
        {[
          url.replace(/^https?:\/\//, ""),
          ...processTexts(state, process),
          `unchanged since ${formatTime(sinceMs)}`,
          isAway(state) && history.latestMs > 0 && `figures of ${formatTime(history.latestMs)}`,
        ].flatMap((text) => text ? text.replaceAll(" ", "\u00a0") : []).join(" · ")}
      </p>
      {history.latestMs > 0 && (
        <dl class="facts" data-old={!isUp(state)}>
          {usageOf(name, history).map(([label, text]) => (
            <Fact key={label} label={label}>{text}</Fact>
          ))}
        </dl>
      )}
      {figures.length > 0 && (
        <details>
          <summary>
            <span class="spoken">{`${name}: `}</span>
            {figuresText(figures.length, bad, style === "won", history.startMs)}
          </summary>
          <dl class="facts">
            {figures.map(({ problem, trend, worst, warmsUp, isBad }) => (
              <Fact key={problem.name} label={`${problem.title} · ${alertText(problem)}`}>
                <span class={isBad ? "lost" : undefined}>
                  {isBad && "✕ "}
                  {formatValue(worst, problem)}
                  {warmsUp && " (warming up)"}
                </span>
                <Trend values={trend} limit={problem.bound.limit} />
              </Fact>
            ))}
          </dl>
        </details>
      )}
    </Card>
  );
}

/** The last values of a figure, the newest at the right, and dashed, where its alert begins. */
function Trend({ values, limit }: { values: readonly number[]; limit: number }) {
  const finite = values.filter(Number.isFinite);
  const toY = scaleLinear([Math.min(0, limit, ...finite), Math.max(limit, ...finite)], [18, 2]);
  const points = finite.map((value, index) =>
    `${TREND_MAX - finite.length + index} ${toY(value).toFixed(1)}`
  );
  return (
    <svg
      class="trend"
      viewBox={`0 0 ${TREND_MAX} 20`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="mark" d={`M0 ${toY(limit)} H${TREND_MAX}`} />
      <path class="value" d={points.length > 0 ? `M${points.join(" L")}` : undefined} />
    </svg>
  );
}

/** The age and memory of its process, shown only for the first service of the process. */
function processTexts({ name, history }: ServiceState, [first]: readonly ServiceState[]): string[] {
  const { startedAtMs } = history.latest;
  const memory = history.latest.sum("process_resident_memory_bytes");
  if (first === undefined || startedAtMs === undefined || memory === undefined) return [];
  if (first.name !== name) return [`same process as ${first.name}`];
  const runsMs = history.latestMs - startedAtMs;
  return [`runs ${durationText(runsMs)}`, formatValue(memory, { unit: "bytes" })];
}
