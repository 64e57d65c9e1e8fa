import { Card } from "../card.tsx";
import type { Metrics } from "../data/metrics.ts";
import { formatRounded, formatShare, formatTime, fromNumber } from "../format.ts";
import { Table } from "../table.tsx";
import { REFUSAL_TEXTS } from "./refusals.ts";

/** How the solver answered since its start, by code. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const [quotes, executions] = ["solver_quotes_total", "solver_execute_answers_total"] as const;
  const countOf = (outcome: string) =>
    (metrics.sum(quotes, { outcome }) ?? 0) + (metrics.sum(executions, { outcome }) ?? 0);
  const samples = [...metrics.of(quotes), ...metrics.of(executions)];
  const outcomes = [...new Set(samples.map(({ labels }) => labels.outcome ?? ""))]
    .sort((a, b) => Number(isSuccess(b)) - Number(isSuccess(a)) || countOf(b) - countOf(a));
  const count = (metric: string, outcome: string, kind: Record<string, string> = {}) => {
    const value = metrics.sum(metric, { ...kind, outcome });
    const share = formatShare((value ?? 0) / (metrics.sum(metric, kind) ?? 1));
    return value && `${value.toLocaleString("en-US")} (${share})`;
  };
  const startedAtS = metrics.sum("process_start_time_seconds");
  return (
    <Card
      title="Quotes and refusals"
      note={`since the solver’s start${
        startedAtS === undefined ? "" : ` at ${formatTime(1_000 * startedAtS)}`
      }`}
    >
      <Table
        of="answers"
        isCards
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
                  <span class="detail">
                    {REFUSAL_TEXTS[outcome]} {refusedRisk(metrics, outcome)}
                  </span>
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

/** How much room the bets lacked that were refused for the bound. */
function refusedRisk(metrics: Metrics, outcome: string): string {
  const risk = metrics.sum("solver_refused_risk_usdc_total");
  if (outcome !== "EXPOSURE_TOO_LARGE" || risk === undefined) return "";
  const mean = risk / (metrics.sum("solver_execute_answers_total", { outcome }) ?? 1);
  return `They needed ${formatRounded(fromNumber(mean))} USDC each.`;
}
