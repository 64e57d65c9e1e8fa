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
          {
            name: "By chance (95 %)",
            number: ({ byChance: [from, to] }) => `${(100 * from).toFixed(0)} – ${percent(to)}`,
          },
          { name: "Bets held", number: ({ held }) => held },
          {
            name: "Held",
            number: ({ held, settled, byChance: [from, to] }) => {
              const share = held / settled;
              const isChance = share >= from && share <= to;
              return isChance ? percent(share) : <span class="warning">▲ {percent(share)}</span>;
            },
          },
        ]}
      />
      {rows.length > 0 && (
        <p class="note">
          ▲ More than chance: held below predicted means that payouts are too small, and above that
          users know more than the model.
        </p>
      )}
    </Card>
  );
}
