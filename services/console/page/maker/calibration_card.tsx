import type { SolverInfo } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { formatShare } from "../format.ts";
import { Table } from "../table.tsx";
import { forecastsOf, verdictOf } from "./calibration.ts";
import type { PredictedBet } from "./earnings.ts";

interface CalibrationProps {
  predicted: readonly PredictedBet[];
  markets: NonNullable<SolverInfo["calibration"]>;
}

/** Predicted and observed shares of boxes that held, for bets, and by market and window length. */
export function Calibration({ predicted, markets }: CalibrationProps) {
  const forecasts = forecastsOf(predicted, markets);
  return (
    <Card title="Forecasts against the market">
      <p>{verdictOf(forecasts)}</p>
      {forecasts.length > 0 && (
        <Table
          of="forecasts"
          rows={forecasts}
          first={6}
          keyOf={({ of, predicted }) => `${of} ${predicted}`}
          columns={[
            { name: "Boxes", text: ({ of }) => of },
            { name: "Predicted", number: ({ predicted }) => formatShare(predicted) },
            {
              name: "Held",
              number: ({ held, count }) => `${formatShare(held)} of ${count.toFixed(0)}`,
            },
            {
              name: "By chance",
              number: ({ low, high, verdict }) =>
                verdict !== "few" && (
                  <span class={verdict === "off" ? "warning" : undefined}>
                    {verdict === "off" && "▲ "}
                    {formatShare(low)} to {formatShare(high)}
                  </span>
                ),
            },
          ]}
        />
      )}
    </Card>
  );
}
