import { Card } from "../card.tsx";
import type { Metrics } from "../data/metrics.ts";
import { Table } from "../table.tsx";
import { calibrationOf } from "./calibration.ts";

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** Whether the price stays in the box as often as the solver's model says. */
export function Calibration({ metrics }: { metrics: Metrics }) {
  const rows = calibrationOf(metrics);
  return (
    <Card title="Predicted against held" note="bets settled since the solver started">
      <Table
        of="predictions"
        empty="None yet. Pricing that says no probability, such as mock, is not compared."
        rows={rows}
        keyOf={({ range }) => range}
        columns={[
          { name: "Quoted probability", text: ({ range }) => range },
          { name: "Bets", number: ({ settled }) => settled },
          { name: "Predicted, mean", number: ({ predicted }) => percent(predicted) },
          { name: "Held", number: ({ held, settled }) => percent(held / settled) },
          { name: "Bets held", number: ({ held }) => held },
        ]}
      />
      {rows.length > 0 && (
        <p class="note">
          With few bets, both differ by chance alone. With many, held below predicted means that
          payouts are too small, and above that users know more than the model.
        </p>
      )}
    </Card>
  );
}
