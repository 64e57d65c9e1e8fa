import type { DailyMean } from "./daily_series.ts";
import type { Report } from "./report.ts";
import { rowName } from "./report_text.ts";
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

/** Mean Brier score of each model by duration. */
function drawScores({ makers, scores, boxes, days }: Report): string {
  return groupedPoints(
    makers,
    scores.map(({ durationMs, byMaker }) => [rowName(durationMs), byMaker]),
    {
      title: "Which model predicts best?",
      subtitle:
        `Brier score by duration, lower is better; ${boxes} boxes over ${days} days, bars are ± 2 standard errors by days`,
      label: "Brier score",
    },
  );
}

/** The maker's mean gain per bet by user. */
function drawGains({ gains, makers }: Report): string {
  const pathsOf = (user: string) =>
    makers.map((maker) => gains.find((gain) => gain.user === user && gain.maker === maker)?.path);
  const groups = Object.values(USERS).map((user) => [user, pathsOf(user)] as const);
  return groupedPoints(makers, groups.filter(([, paths]) => paths.some((path) => path)), {
    title: "What does a maker earn, and from whom?",
    subtitle: "Mean gain per bet of 1, below 0 the users win; bars are ± 2 standard errors by days",
    label: "gain per bet",
  });
}

/** End of an error bar; the mean itself if there is no error. */
function ends({ mean, error }: DailyMean): number[] {
  return Number.isFinite(error) ? [mean - 2 * error, mean + 2 * error] : [mean];
}

/** Groups side by side, each with a point for every maker that has a mean there. */
function groupedPoints(
  makers: readonly string[],
  groups: readonly (readonly [name: string, byMaker: readonly (DailyMean | undefined)[]])[],
  { title, subtitle, label }: { title: string; subtitle: string; label: string },
): string {
  const area: ChartArea = { left: 80, top: 110, width: 860, height: 400 };
  const values = groups.flatMap(([, byMaker]) => byMaker.flatMap((one) => one ? ends(one) : []));
  const y = scale(values, [area.top + area.height, area.top]);
  const column = area.width / groups.length;
  return page(WIDTH, 570, title, subtitle, [
    ...yAxis(area, y, label, area.top),
    ...groups.flatMap(([name, byMaker], group) => {
      const middle = area.left + (group + 0.5) * column;
      return [
        text(middle, area.top + area.height + 26, name),
        ...byMaker.flatMap((one, index) => {
          if (one === undefined || Number.isNaN(one.mean)) return [];
          const x = middle + (index - (makers.length - 1) / 2) * column * 0.8 / makers.length;
          return pointWithError(x, y, one.mean, 2 * one.error, colorOf(index));
        }),
      ];
    }),
    ...legend(area.left + area.width + 30, area.top + 10, makers),
  ]);
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
        return calibrationPanel(
          report,
          makers,
          { left, top, width: side, height: side },
          durationMs,
        );
      }),
    ],
  );
}

function calibrationPanel(
  report: Report,
  makers: readonly string[],
  area: ChartArea,
  durationMs: number | undefined,
): string[] {
  const { left, top, width, height } = area;
  const y = scale([0, 1], [top + height, top]);
  const x = scale([0, 1], [left, left + width]);
  return [
    ...yAxis(area, y, `held, ${rowName(durationMs)}`, top),
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
