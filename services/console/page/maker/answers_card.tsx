import { Card, Words } from "../parts/parts.tsx";
import type { Metrics } from "../data/metrics.ts";
import { formatCents, fromNumber } from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import {
  type AnswerCount,
  answersOf,
  countText,
  REFUSAL_TEXTS,
  refusedText,
  REQUESTS,
  startText,
  SUCCESSES,
} from "./answers.ts";

/** The solver's answers by code, each with its share, since its start. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const rows = answersOf(metrics);
  const refusedRisk = metrics.sum("solver_refused_risk_usdc_total") ?? 0;
  return (
    <Card title="Quotes and refusals">
      <p>
        {refusedText(rows)} since {startText(metrics)}. Earlier answers are in Prometheus.
      </p>
      <Table
        of="answers"
        empty="Nothing was asked yet."
        first={5}
        isCards
        rows={rows}
        keyOf={({ outcome }) => outcome}
        columns={[
          {
            name: "Answer",
            text: ({ outcome }) => SUCCESSES.has(outcome) ? `✓ ${outcome}` : <code>{outcome}</code>,
          },
          ...REQUESTS.map(({ name }, request) => ({
            name,
            number: (row: AnswerCount) => countText(row, request, rows),
          })),
          {
            name: "Meaning",
            text: ({ outcome }) => (
              <>
                <Words text={REFUSAL_TEXTS[outcome] ?? ""} />
                {outcome === "EXPOSURE_TOO_LARGE" && refusedRisk > 0 &&
                  ` Such bets had ${formatCents(fromNumber(refusedRisk))} USDC at risk, each ` +
                    "attempt counted."}
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}
