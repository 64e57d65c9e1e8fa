import { beyondBound, type Problem } from "../../../../lib/problems/mod.ts";
import type { Providers } from "../data/providers.ts";
import type { ServiceState } from "../data/service_watch.ts";
import { Fact } from "../fact.tsx";
import { formatDuration, formatTime } from "../format.ts";
import { figuresOf, formatValue } from "./figures.ts";
import { verdictOf } from "./findings_card.tsx";
import { alertText, exchangeOf, FIGURES, type Finding, isNear, worstOf } from "./problems.ts";

interface ServiceCardProps {
  state: ServiceState;
  findings: readonly Finding[];
  providers: Providers | undefined;
  /** The services of its process. */
  process: readonly ServiceState[];
}

/** What matters of a service: its main figures, and those that are near a bound or beyond it. */
export function ServiceCard({ state, findings, providers, process }: ServiceCardProps) {
  const { name, url, isUp, isReady, version, complaints, history } = state;
  const [style, verdict] = verdictOf(state, findings);
  // Figures of a service that is away say nothing of an alert.
  const figures = (isUp ? FIGURES : []).flatMap((problem) => {
    const worst = worstOf(problem.bound, problem.measure.read(history));
    // What has a value only while it is wrong is among the problems.
    return worst === undefined || problem.bound.limit < 0 ? [] : [{ problem, worst }];
  });
  const [notable, others] = [true, false].map((wanted) =>
    figures.filter(({ problem, worst }) => isNear(worst, problem) === wanted)
      .map(({ problem, worst }) => (
        <AlertFact key={problem.name} {...{ problem, worst, state, providers }} />
      ))
  );
  return (
    <article class="card" data-service={name} data-up={isUp}>
      <div class="row">
        <h3>{name}</h3>
        <span class={style}>{verdict}</span>
      </div>
      {isReady === false && complaints.length > 0 && <p class="warning">{complaints.join("; ")}</p>}
      <p class="note">
        {[
          url.replace(/^https?:\/\//, ""),
          version && `version ${version}`,
          ...processTexts(state, process),
          isUp === false && !history.isEmpty && `last known, ${formatTime(history.latestMs)}:`,
        ].filter(Boolean).join(" · ")}
      </p>
      {!history.isEmpty && (
        <dl class="facts" data-old={isUp === false}>
          {figuresOf(name, history).map(([label, text]) => (
            <Fact key={label} label={label}>{text}</Fact>
          ))}
          {notable}
        </dl>
      )}
      {others !== undefined && others.length > 0 && (
        <details>
          <summary>
            {others.length} {others.length === 1 ? "figure" : "figures"} far from an alert
          </summary>
          <dl class="facts">{others}</dl>
        </details>
      )}
    </article>
  );
}

interface AlertFactProps {
  problem: Problem;
  /** The value nearest to the bound, or farthest beyond it. */
  worst: number;
  state: ServiceState;
  providers: Providers | undefined;
}

/** The newest value of a figure that has an alert, the bound, and what is beyond it. */
function AlertFact({ problem, worst, state: { history }, providers }: AlertFactProps) {
  const { title, bound } = problem;
  const beyond = beyondBound(problem, history);
  const names = new Set(
    beyond.flatMap(({ labels: { provider, market, pair, target } }) =>
      [provider && exchangeOf(provider, providers), market ?? pair ?? target].filter(Boolean)
    ),
  );
  return (
    <div>
      <dt>
        {title} {names.size > 0 && `(${[...names].join(", ")}) `}
        <span class="limit">· {alertText(problem)}</span>
      </dt>
      <dd class={beyond.length > 0 ? "lost" : undefined}>
        {beyond.length > 0 && "✕ "}
        {formatValue(bound.op === ">" ? Math.max(0, worst) : worst, problem)}
      </dd>
    </div>
  );
}

/** How long its process runs, and its memory: that of several services in one is said once. */
function processTexts(state: ServiceState, process: readonly ServiceState[]): string[] {
  const { name, isUp, history } = state;
  const startedAtS = history.latest.sum("process_start_time_seconds");
  const memory = history.latest.sum("process_resident_memory_bytes");
  const [first = state] = process;
  if (!isUp || startedAtS === undefined || memory === undefined) return [];
  if (first.name !== name) return [`same process as ${first.name}`];
  return [
    `runs ${formatDuration(Date.now() - startedAtS * 1_000)}`,
    formatValue(memory, { unit: "bytes" }),
  ];
}
