import { Card, Words } from "../parts/parts.tsx";
import { formatTime } from "../parts/format.ts";
import { followingText, isFolded } from "./causes.ts";
import { type Finding, type Look, type Seen, verdictOf } from "./finding.ts";

interface FindingsProps extends Look {
  /** Whether no service answers. */
  isCutOff: boolean;
}

/** Present problems of the services. */
export function Findings({ findings, verdicts, isCutOff }: FindingsProps) {
  const asking = isCutOff
    ? [
      "lost",
      "✕ This page reaches no service. Check your own connection first. If it works, all services " +
      "have stopped, or something between them and you has.",
    ]
    : ["note", "Asking the services …"];
  const isKnown = verdicts.every(({ state }) => state.presence !== "unknown");
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
      <FindingList findings={first} />
      {following.length > 0 && (
        <details>
          <summary>{followingText(following)}</summary>
          <FindingList findings={following} />
        </details>
      )}
    </Card>
  );
}

const Severity = ({ severity }: Pick<Finding, "severity">) =>
  severity === "critical"
    ? <span class="lost">✕ Critical</span>
    : <span class="warning">▲ Warning</span>;

function FindingList({ findings }: Pick<FindingsProps, "findings">) {
  return (
    <ul>
      {findings.map((finding) => (
        <FindingItem key={finding.service + finding.chapter} {...finding} />
      ))}
    </ul>
  );
}

function FindingItem(finding: Seen<Finding>) {
  const { service, severity, text, effect, details, firstStep, chapter, sinceMs } = finding;
  return (
    <li class="finding" data-severity={severity}>
      <p>
        <Severity severity={severity} /> <strong>{service}: {text}</strong>{" "}
        <span class="note">seen since {formatTime(sinceMs)}</span>
      </p>
      {effect && <p>Effect: {effect}.</p>}
      {details.map((detail) => <p key={detail} class="note">{detail}</p>)}
      <p>
        <strong>Do first:</strong> <Words text={firstStep} />
      </p>
      <p>
        <a href={`/runbook/${encodeURIComponent(chapter)}`} target="_blank">Runbook: {chapter}</a>
      </p>
    </li>
  );
}
