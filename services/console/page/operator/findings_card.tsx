import { Card } from "../card.tsx";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { formatTime } from "../format.ts";
import { anchorOf, EFFECTS, type Finding, noProblemText } from "./problems.ts";

/** A problem, and when this page first saw it. */
export type TimedFinding = Finding & { sinceMs: number | undefined };

interface FindingsProps {
  findings: readonly TimedFinding[];
  states: readonly ServiceState[];
}

/** The states of all services in one line, and what is wrong with them. */
export function Findings({ findings, states }: FindingsProps) {
  const isKnown = states.every(({ isUp }) => isUp !== undefined);
  const following = findings.filter(({ cause }) => cause !== undefined);
  const first = findings.filter(({ cause }) => cause === undefined);
  const causes = [...new Set(following.flatMap(({ cause }) => cause ?? []))];
  const isAway = (name: ServiceName) => states.some((one) => one.name === name && !one.isUp);
  const criticals = following.filter(({ severity }) => severity === "critical").length;
  return (
    <Card title="What is wrong">
      <ul class="strip" aria-label="States">
        {states.map((state) => {
          const [style, verdict] = verdictOf(state, findings);
          return (
            <li key={state.name}>
              {state.name} <span class={style}>{verdict}</span>
            </li>
          );
        })}
      </ul>
      {findings.length === 0 && (
        <p class={isKnown ? "won verdict" : "note"}>
          {isKnown ? noProblemText(states.map(({ name }) => name)) : "Asking the services …"}
        </p>
      )}
      <FindingList findings={first} />
      {following.length > 0 && (
        <details>
          <summary>
            {following.length} more that may follow{criticals > 0 && `, ${criticals} critical`}:
            {" "}
            {causes.map((name) =>
              isAway(name)
                ? `${name} must be back first (${EFFECTS[name]})`
                : `${name} answers again, and this ends within 20 s if it was the cause`
            ).join("; ")}
          </summary>
          <FindingList findings={following} />
        </details>
      )}
      {findings.length > 0 && (
        <p class="note">
          This page looks at the last minute at most. Alerts wait, and some look back ten minutes:
          their mail may come later, and for what has ended here.
        </p>
      )}
    </Card>
  );
}

function FindingList({ findings }: { findings: readonly TimedFinding[] }) {
  return (
    <ul>
      {findings.map(({ service, severity, text, details, firstStep, chapter, ...times }) => (
        <li key={service + chapter} class="finding" data-severity={severity}>
          <p class="row">
            <span class={severity === "critical" ? "lost" : "warning"}>
              {severity === "critical" ? "✕ Critical" : "▲ Warning"}
            </span>
            <strong>{service}: {text}</strong>
            <span class="spacer" />
            {times.sinceMs !== undefined && (
              <span class="note">
                since {formatTime(times.sinceMs)}
                {times.afterS !== undefined &&
                  `, alert ${times.afterS === 0 ? "at once" : `after ${times.afterS} s`}`}
              </span>
            )}
          </p>
          {details.map((detail, index) => (
            <p key={detail} class={index > 0 ? "note" : undefined}>{detail}</p>
          ))}
          <p>
            <strong>Do first:</strong> {firstStep.replaceAll("`", "")}
          </p>
          <p class="note">
            Runbook: <code>{anchorOf(chapter)}</code>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The state of a service as a sign, a word and a class. */
export function verdictOf(
  { name, isUp, isHealthy, isReady }: ServiceState,
  findings: readonly Finding[],
): [style: string, text: string] {
  if (isUp === undefined) return ["note", "… asking"];
  if (!isUp) return ["lost", "✕ away"];
  if (!isHealthy) return ["lost", "✕ not healthy"];
  if (isReady === false) return ["warning", "▲ not ready"];
  const own = findings.filter(({ service }) => service === name);
  if (own.some(({ severity }) => severity === "critical")) return ["lost", "✕ has a problem"];
  if (own.length > 0) return ["warning", "▲ has a warning"];
  return ["won", isReady === undefined ? "✓ healthy" : "✓ healthy, ready"];
}
