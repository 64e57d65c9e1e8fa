import type { SolverInfo } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { formatShare } from "../format.ts";
import { Table } from "../table.tsx";
import { forecastsOf, type PredictedBet, RULE, verdictOf } from "./calibration.ts";

interface CalibrationProps {
  /** Undefined while bets whose window is over wait for prices: those that users lose do not wait. */
  predicted: readonly PredictedBet[] | undefined;
  /** Undefined if the solver predicts nothing. */
  markets: SolverInfo["calibration"];
}

/** Predicted and observed shares of boxes that held, for bets, and by market and window length. */
export function Calibration({ predicted, markets }: CalibrationProps) {
  const forecasts = forecastsOf(predicted ?? [], markets ?? []);
  const isBlind = forecasts.length === 0 && markets === undefined;
  return (
    <Card title="Calibration">
      <p>
        {isBlind ? "The solver’s pricing predicts no probabilities." : verdictOf(forecasts) +
          (predicted ? "" : " Your bets are left out while some wait for missing prices.")}
      </p>
      {forecasts.length > 0 && (
        <Table
          of="forecasts"
          rows={forecasts}
          first={6}
          keyOf={({ of, predicted }) => `${of} ${predicted}`}
          columns={[
            { name: "Boxes", text: ({ of }) => of },
            {
              name: "Predicted",
              number: ({ predicted, hidden }) =>
                `${formatShare(predicted)} ± ${Math.ceil(100 * hidden)}`,
            },
            {
              name: "Held",
              number: ({ held, count, isOff }) => (
                <span class={isOff ? "warning" : undefined}>
                  {isOff && "▲ "}
                  {formatShare(held)} of {count.toFixed(0)}
                </span>
              ),
            },
          ]}
        />
      )}
      {!isBlind && <p class="note">{RULE}</p>}
    </Card>
  );
}
