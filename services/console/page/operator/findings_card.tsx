import { Card, Words } from "../parts/parts.tsx";
import type { ServiceState } from "../data/service_watch.ts";
import { followingText, isFolded } from "./causes.ts";
import { type Finding, type FirstSeen, firstSeenText, runbookOf, verdictOf } from "./finding.ts";

interface FindingsProps {
  findings: readonly Finding[];
  firstSeen: FirstSeen;
  states: readonly ServiceState[];
  /** Whether no service answers. */
  isCutOff: boolean;
}

/** Present problems of the services. */
export function Findings({ findings, firstSeen, states, isCutOff }: FindingsProps) {
  const asking = isCutOff
    ? [
      "lost",
      "✕ This page reaches no service. Check your own connection first. If it works, all services " +
      "have stopped, or something between them and you has.",
    ]
    : ["note", "Asking the services …"];
  const isKnown = states.every(({ presence }) => presence !== "unknown");
  const following = findings.filter(isFolded);
  const first = findings.filter((finding) => !isFolded(finding));
  const [style, text] = findings.length > 0
    ? verdictOf(findings)
    : isKnown
    ? ["won", "✓ All services below work."]
    : asking;
  return (
    <Card title={findings.length === 0 ? "Health" : "What is wrong"}>
      <p class={style} role="status">{text}</p>
      <FindingList findings={first} firstSeen={firstSeen} />
      {following.length > 0 && (
        <details>
          <summary>{followingText(following)}</summary>
          <FindingList findings={following} firstSeen={firstSeen} />
        </details>
      )}
    </Card>
  );
}

const Severity = ({ severity }: Pick<Finding, "severity">) =>
  severity === "critical"
    ? <span class="lost">✕ Critical</span>
    : <span class="warning">▲ Warning</span>;

type FindingListProps = Pick<FindingsProps, "findings" | "firstSeen">;

function FindingList({ findings, firstSeen }: FindingListProps) {
  return (
    <ul>
      {findings.map((finding) => (
        <FindingItem
          key={finding.service + finding.chapter}
          finding={finding}
          firstSeen={firstSeen}
        />
      ))}
    </ul>
  );
}

interface FindingItemProps extends Pick<FindingsProps, "firstSeen"> {
  finding: Finding;
}

function FindingItem({ finding, firstSeen }: FindingItemProps) {
  const { service, severity, text, effect, details, firstStep, chapter } = finding;
  return (
    <li class="finding" data-severity={severity}>
      <p>
        <Severity severity={severity} /> <strong>{service}: {text}</strong>{" "}
        <span class="note">seen since {firstSeenText(firstSeen, service, chapter)}</span>
      </p>
      {effect && <p>Effect: {effect}.</p>}
      {details.map((detail) => <p key={detail} class="note">{detail}</p>)}
      <p>
        <strong>Do first:</strong> <Words text={firstStep} />
      </p>
      <p>
        <a href={runbookOf(chapter)} target="_blank">Runbook: {chapter}</a>
      </p>
    </li>
  );
}
