import { Card } from "../card.tsx";
import { formatAmount, formatShare, fromNumber } from "../format.ts";
import { Table } from "../table.tsx";
import { Words } from "../words.tsx";
import type { SolverFigures } from "./maker_watch.ts";
import {
  ACCEPTED,
  type AnswerCount,
  answersOf,
  REFUSAL_TEXTS,
  REQUESTS,
  startText,
} from "./refusals.ts";

/** The solver's answers by code, each with its share, since its start and in the last minutes. */
export function Answers({ answers, metrics }: Pick<SolverFigures, "answers" | "metrics">) {
  const rows = answersOf(answers);
  const start = startText(metrics);
  const refusedRisk = metrics.sum("solver_refused_risk_usdc_total") ?? 0;
  const isRecent = rows.some(({ counts }) =>
    counts.some(({ recent, sinceStart }) => recent > 0 && recent < sinceStart)
  );
  const textOf = (row: AnswerCount, request: number, part: "recent" | "sinceStart") => {
    const countOf = ({ counts }: AnswerCount) => counts[request]?.[part] ?? 0;
    const all = rows.reduce((sum, each) => sum + countOf(each), 0);
    const count = countOf(row);
    return count > 0 && `${count.toLocaleString("en-US")}\u00a0(${formatShare(count / all)})`;
  };
  return (
    <Card
      title="Quotes and refusals"
      note={`Since ${start}${
        isRecent ? "; small: in the last 5 min, as far as this page saw them" : ""
      }`}
    >
      <Table
        of="answers"
        empty={`Nothing was asked since ${start}.`}
        first={5}
        isCards
        rows={rows}
        keyOf={({ outcome }) => outcome}
        columns={[
          {
            name: "Answer",
            text: ({ outcome }) => outcome === ACCEPTED ? `✓ ${outcome}` : <code>{outcome}</code>,
          },
          ...REQUESTS.map(({ name }, request) => ({
            name,
            number: (row: AnswerCount) => {
              const all = textOf(row, request, "sinceStart");
              const recent = textOf(row, request, "recent");
              return (
                <>
                  {all}
                  {recent && recent !== all && <span class="detail">{recent}</span>}
                </>
              );
            },
          })),
          {
            name: "Meaning",
            text: ({ outcome }) =>
              outcome === ACCEPTED
                ? "Bets were placed, quotes signed, estimates shown."
                : <Words text={REFUSAL_TEXTS[outcome] ?? ""} />,
          },
        ]}
      />
      <p class="note">
        {refusedRisk > 0 && (
          <Words
            text={`Bets refused with \`EXPOSURE_TOO_LARGE\` would have risked ${
              formatAmount(fromNumber(refusedRisk))
            } USDC in all, each attempt counted. `}
          />
        )}
        The counts before a restart are in Prometheus and Grafana, the users in the solver’s log.
      </p>
    </Card>
  );
}
