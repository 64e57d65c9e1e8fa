import type { Metrics } from "../data/metrics.ts";
import { Table } from "../table.tsx";

/** How the solver answered since its start, by code. */
export function Answers({ metrics }: { metrics: Metrics }) {
  const kinds = ["estimate", "quote"] as const;
  const quotes = metrics.of("solver_quotes_total");
  const executions = metrics.of("solver_execute_answers_total");
  const outcomes = [
    ...new Set([...quotes, ...executions].map(({ labels }) => labels.outcome ?? "")),
  ].sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b));
  const show = (value: number | undefined) =>
    value === undefined ? "–" : value.toLocaleString("en-US");
  return (
    <section class="card" aria-label="Answers">
      <div class="row">
        <h2>Quotes and refusals</h2>
        <span class="note">since the solver started</span>
      </div>
      {outcomes.length === 0 ? <p class="note">Nobody has asked yet.</p> : (
        <Table
          of="answers"
          columns={["Answer", { number: "Estimates" }, { number: "Quotes" }, {
            number: "Executions",
          }]}
        >
          {outcomes.map((outcome) => (
            <tr key={outcome} data-answer={outcome}>
              <th scope="row">
                {rankOf(outcome) === 0
                  ? <span class="won">✓ {outcome}</span>
                  : <code>{outcome}</code>}
              </th>
              {kinds.map((kind) => (
                <td key={kind} class="number">
                  {show(metrics.sum("solver_quotes_total", { kind, outcome }))}
                </td>
              ))}
              <td class="number">
                {show(metrics.sum("solver_execute_answers_total", { outcome }))}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** Successes first. */
const rankOf = (outcome: string) => outcome === "quoted" || outcome === "executed" ? 0 : 1;
