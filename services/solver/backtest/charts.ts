import type { DailyMean } from "./daily_series.ts";
import type { Report } from "./report.ts";
import { formatDuration } from "./report_text.ts";
import {
  type ChartArea,
  colorOf,
  INK,
  legend,
  line,
  page,
  pointWithError,
  scale,
  text,
  yAxis,
} from "./svg.ts";
import { USERS } from "./users.ts";

const WIDTH = 1_200;

/** A picture and the end of its file name. */
export interface Picture {
  name: string;
  svg: string;
}

/** The report as pictures, one per question. Bars are two standard errors by days. */
export function drawReport(report: Report): Picture[] {
  return [
    { name: "brier", svg: drawScores(report) },
    { name: "calibration", svg: drawCalibration(report) },
    { name: "gains", svg: drawGains(report) },
  ];
}

/** End of an error bar; the mean itself if there is no error. */
function ends({ mean, error }: DailyMean): number[] {
  return Number.isFinite(error) ? [mean - 2 * error, mean + 2 * error] : [mean];
}

/** Mean Brier score of each model by duration. */
function drawScores({ makers, scores, boxes, days }: Report): string {
  const area: ChartArea = { left: 80, top: 110, width: 860, height: 400 };
  const values = scores.flatMap(({ byMaker }) =>
    byMaker.flatMap((score) => score === undefined ? [] : ends(score))
  );
  const y = scale(values, [area.top + area.height, area.top]);
  const column = area.width / scores.length;
  return page(
    WIDTH,
    570,
    "Which model predicts best?",
    `Brier score by duration, lower is better; ${boxes} boxes over ${days} days, bars are ± 2 standard errors by days`,
    [
      ...yAxis(area, y, "Brier score", area.top),
      ...scores.flatMap(({ durationMs, byMaker }, row) => {
        const middle = area.left + (row + 0.5) * column;
        const name = durationMs === undefined ? "all" : formatDuration(durationMs);
        return [
          text(middle, area.top + area.height + 26, name),
          ...byMaker.flatMap((score, index) => {
            if (score === undefined || Number.isNaN(score.mean)) return [];
            const x = middle + (index - (byMaker.length - 1) / 2) * column * 0.8 / byMaker.length;
            return pointWithError(x, y, score.mean, 2 * score.error, colorOf(index));
          }),
        ];
      }),
      ...legend(area.left + area.width + 30, area.top + 10, makers),
    ],
  );
}

/** Predicted against actual share of boxes that held, one chart per duration. */
function drawCalibration(report: Report): string {
  const { durationsMs, compared, focus } = report;
  const columns = 3;
  const side = 280;
  const panels = [undefined, ...durationsMs];
  const rows = Math.ceil(panels.length / columns);
  const makers = [...focus, compared];
  return page(
    WIDTH,
    130 + rows * (side + 100),
    "Does what is predicted hold?",
    "On the line a model is right; below it, boxes held less often than predicted. Bars are ± 2 standard errors by days",
    [
      ...legend(WIDTH - 180, 36, makers),
      ...panels.flatMap((durationMs, index) => {
        const left = 90 + index % columns * (side + 90);
        const top = 130 + Math.floor(index / columns) * (side + 100);
        const title = durationMs === undefined ? "all durations" : formatDuration(durationMs);
        return calibrationPanel(report, makers, { left, top, width: side, height: side }, {
          title,
          durationMs,
        });
      }),
    ],
  );
}

function calibrationPanel(
  report: Report,
  makers: readonly string[],
  area: ChartArea,
  { title, durationMs }: { title: string; durationMs: number | undefined },
): string[] {
  const { left, top, width, height } = area;
  const y = scale([0, 1], [top + height, top]);
  const x = scale([0, 1], [left, left + width]);
  return [
    ...yAxis(area, y, `held, ${title}`, top),
    ...x.ticks.map((tick) => text(x(tick), top + height + 22, tick.toFixed(1))),
    text(left + width / 2, top + height + 44, "predicted"),
    line(x(0), y(0), x(1), y(1), INK),
    ...makers.flatMap((maker, index) =>
      report.calibration(maker, durationMs).flatMap(({ predicted, held }) => {
        const error = Math.min(2 * held.error, held.mean, 1 - held.mean);
        return pointWithError(x(predicted), y, held.mean, error, colorOf(index));
      })
    ),
  ];
}

/** The maker's mean gain per bet by user. */
function drawGains({ gains, makers }: Report): string {
  const area: ChartArea = { left: 80, top: 110, width: 860, height: 420 };
  const users = Object.values(USERS).filter((user) => gains.some((gain) => gain.user === user));
  const y = scale(gains.flatMap(({ path }) => ends(path)), [area.top + area.height, area.top]);
  const column = area.width / users.length;
  return page(
    WIDTH,
    600,
    "What does a maker earn, and from whom?",
    "Mean gain per bet of 1, below 0 the users win; bars are ± 2 standard errors by days",
    [
      ...yAxis(area, y, "gain per bet", area.top),
      ...users.flatMap((user, place) => {
        const middle = area.left + (place + 0.5) * column;
        return [
          text(middle, area.top + area.height + 28, user),
          ...gains.flatMap(({ user: other, maker, path }) => {
            if (other !== user) return [];
            const index = makers.indexOf(maker);
            const x = middle + (index - (makers.length - 1) / 2) * column * 0.7 / makers.length;
            return pointWithError(x, y, path.mean, 2 * path.error, colorOf(index));
          }),
        ];
      }),
      ...legend(area.left + area.width + 30, area.top + 10, makers),
    ],
  );
}
