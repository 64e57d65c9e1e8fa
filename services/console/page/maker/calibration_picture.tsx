import type { SolverInfo } from "@rangemaker/client";
import { Card } from "../card.tsx";
import { formatDuration } from "../format.ts";
import { BAND, verdictOf, WINDOWS_MIN } from "./calibration.ts";

type Market = NonNullable<SolverInfo["calibration"]>[number];

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;

/** Predicted against held boxes, one picture for each market and length of a window. */
export function CalibrationPictures({ markets }: { markets: readonly Market[] }) {
  const pictures = markets.flatMap(({ symbol, horizons }) =>
    horizons.filter(({ windows, boxes }) => windows >= WINDOWS_MIN && boxes.length > 0)
      .map((horizon) => ({ symbol, ...horizon }))
  );
  if (markets.length === 0) return null;
  const boxes = pictures.flatMap(({ boxes }) => boxes);
  const outside =
    boxes.filter(({ predicted, held, error }) => Math.abs(predicted - held) > BAND * error).length;
  return (
    <Card title="Forecasts against the market">
      <p>{verdictOf(outside, boxes.length)}</p>
      <div class="calibrations">
        {pictures.map(({ symbol, horizonMs, windows, boxes }) => (
          <figure key={`${symbol} ${horizonMs}`} class="calibration">
            <figcaption>
              {symbol}, {formatDuration(horizonMs)}
              <span class="note">{windows.toFixed(0)} windows, overlapping</span>
            </figcaption>
            <svg
              viewBox="-4 -4 108 108"
              role="img"
              aria-label={boxes.map(({ predicted, held, error }) =>
                `predicted ${percent(predicted)}, held ${percent(held)} ± ${percent(BAND * error)}`
              ).join("; ")}
            >
              <path class="mark" d="M0 100 L100 0" />
              {boxes.map(({ predicted, held, error }) => {
                const [x, y, half] = [100 * predicted, 100 - 100 * held, 100 * BAND * error];
                return (
                  <g key={predicted}>
                    <path
                      class="value"
                      d={`M${x} ${Math.max(0, y - half)} V${Math.min(100, y + half)}`}
                    />
                    <circle cx={x} cy={y} r="3" />
                  </g>
                );
              })}
            </svg>
          </figure>
        ))}
      </div>
      <p class="note">
        Across: the predicted probability that a box around the price holds; up: how often it held,
        with the band of chance (95 %), in windows that nobody has to bet on. On the line, both
        agree.
      </p>
    </Card>
  );
}
