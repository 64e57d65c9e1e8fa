import { Card } from "../card.tsx";
import type { Metrics } from "../data/metrics.ts";
import { Table } from "../table.tsx";

/** How the solver answered since its start, by code. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const [quotes, executions] = ["solver_quotes_total", "solver_execute_answers_total"] as const;
  const samples = [...metrics.of(quotes), ...metrics.of(executions)];
  const outcomes = [...new Set(samples.map(({ labels }) => labels.outcome ?? ""))]
    .sort((a, b) => Number(isSuccess(b)) - Number(isSuccess(a)) || a.localeCompare(b));
  const count = (metric: string, labels: Record<string, string>) =>
    metrics.sum(metric, labels)?.toLocaleString("en-US") ?? "–";
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
              isSuccess(outcome) ? <span class="won">✓ {outcome}</span> : <code>{outcome}</code>,
          },
          {
            name: "Estimates",
            number: (outcome) => count(quotes, { kind: "estimate", outcome }),
          },
          { name: "Quotes", number: (outcome) => count(quotes, { kind: "quote", outcome }) },
          { name: "Executions", number: (outcome) => count(executions, { outcome }) },
        ]}
      />
    </Card>
  );
}

const isSuccess = (outcome: string) => outcome === "quoted" || outcome === "executed";
