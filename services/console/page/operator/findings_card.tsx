import { useSignal } from "@preact/signals";
import { systemClock } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { ServiceState } from "../data/service_watch.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import { formatDay, formatDuration, formatTime } from "../format.ts";
import { NotifyButton } from "../notify_button.tsx";
import { Table } from "../table.tsx";
import { useNow } from "../use_now.ts";
import { Words } from "../words.tsx";
import { causeText, type Episode } from "./problem_log.ts";
import {
  alertTimeText,
  deadlineText,
  type Finding,
  followingText,
  isAway,
  noProblemText,
  runbookOf,
  startText,
  verdictOf,
} from "./finding.ts";
import { START_CHAPTER } from "./absence.ts";
import { CARRY } from "./repairs.ts";

interface FindingsProps {
  findings: readonly Finding[];
  states: readonly ServiceState[];
  /** This device has no network. */
  isOffline: boolean;
  announce(text: string): void;
}

/** Present problems of the services. */
export function Findings({ findings, states, isOffline, announce }: FindingsProps) {
  const asking = isOffline
    ? "You are offline: nothing is known of the services."
    : "Asking the services …";
  const isKnown = states.every(({ isUp }) => isUp !== undefined);
  const following = findings.filter(({ cause }) => cause !== undefined);
  const first = findings.filter(({ cause }) => cause === undefined);
  return (
    <Card
      title={findings.length === 0 ? "Health" : "What is wrong"}
      note={
        <NotifyButton
          label="Notify me of critical problems"
          granted="You will be notified of critical problems while this page is hidden."
          denied="This browser does not allow this page to notify you of critical problems."
          announce={announce}
        />
      }
    >
      {findings.length === 0 && (
        <p class={isKnown ? "won" : "note"}>
          {isKnown ? noProblemText(states.map(({ name }) => name)) : asking}
        </p>
      )}
      {findings.length > 0 && <Verdict findings={findings} />}
      <FindingList findings={first} states={states} />
      {following.length > 0 && (
        <details>
          <summary>
            {followingText(findings, states)}
            <Deadline endsMs={following.flatMap(({ deadlinesMs = [] }) => deadlinesMs)} />
          </summary>
          <FindingList findings={following} states={states} />
        </details>
      )}
    </Card>
  );
}

function Verdict({ findings }: Pick<FindingsProps, "findings">) {
  const [style, text] = verdictOf(findings);
  return <p class={style}>{text}</p>;
}

/** Number of past problems that are listed at first. */
const ENDED_FIRST = 5;

/** Problems that have ended, the last one first; what was too short for an alert is folded. */
export function Ended({ records }: { records: readonly Episode[] }) {
  if (records.length === 0) return null;
  const blips = records.filter(({ isBlip }) => isBlip);
  return (
    <Card title="Ended">
      <EndedTable of="ended problems" rows={records.filter(({ isBlip }) => !isBlip)} />
      {blips.length > 0 && (
        <details class="blips">
          <summary>{blips.length} too short for an alert</summary>
          <EndedTable of="short problems" rows={blips} />
        </details>
      )}
    </Card>
  );
}

function EndedTable({ of, rows }: { of: string; rows: readonly Episode[] }) {
  if (rows.length === 0) return null;
  const startOf = ({ sinceMs }: Episode) =>
    (Date.now() - sinceMs < DAY_MS ? formatTime : formatDay)(sinceMs);
  return (
    <Table
      {...{ of, rows }}
      first={ENDED_FIRST}
      isCards
      keyOf={({ service, chapter, sinceMs }) => `${service} ${chapter} ${sinceMs}`}
      columns={[
        { name: "Time", text: (one) => `${startOf(one)} – ${formatTime(one.lastMs)}` },
        {
          name: "Lasted",
          text: ({ sinceMs, lastMs, mayBeOlder }) =>
            (mayBeOlder ? "at least " : "") + formatDuration(lastMs - sinceMs),
        },
        { name: "Problem, at its worst", text: ({ service, text }) => `${service}: ${text}` },
        { name: "Cause", text: (one) => causeText(one) },
        {
          name: "Alert",
          text: ({ severity, hasAlerted, afterS }) => (
            <>
              <Severity severity={severity} />
              <span class="detail">
                {hasAlerted ? "fired" : afterS === undefined ? "has no alert" : "too short to fire"}
              </span>
            </>
          ),
        },
      ]}
    />
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
      {findings.map((one) => (
        <FindingItem key={one.service + one.chapter} {...one} url={urls.get(one.service) ?? ""} />
      ))}
    </ul>
  );
}

function FindingItem({ url, ...finding }: Finding & { url: string }) {
  const { service, severity, text, effect, harm, details, firstStep, hint, chapter } = finding;
  const { sinceMs = 0, deadlinesMs = [], commandsByWay = {}, commands = [] } = finding;
  const { lastResort = [] } = finding;
  const nowMs = useNow(systemClock, 1_000);
  return (
    <li class="finding" data-severity={severity}>
      <p>
        <Severity severity={severity} /> <strong>{service}: {text}</strong>{" "}
        <span class="note">
          {startText(finding, sinceMs)}
          {alertTimeText(finding, sinceMs, nowMs)}
        </span>
      </p>
      {effect && <p>Effect: {effect}{harm && `: ${harm}`}.</p>}
      <Deadline endsMs={deadlinesMs} isAway={isAway(finding)} />
      {details.map((detail) => <p key={detail} class="note">{detail}</p>)}
      <p>
        <strong>Do first:</strong> <Words text={firstStep} url={url} />
      </p>
      {Object.entries(commandsByWay).map(([label, command]) => (
        <p key={label}>
          {label}:{" "}
          <code class="command">
            <Command text={command} />
          </code>{" "}
          <CopyButton text={command} />
        </p>
      ))}
      {isAway(finding) && finding.commandsByWay && (
        <p>
          From a terminal, if it has ended: start it as you started it, options and all. Chapter
          {" "}
          <a href={runbookOf({ chapter: START_CHAPTER, service })} target="_blank">
            {START_CHAPTER}
          </a>
        </p>
      )}
      {commands.length > 0 && (
        <pre>{commands.flatMap((text) => [<Command key={text} text={text} />, "\n"])}</pre>
      )}
      {commands.length > 0 && (
        <p>
          <CopyButton text={commands.join("\n")} />{" "}
          <CopyButton
            text={commands.map((text) => `${text} ${CARRY}`).join("\n")}
            label={`Copy with ${CARRY}`}
          />
        </p>
      )}
      {hint && <p class="note">{hint}</p>}
      {lastResort.length > 0 && (
        <>
          <pre>{lastResort.flatMap((text) => [<Command key={text} text={text} />, "\n"])}</pre>
          <p>
            <CopyButton text={lastResort.join("\n")} label="Copy with these prices" />
          </p>
        </>
      )}
      <p>
        <a href={runbookOf(finding)} target="_blank">Runbook: {chapter}</a>
      </p>
    </li>
  );
}

/** A command that breaks between its words only, if they fit a line; browsers break at hyphens. */
function Command({ text }: { text: string }) {
  const words = text.split(" ");
  return <>{words.flatMap((word, at) => [<span key={at} class="word">{word}</span>, " "])}</>;
}

interface DeadlineProps {
  endsMs: readonly number[];
  /** The service has to be started first. */
  isAway?: boolean;
}

/** The time until the next bet ends. */
function Deadline({ endsMs, isAway = false }: DeadlineProps) {
  const nowMs = useNow(systemClock, 1_000);
  const text = deadlineText(endsMs, nowMs);
  if (text === undefined) return null;
  return (
    <span class="detail">
      <strong class="lost">{text.left} left</strong> to{" "}
      {isAway ? "start it and " : ""}fill in prices: {text.next}.
    </span>
  );
}

/** How long a copy button shows the result. */
const COPIED_MS = 3_000;

interface CopyButtonProps {
  text: string;
  label?: string;
}

function CopyButton({ text, label = "Copy" }: CopyButtonProps) {
  const result = useSignal("");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => result.value = "Copied",
      () => result.value = "Not allowed: select them",
    ).then(() => systemClock.after(COPIED_MS, () => result.value = ""));
  return <button type="button" onClick={() => void copy()}>{result.value || label}</button>;
}
