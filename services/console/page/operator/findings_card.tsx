import { Card, NotifyButton, Words } from "../parts/parts.tsx";
import type { ServiceState } from "../data/service_watch.ts";
import { formatTime } from "../parts/format.ts";
import { followingText, isFolded } from "./causes.ts";
import {
  type Finding,
  noProblemText,
  runbookOf,
  START_CHAPTER,
  type StartedFinding,
  startText,
  verdictOf,
} from "./finding.ts";
import { ENDED_MAX, type SeenProblem } from "./problem_times.ts";

interface FindingsProps {
  findings: readonly StartedFinding[];
  states: readonly ServiceState[];
  /** What answers if no service does: the page's own server, or nothing. */
  cutOff: "page" | "nothing" | undefined;
  announce(text: string): void;
}

/** Present problems of the services. */
export function Findings({ findings: all, states, cutOff, announce }: FindingsProps) {
  const findings = all.filter(({ isJudged }) => isJudged);
  const asking = cutOff === undefined
    ? ["note", "Asking the services …"]
    : cutOff === "nothing"
    ? ["note", "This page reaches no service. Check your own connection first."]
    : [
      "lost",
      "✕ This page reaches no service, but its own server answers: all services have stopped, or " +
      "something between them and you has.",
    ];
  const isKnown = findings.length === all.length &&
    states.every(({ presence }) => presence !== "unknown");
  const following = findings.filter(isFolded);
  const first = findings.filter((finding) => !isFolded(finding));
  const [style, text] = findings.length > 0
    ? verdictOf(findings)
    : isKnown
    ? ["won", noProblemText(states.map(({ name }) => name))]
    : asking;
  return (
    <Card
      title={findings.length === 0 ? "Health" : "What is wrong"}
      note={
        <NotifyButton
          label="Notify me of critical problems"
          granted="You will be notified of critical problems while this view is open in a hidden tab."
          denied="This browser does not allow this page to notify you of critical problems."
          announce={announce}
        />
      }
    >
      <p class={style} role="status">{text}</p>
      {cutOff === "page" && (
        <p>
          To start them:{" "}
          <a href={`/runbook/${encodeURIComponent(START_CHAPTER)}`} target="_blank">
            {START_CHAPTER}
          </a>
        </p>
      )}
      <FindingList findings={first} states={states} />
      {following.length > 0 && (
        <details>
          <summary>{followingText(findings, states)}</summary>
          <FindingList findings={following} states={states} />
        </details>
      )}
    </Card>
  );
}

/** Problems that have ended, the last one first. */
export function Ended({ problems }: { problems: readonly SeenProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <Card title="Ended while this view was open" note={`the last ${ENDED_MAX} at most`}>
      <ul>
        {problems.map(({ service, chapter, worst, sinceMs, mayBeOlder, seenAtMs }) => (
          <li key={`${service} ${chapter} ${seenAtMs}`}>
            <Severity severity={worst.severity} /> {service}: {worst.text}{" "}
            <span class="note">
              {mayBeOlder && "before "}
              {formatTime(sinceMs)} – {formatTime(seenAtMs)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const Severity = ({ severity }: Pick<Finding, "severity">) =>
  severity === "critical"
    ? <span class="lost">✕ Critical</span>
    : <span class="warning">▲ Warning</span>;

function FindingList({ findings, states }: Pick<FindingsProps, "findings" | "states">) {
  const urls = new Map(states.map(({ name, url }) => [name, url]));
  return (
    <ul>
      {findings.map((finding) => (
        <FindingItem
          key={finding.service + finding.chapter}
          {...finding}
          url={urls.get(finding.service) ?? ""}
        />
      ))}
    </ul>
  );
}

function FindingItem({ url, ...finding }: StartedFinding & { url: string }) {
  const { service, severity, text, effect, details, firstStep, chapter } = finding;
  return (
    <li class="finding" data-severity={severity}>
      <p>
        <Severity severity={severity} /> <strong>{service}: {text}</strong>{" "}
        <span class="note">{startText(finding)}</span>
      </p>
      {effect && <p>Effect: {effect}.</p>}
      {details.map((detail) => <p key={detail} class="note">{detail}</p>)}
      <p>
        <strong>Do first:</strong> <Words text={firstStep} url={url} />
      </p>
      <p>
        <a href={runbookOf(finding)} target="_blank">Runbook: {chapter}</a>
      </p>
    </li>
  );
}
