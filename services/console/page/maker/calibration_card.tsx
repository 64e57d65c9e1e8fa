import type { SolverInfo } from "@rangemaker/client";
import { scaleLinear } from "d3-scale";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { Card } from "../card.tsx";
import { formatShare } from "../format.ts";
import { Plot } from "../plot.tsx";
import { labelOf } from "../trade/chart_spans.ts";
import {
  COUNT_MIN,
  type ForecastPicture,
  notableOf,
  picturesOf,
  verdictOf,
} from "./calibration.ts";
import type { PredictedBet } from "./earnings.ts";
import { Folded } from "./folded.tsx";

interface CalibrationProps {
  predicted: readonly PredictedBet[];
  markets: NonNullable<SolverInfo["calibration"]>;
}

/** Predicted and observed shares of boxes that held, for bets, and by market and window length. */
export function Calibration({ predicted, markets }: CalibrationProps) {
  const pictures = picturesOf(predicted, markets);
  return (
    <Card title="Forecasts against the market">
      <p>{verdictOf(pictures)}</p>
      {pictures.length > 0 && (
        <Folded
          title="Pictures of the longest windows"
          isOpen={pictures.some(({ forecasts }) =>
            forecasts.some(({ verdict }) => verdict === "off")
          )}
        >
          <div class="columns small">
            {notableOf(pictures).map((picture) => (
              <Picture key={`${picture.of} ${picture.horizonMs}`} {...picture} />
            ))}
            <p class="note key">
              Dashed: forecasts that are right. Bars: what chance explains, {CALIBRATION.errors}
              {" "}
              standard errors and {100 * CALIBRATION.share}{" "}
              points each way, so that many comparisons raise no false alarm. Grey: fewer than{" "}
              {COUNT_MIN}.
            </p>
          </div>
        </Folded>
      )}
    </Card>
  );
}

/** Percent of the drawing, with a margin so that points at 0 and 100 % are not cut. */
const toX = scaleLinear([0, 1], [5, 95]);
const toY = scaleLinear([0, 1], [95, 5]);
const TICKS = [0, 0.5, 1];

const VERDICT_TEXTS = { few: ", too few to tell", fits: "", off: ", more than chance" };

function Picture({ of, horizonMs, count, forecasts }: ForecastPicture) {
  const texts = forecasts.map(({ predicted, held, count, verdict }) =>
    `predicted ${formatShare(predicted)}, held ${formatShare(held)} of ${count.toFixed(0)}` +
    VERDICT_TEXTS[verdict]
  );
  return (
    <figure class="part">
      <figcaption>
        <strong>{of}{horizonMs && `, ${labelOf(horizonMs)}`}</strong>
        <span class="detail">
          ↑ % held, of {count.toFixed(0)} {horizonMs ? "windows" : "settled"}
        </span>
      </figcaption>
      <Plot
        label={`${of}: ${texts.join("; ")}`}
        xTicks={TICKS.map((share) => ({
          at: toX(share),
          text: share === 0.5 ? "predicted %" : `${100 * share}`,
        }))}
        yTicks={TICKS.map((share) => ({ at: toY(share), text: `${100 * share}` }))}
      >
        <path class="mark" d={`M${toX(0)} ${toY(0)} L${toX(1)} ${toY(1)}`} />
        {forecasts.map(({ predicted, held, low, high, verdict }, index) => {
          const [x, y] = [toX(predicted), toY(held)];
          return (
            <g key={index} class={`forecast ${verdict}`}>
              <title>{texts[index]}</title>
              {verdict !== "few" && <path d={`M${x} ${toY(high)} V${toY(low)}`} />}
              <path class="dot" d={`M${x} ${y} h0`} />
            </g>
          );
        })}
      </Plot>
    </figure>
  );
}
