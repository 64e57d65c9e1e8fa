import { scaleLinear } from "d3-scale";
import { Card } from "../card.tsx";
import { Plot } from "../plot.tsx";
import {
  bandOf,
  COUNT_MIN,
  type ForecastPicture,
  isOff,
  isTold,
  looksOf,
  verdictOf,
} from "./calibration.ts";

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

/** Predicted against held boxes: one picture for the bets, and one for each market and length. */
export function Calibration({ pictures }: { pictures: readonly ForecastPicture[] }) {
  const looks = looksOf(pictures);
  return (
    <Card title="Forecasts against the market" note="since the solver’s start">
      <p>{verdictOf(pictures)}</p>
      <div class="calibrations">
        {pictures.map((picture) => (
          <figure key={picture.name} class="chart-figure">
            <figcaption>
              <strong>{picture.name}</strong> <span class="note">{picture.size}</span>
            </figcaption>
            <Picture {...picture} looks={looks} />
          </figure>
        ))}
      </div>
      {pictures.length > 0 && (
        <p class="note">
          Across: the probability that was predicted. Up: the share of these boxes that held, and
          what chance explains (three standard errors and 3 %{looks > 1 &&
            `, more since ${looks} are looked at together`}). At the top: the number of bets; a
          point of fewer than {COUNT_MIN}{" "}
          is grey and not judged. Markets are compared in windows that nobody has to bet on, each
          length once there are {COUNT_MIN}.
        </p>
      )}
    </Card>
  );
}

/** Percent of the drawing: points at 0 and 100 % are whole, and above them is room for counts. */
const toX = scaleLinear([0, 1], [5, 95]);
const toY = scaleLinear([0, 1], [95, 18]);
const TICKS = [0, 0.5, 1];

function Picture({ name, forecasts, hasCounts, looks }: ForecastPicture & { looks: number }) {
  const points = forecasts.map((forecast) => ({
    ...forecast,
    style: !isTold(forecast) ? "few" : isOff(forecast, looks) ? "off" : "",
    band: bandOf(forecast, looks),
  }));
  const texts = points.map(({ predicted, held, count, style }) =>
    `predicted ${percent(predicted)}, held ${percent(held)}` +
    (hasCounts ? ` of ${count}` : "") +
    (style === "few" ? ", too few to tell" : style === "off" ? ", more than chance" : "")
  );
  return (
    <Plot
      label={`${name}: ${texts.join("; ")}`}
      xTicks={TICKS.map((share) => ({ at: toX(share), text: percent(share) }))}
      yTicks={TICKS.map((share) => ({ at: toY(share), text: percent(share) }))}
      names={hasCounts
        ? points.map(({ predicted, count }) => ({ at: toX(predicted), text: `${count}` }))
        : []}
    >
      <path class="mark" d={`M${toX(0)} ${toY(0)} L${toX(1)} ${toY(1)}`} />
      {points.map(({ predicted, held, style, band: [low, high] }, index) => {
        const [x, y] = [toX(predicted), toY(held)];
        return (
          <g key={index} class={`forecast ${style}`}>
            <title>{texts[index]}</title>
            {style !== "few" && <path d={`M${x} ${toY(high)} V${toY(low)}`} />}
            <path class="dot" d={`M${x} ${y} h0`} />
            <path class="hole" d={`M${x} ${y} h0`} />
          </g>
        );
      })}
    </Plot>
  );
}
