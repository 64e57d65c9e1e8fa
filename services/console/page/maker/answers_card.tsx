import { Card } from "../card.tsx";
import type { MetricsHistory } from "../data/metrics.ts";
import { formatAmount, formatShare, formatTime, fromNumber } from "../format.ts";
import { type Column, Table } from "../table.tsx";
import { Words } from "../words.tsx";
import { Folded } from "./folded.tsx";
import {
  type AnswerCount,
  answersTo,
  isSuccess,
  REFUSAL_TEXTS,
  type RequestKind,
  REQUESTS,
  spanOf,
} from "./refusals.ts";

interface AnswersProps {
  history: MetricsHistory;
  startedAtMs: number | undefined;
  /** Risk of the bets refused because of `--max-exposure`, USDC. */
  refusedRisk: number;
}

/** The solver's answers by code, in the last minutes and since its start. */
export function Answers({ history, startedAtMs, refusedRisk }: AnswersProps) {
  const time = startedAtMs === undefined ? "" : ` at ${formatTime(startedAtMs)}`;
  const isUnasked = REQUESTS.every((request) => answersTo(request, history).length === 0);
  return (
    <Card title="Quotes and refusals" note={!isUnasked && `Since the solver’s start${time}`}>
      {isUnasked && <p class="note">Nothing was asked since the solver’s start{time}.</p>}
      {refusedRisk > 0 && (
        <p class="note">
          <Words
            text={`Bets refused with \`EXPOSURE_TOO_LARGE\` would have risked ${
              formatAmount(fromNumber(refusedRisk))
            } USDC in all.`}
          />
        </p>
      )}
      {REQUESTS.map((request) => (
        <AnswerTable key={request.name} request={request} history={history} />
      ))}
    </Card>
  );
}

/** Answers to one kind of request, each with its share of all of them. */
function AnswerTable({ request, history }: { request: RequestKind; history: MetricsHistory }) {
  const { name, done, meaning } = request;
  const rows = answersTo(request, history);
  if (rows.length === 0) return null;
  const sumOf = (part: "recent" | "total", some = rows) =>
    some.reduce((sum, row) => sum + row[part], 0);
  const [recent, total] = [sumOf("recent"), sumOf("total")];
  const textOf = (count: number, all: number) =>
    count > 0 && `${count.toLocaleString("en-US")}\u00a0(${formatShare(count / all)})`;
  const accepted = textOf(sumOf("total", rows.filter(isSuccess)), total) || "none";
  const most = rows.filter((row) => !isSuccess(row) && row.total > 0)
    .sort((a, b) => b.total - a.total)[0];
  const span = spanOf(history);
  const recently: Column<AnswerCount> = {
    name: `In the ${span}`,
    number: (row) => (
      <>
        {textOf(row.recent, recent)}
        {row.lastMs && <span class="detail">last at {formatTime(row.lastMs)}</span>}
      </>
    ),
  };
  return (
    <Folded
      title={`${name}: ${accepted} ${done}`}
      isOpen={request === REQUESTS[0]}
      note={most && `Most refusals: ${most.outcome}, ${textOf(most.total, total)}`}
    >
      <Table
        of={`answers to ${name.toLowerCase()}`}
        first={4}
        isCards
        rows={rows}
        keyOf={({ outcome }) => outcome}
        columns={[
          {
            name: "Answer",
            text: (row) => isSuccess(row) ? `✓ ${row.outcome}` : <code>{row.outcome}</code>,
          },
          { name: "Since the start", number: (row) => textOf(row.total, total) },
          ...(span === undefined ? [] : [recently]),
          {
            name: "Meaning",
            text: (row) => (
              <Words text={isSuccess(row) ? meaning : REFUSAL_TEXTS[row.outcome] ?? ""} />
            ),
          },
        ]}
      />
    </Folded>
  );
}
