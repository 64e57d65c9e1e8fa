import type { SolverInfo } from "@rangemaker/client";
import { Card, Words } from "../parts/parts.tsx";
import { formatShare } from "../parts/format.ts";
import { Table } from "../parts/table.tsx";
import { type Forecast, forecastsOf, RULE_TEXT, verdictOf } from "./calibration.ts";
import { Plot } from "../parts/plot.tsx";

interface CalibrationProps {
  /** Undefined if the solver predicts nothing. */
  markets: SolverInfo["calibration"];
}

/** Predicted and observed shares of boxes that held, by market and window length. */
export function Calibration({ markets }: CalibrationProps) {
  const forecasts = forecastsOf(markets ?? []);
  const isBlind = markets === undefined;
  return (
    <Card title="Calibration">
      <p>
        {isBlind ? "The solver’s pricing predicts no probabilities." : verdictOf(forecasts)}
      </p>
      {forecasts.length > 0 && (
        <div class="columns">
          <CalibrationPlot forecasts={forecasts} />
          <div class="part">
            <Table
              of="forecasts"
              isCards
              rows={forecasts}
              first={6}
              keyOf={({ label, predicted }) => `${label} ${predicted}`}
              columns={[
                { name: "Boxes", text: ({ label }) => label },
                { name: "Predicted", number: ({ predicted }) => formatShare(predicted) },
                {
                  name: "Held",
                  number: ({ held, count, isOff, low, high }) => (
                    <>
                      <span class={isOff ? "warning" : undefined}>
                        {isOff && "▲ "}
                        {formatShare(held)}&nbsp;of&nbsp;{count.toFixed(0)}
                      </span>{" "}
                      <span class="detail">{bandText(low, high)}</span>
                    </>
                  ),
                },
              ]}
            />
          </div>
        </div>
      )}
      {!isBlind && (
        <p class="note">
          <Words text={RULE_TEXT} />
        </p>
      )}
    </Card>
  );
}

/** Such as `31–78 %`; a word joiner prevents a line break. */
const bandText = (low: number, high: number) =>
  `${Math.round(100 * low)}–\u2060${formatShare(high)}`;

const TICKS = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
  share,
  text: share < 1 ? `${100 * share}` : formatShare(share),
}));

const toX = (share: number) => 3 + 94 * share;
const toY = (share: number) => 97 - 94 * share;

/** The shares that held by their predicted probability, with their bands; those that are off on top. */
function CalibrationPlot({ forecasts }: { forecasts: readonly Forecast[] }) {
  const most = Math.max(...forecasts.map(({ count }) => count));
  return (
    <figure class="part">
      <figcaption>
        Hypothetical boxes that held, by predicted probability, larger for more
      </figcaption>
      <Plot
        label={`Share that held by predicted probability, of ${forecasts.length} kinds of boxes`}
        xTicks={TICKS.map(({ share, text }) => ({ at: toX(share), text }))}
        yTicks={TICKS.map(({ share, text }) => ({ at: toY(share), text }))}
      >
        <path class="mark" d={`M${toX(0)} ${toY(0)} L${toX(1)} ${toY(1)}`} />
        {forecasts.toReversed().map(({ label, predicted, held, count, low, high, isOff }) => (
          <g
            key={`${label} ${predicted}`}
            class={isOff ? "band warning" : "band"}
          >
            <title>{`${label}: ${formatShare(held)} held, ${bandText(low, high)}`}</title>
            <path d={`M${toX(predicted)} ${toY(low)} V${toY(high)}`} />
            <path
              d={`M${toX(predicted)} ${toY(held)} h0`}
              stroke-linecap="round"
              style={{ strokeWidth: 4 + 4 * Math.sqrt(count / most) }}
            />
          </g>
        ))}
      </Plot>
    </figure>
  );
}
