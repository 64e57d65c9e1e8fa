import { Card } from "../card.tsx";
import type { MetricsHistory } from "../data/metrics.ts";
import { formatShare, formatTime } from "../format.ts";
import { Table } from "../table.tsx";
import { Words } from "../words.tsx";
import { Folded } from "./folded.tsx";
import {
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
}

/** The solver's answers by code, in the last minutes and since its start. */
export function Answers({ history, startedAtMs }: AnswersProps) {
  if (REQUESTS.every((request) => answersTo(request, history).length === 0)) return null;
  const note = startedAtMs && `The solver started at ${formatTime(startedAtMs)}.`;
  return (
    <Card title="Quotes and refusals" note={note}>
      <div class="columns">
        {REQUESTS.map((request) => (
          <AnswerTable key={request.name} request={request} history={history} />
        ))}
      </div>
    </Card>
  );
}

/** Answers to one kind of request, each with a bar for its share of the recent ones. */
function AnswerTable({ request, history }: { request: RequestKind; history: MetricsHistory }) {
  const { name } = request;
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
  const refused = most && `, most refusals: ${most.outcome}, ${textOf(most.total, total)}`;
  return (
    <Folded
      title={`${name} since the start: ${accepted} ${name === "Bets" ? "accepted" : "priced"}${
        refused ?? ""
      }`}
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
            text: (row) => (
              <>
                {isSuccess(row) ? `✓ ${row.outcome}` : <code>{row.outcome}</code>}
                <span class="detail">
                  <Words text={REFUSAL_TEXTS[row.outcome] ?? ""} />
                </span>
                <span class="share" style={{ width: `${100 * row.recent / (recent || 1)}%` }} />
              </>
            ),
          },
          {
            name: `In the ${spanOf(history)}`,
            number: (row) => (
              <>
                {textOf(row.recent, recent)}
                {row.lastMs && <span class="detail">last at {formatTime(row.lastMs)}</span>}
              </>
            ),
          },
          { name: "Since the start", number: (row) => textOf(row.total, total) },
        ]}
      />
    </Folded>
  );
}
