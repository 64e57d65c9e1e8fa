import { Card } from "../card.tsx";
import { bandOf, type Forecast, type ForecastPicture, isOff, verdictOf } from "./calibration.ts";

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

/** Predicted against held boxes: one picture for the bets, and one for each market and length. */
export function Calibration({ pictures }: { pictures: readonly ForecastPicture[] }) {
  return (
    <Card title="Forecasts against the market" note="since the solver’s start">
      <p>{verdictOf(pictures)}</p>
      <div class="calibrations">
        {pictures.map(({ name, size, forecasts }) => (
          <figure key={name} class="calibration">
            <figcaption>
              <strong>{name}</strong> <span class="note">{size}</span>
            </figcaption>
            <Picture name={name} forecasts={forecasts} />
          </figure>
        ))}
      </div>
      {pictures.length > 0 && (
        <p class="note">
          Across: the probability that was predicted. Up: the share of these boxes that held, and
          what chance explains (three standard errors and 3 %). Markets are compared in windows that
          nobody has to bet on.
        </p>
      )}
    </Card>
  );
}

function Picture({ name, forecasts }: { name: string; forecasts: readonly Forecast[] }) {
  const texts = forecasts.map((forecast) =>
    `predicted ${percent(forecast.predicted)}, held ${percent(forecast.held)}` +
    (isOff(forecast) ? ", more than chance" : "")
  );
  return (
    <svg viewBox="-32 -6 152 124" role="img" aria-label={`${name}: ${texts.join("; ")}`}>
      <path class="grid" d="M0 0 H100 V100 H0 Z M0 50 H100 M50 0 V100" />
      <path class="mark" d="M0 100 L100 0" />
      {[0, 50, 100].map((at) => (
        <g key={at}>
          <text x={at} y="114" text-anchor="middle">{at} %</text>
          <text x="-4" y={103 - at} text-anchor="end">{at} %</text>
        </g>
      ))}
      {forecasts.map((forecast, index) => {
        const [low, high] = bandOf(forecast);
        const x = 100 * forecast.predicted;
        return (
          <g key={index} class={isOff(forecast) ? "forecast off" : "forecast"}>
            <title>{texts[index]}</title>
            <path d={`M${x} ${100 - 100 * high} V${100 - 100 * low}`} />
            <circle cx={x} cy={100 - 100 * forecast.held} r="3.5" />
          </g>
        );
      })}
    </svg>
  );
}
