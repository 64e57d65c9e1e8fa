import { isBeyond, type Problem } from "../../../../lib/problems/mod.ts";
import { isAway, isUp, type ServiceState } from "../data/service_watch.ts";
import { Fact } from "../fact.tsx";
import { formatDuration, formatTime } from "../format.ts";
import {
  alertText,
  FIGURES,
  figuresText,
  formatValue,
  isWarmingUp,
  useOf,
  worstOf,
} from "./figures.ts";
import { serviceVerdictOf, type StartedFinding } from "./finding.ts";

interface ServiceCardProps {
  state: ServiceState;
  findings: readonly StartedFinding[];
  /** The services of its process. */
  process: readonly ServiceState[];
}

/** The state of a service, its use, and its figures that have an alert. */
export function ServiceCard({ state, findings, process }: ServiceCardProps) {
  const { name, url, history } = state;
  const [style, verdict] = serviceVerdictOf(state, findings);
  // Figures of a service that is away are out of date.
  const figures = (isUp(state) ? FIGURES : []).flatMap((problem) => {
    const worst = worstOf(problem.bound, problem.measure.read(history));
    return worst === undefined ? [] : [{ problem, worst }];
  });
  const isBad = ({ problem, worst }: { problem: Problem; worst: number }) =>
    isBeyond(worst, problem.bound) && !isWarmingUp(problem, history);
  const bad = figures.filter(isBad).length;
  const summary = figuresText(figures.length, bad, style === "won", history.startMs);
  return (
    <article class="card" data-service={name} data-up={isUp(state)}>
      <div class="row">
        <h3>{name}</h3>
        <span class={style}>{verdict}</span>
      </div>
      <p class="note">
        {[
          url.replace(/^https?:\/\//, ""),
          ...processTexts(state, process),
          isAway(state) && history.latestMs > 0 && `last known, ${formatTime(history.latestMs)}`,
        ].flatMap((text) => text ? text.replaceAll(" ", "\u00a0") : []).join(" · ")}
      </p>
      {history.latestMs > 0 && (
        <dl class="facts" data-old={!isUp(state)}>
          {useOf(name, history).map(([label, text]) => (
            <Fact key={label} label={label}>{text}</Fact>
          ))}
        </dl>
      )}
      {figures.length > 0 && (
        <details>
          <summary aria-label={`${name}: ${summary}`}>{summary}</summary>
          <dl class="facts">
            {figures.map((figure) => (
              <AlertFact
                key={figure.problem.name}
                {...figure}
                isBad={isBad(figure)}
                isWarmingUp={isWarmingUp(figure.problem, history)}
              />
            ))}
          </dl>
        </details>
      )}
    </article>
  );
}

interface AlertFactProps {
  problem: Problem;
  worst: number;
  isBad: boolean;
  isWarmingUp: boolean;
}

/** A figure that has an alert, its bound, and whether it exceeds the bound. */
function AlertFact({ problem, worst, isBad, isWarmingUp }: AlertFactProps) {
  const { title, bound } = problem;
  return (
    <div>
      <dt>
        {title} <span class="limit">· {alertText(problem)}</span>
      </dt>
      <dd class={isBad ? "lost" : undefined}>
        {isBad && "✕ "}
        {formatValue(bound.op === ">" ? Math.max(0, worst) : worst, problem)}
        {isWarmingUp && " (warming up)"}
      </dd>
    </div>
  );
}

/** The age and memory of its process, shown only for the first service of the process. */
function processTexts({ name, history }: ServiceState, [first]: readonly ServiceState[]): string[] {
  const startedAtS = history.latest.sum("process_start_time_seconds");
  const memory = history.latest.sum("process_resident_memory_bytes");
  if (first === undefined || startedAtS === undefined || memory === undefined) return [];
  if (first.name !== name) return [`same process as ${first.name}`];
  const runsMs = Date.now() - startedAtS * 1_000;
  return [`runs ${formatDuration(runsMs)}`, formatValue(memory, { unit: "bytes" })];
}
