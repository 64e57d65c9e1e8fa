import { Card } from "../card.tsx";
import { textOf } from "../data/explain.ts";
import type { Metrics } from "../data/metrics.ts";
import { formatShare } from "../format.ts";
import { Table } from "../table.tsx";

/** How the solver answered since its start, by code. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const [quotes, executions] = ["solver_quotes_total", "solver_execute_answers_total"] as const;
  const samples = [...metrics.of(quotes), ...metrics.of(executions)];
  const outcomes = [...new Set(samples.map(({ labels }) => labels.outcome ?? ""))]
    .sort((a, b) => Number(isSuccess(b)) - Number(isSuccess(a)) || a.localeCompare(b));
  const count = (metric: string, outcome: string, kind: Record<string, string> = {}) => {
    const value = metrics.sum(metric, { ...kind, outcome });
    const share = formatShare((value ?? 0) / (metrics.sum(metric, kind) ?? 1));
    return value === undefined ? "–" : `${value.toLocaleString("en-US")} (${share})`;
  };
  return (
    <Card title="Quotes and refusals" note="since the solver started">
      <Table
        of="answers"
        empty="Nobody has asked yet."
        rows={outcomes}
        keyOf={(outcome) => outcome}
        columns={[
          {
            name: "Answer",
            text: (outcome) =>
              isSuccess(outcome) ? `✓ ${outcome}` : (
                <>
                  <code>{outcome}</code>
                  <span class="detail">{textOf(outcome)}</span>
                </>
              ),
          },
          {
            name: "Estimates",
            number: (outcome) => count(quotes, outcome, { kind: "estimate" }),
          },
          { name: "Quotes", number: (outcome) => count(quotes, outcome, { kind: "quote" }) },
          { name: "Executions", number: (outcome) => count(executions, outcome) },
        ]}
      />
    </Card>
  );
}

const isSuccess = (outcome: string) => outcome === "quoted" || outcome === "executed";
