import { Card } from "../card.tsx";
import type { Metrics } from "../data/metrics.ts";
import { formatAmount, formatShare, fromNumber } from "../format.ts";
import { Table } from "../table.tsx";
import { Words } from "../words.tsx";
import {
  ACCEPTED,
  type AnswerCount,
  answersOf,
  REFUSAL_TEXTS,
  REQUESTS,
  startText,
} from "./refusals.ts";

/** The solver's answers by code, each with its share, since its start. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const rows = answersOf(metrics);
  const refusedRisk = metrics.sum("solver_refused_risk_usdc_total") ?? 0;
  const textOf = ({ counts }: AnswerCount, request: number) => {
    const count = counts[request] ?? 0;
    const all = rows.reduce((sum, { counts }) => sum + (counts[request] ?? 0), 0);
    return count.toLocaleString("en-US") +
      (count > 0 ? `\u00a0(${formatShare(count / all)})` : "");
  };
  return (
    <Card title="Quotes and refusals">
      <p>
        All answers since{" "}
        {startText(metrics)}. Earlier ones are in Prometheus, the users in the solver’s log.
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
            text: ({ outcome }) => outcome === ACCEPTED ? `✓ ${outcome}` : <code>{outcome}</code>,
          },
          ...REQUESTS.map(({ name }, request) => ({
            name,
            number: (row: AnswerCount) => textOf(row, request),
          })),
          {
            name: "Meaning",
            text: ({ outcome }) => (
              <>
                <Words text={REFUSAL_TEXTS[outcome] ?? ""} />
                {outcome === "EXPOSURE_TOO_LARGE" && refusedRisk > 0 &&
                  ` Such bets had ${formatAmount(fromNumber(refusedRisk))} USDC at risk, each ` +
                    "attempt counted."}
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}
