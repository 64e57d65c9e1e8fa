import { useSignal } from "@preact/signals";
import { Card } from "../card.tsx";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { formatDay, formatDuration, formatTime } from "../format.ts";
import { NotifyButton } from "../notify_button.tsx";
import type { ProblemRecord } from "./problem_log.ts";
import { EFFECTS, type Finding, nearTexts, noProblemText, runbookOf } from "./problems.ts";

/** A problem, and the record of it. */
export type RecordedFinding = Finding & { record: ProblemRecord | undefined };

interface FindingsProps {
  findings: readonly RecordedFinding[];
  states: readonly ServiceState[];
  /** Problems that have ended, the last one first. */
  ended: readonly ProblemRecord[];
  announce(text: string): void;
}

/** What is wrong with the services, and what was. */
export function Findings({ findings, states, ended, announce }: FindingsProps) {
  const isKnown = states.every(({ isUp }) => isUp !== undefined);
  const following = findings.filter(({ cause }) => cause !== undefined);
  const first = findings.filter(({ cause }) => cause === undefined);
  const causes = [...new Set(following.flatMap(({ cause }) => cause ?? []))];
  const isAway = (name: ServiceName) => states.some((one) => one.name === name && !one.isUp);
  const near = nearTexts(states);
  const criticals = following.filter(({ severity }) => severity === "critical").length;
  return (
    <Card title={findings.length === 0 ? "Health" : "What is wrong"}>
      {findings.length === 0 && (
        <p class={isKnown ? "won" : "note"}>
          {isKnown ? noProblemText(states.map(({ name }) => name)) : "Asking the services …"}
        </p>
      )}
      {near.length > 0 && <p class="warning">▲ Near an alert: {near.join("; ")}.</p>}
      <FindingList findings={first} states={states} />
      {following.length > 0 && (
        <details>
          <summary>
            {following.length}{" "}
            more that may follow from it{criticals > 0 && ` (${criticals} critical)`}:{" "}
            {causes.map((name) =>
              isAway(name)
                ? `${name} must be back first (${EFFECTS[name]})`
                : `${name} answers again, and what it caused ends by itself within a minute`
            ).join("; ")}
          </summary>
          <FindingList findings={following} states={states} />
        </details>
      )}
      {ended.length > 0 && <Ended records={ended} />}
      <p>
        <NotifyButton
          label="Notify me of critical problems"
          granted="You will be notified of critical problems while this page is hidden."
          announce={announce}
        />
      </p>
    </Card>
  );
}

/** Problems that are over, of which the page names this many at first. */
const ENDED_FIRST = 5;

function Ended({ records }: { records: readonly ProblemRecord[] }) {
  const older = records.slice(ENDED_FIRST);
  return (
    <section aria-label="Ended">
      <h3>Ended</h3>
      <EndedList records={records.slice(0, ENDED_FIRST)} />
      {older.length > 0 && (
        <details>
          <summary>{older.length} earlier</summary>
          <EndedList records={older} />
        </details>
      )}
    </section>
  );
}

const DAY_MS = 86_400_000;

function EndedList({ records }: { records: readonly ProblemRecord[] }) {
  return (
    <ul>
      {records.map(({ key, service, text, sinceMs, lastSeenMs, mayBeOlder }) => (
        <li key={key + sinceMs}>
          <span class="note">
            {(Date.now() - sinceMs < DAY_MS ? formatTime : formatDay)(sinceMs)} –{" "}
            {formatTime(lastSeenMs)} ({mayBeOlder && "at least "}
            {formatDuration(lastSeenMs - sinceMs)})
          </span>{" "}
          {service}: {text}
        </li>
      ))}
    </ul>
  );
}

interface FindingListProps {
  findings: readonly RecordedFinding[];
  states: readonly ServiceState[];
}

function FindingList({ findings, states }: FindingListProps) {
  const urlOf = (service: ServiceName) => states.find(({ name }) => name === service)?.url ?? "";
  return (
    <ul>
      {findings.map((finding) => {
        const { service, severity, text, effect, details, firstStep, commands = [] } = finding;
        const { chapter, afterS, record } = finding;
        return (
          <li key={service + chapter} class="finding" data-severity={severity}>
            <p class="row">
              <span class={severity === "critical" ? "lost" : "warning"}>
                {severity === "critical" ? "✕ Critical" : "▲ Warning"}
              </span>
              <strong>{service}: {text}</strong>
              <span class="spacer" />
              {record !== undefined && (
                <span class="note">
                  {record.mayBeOlder ? "seen since" : "since"} {formatTime(record.sinceMs)}
                  {record.mayBeOlder && ", may be older"}
                  {afterS !== undefined &&
                    `, alert sent ${afterS === 0 ? "at once" : `after ${afterS} s`}`}
                </span>
              )}
            </p>
            {effect && <p>Effect: {effect}.</p>}
            {details.map((detail) => <p key={detail} class="note">{detail}</p>)}
            <p>
              <strong>Do first:</strong> <Step text={firstStep} url={urlOf(service)} />
            </p>
            {commands.length > 0 && (
              <>
                <pre>{commands.join("\n")}</pre>
                <p>
                  <CopyButton text={commands.join("\n")} />
                </p>
              </>
            )}
            <p>
              <a href={runbookOf(chapter)} target="_blank">Runbook: {chapter}</a>
            </p>
          </li>
        );
      })}
    </ul>
  );
}

function CopyButton({ text }: { text: string }) {
  const label = useSignal("Copy the commands");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => label.value = "Copied",
      () => label.value = "Not allowed: select them",
    );
  return <button type="button" onClick={() => void copy()}>{label}</button>;
}

/** A step whose code can be used: a request is a link, a method of the node is a command. */
function Step({ text, url }: { text: string; url: string }) {
  return (
    <>
      {text.split("`").map((part, index) => {
        const [, path] = /^GET (\/[\w/-]+)$/.exec(part) ?? [];
        if (index % 2 === 0) return part;
        if (path !== undefined) {
          return <a key={index} href={url + path} target="_blank">GET {path}</a>;
        }
        return <code key={index}>{/^core_\w+$/.test(part) ? callOf(part, url) : part}</code>;
      })}
    </>
  );
}

/** A command that calls a method of the node. */
const callOf = (method: string, url: string) =>
  `curl -s ${url} -H 'content-type: application/json' ` +
  `-d '{"jsonrpc":"2.0","id":1,"method":"${method}"}'`;

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
