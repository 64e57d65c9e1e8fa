import type { Report } from "./report.ts";

const WIDTH = 960;
const HEIGHT = 480;

/** Side of each of the two charts, and where they stand. */
const CHART = 360;
const TOP = 60;
const LEFT = 70;
const RIGHT = 540;

const COLORS = { model: "#1f5fa8", mock: "#c0392b", barrier: "#2a8f5b" } as const;

/** The report as a picture (SVG): calibration on the left, gains by probability on the right. */
export function drawReport(report: Report): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"`,
    ` viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    ...calibrationChart(report),
    ...gainChart(report),
    "</svg>\n",
  ].join("\n");
}

/** Predicted against observed; on the diagonal the model is right. Bars are two sampling errors. */
function calibrationChart({ buckets, brier, boxes }: Report): string[] {
  const x = (value: number) => LEFT + value * CHART;
  const y = (value: number) => TOP + (1 - value) * CHART;
  return [
    title(LEFT, `Calibration: Brier score ${brier.toFixed(4)} over ${boxes} boxes`),
    ...frame(LEFT),
    line(x(0), y(0), x(1), y(1), "#bbb"),
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
      text(x(tick), TOP + CHART + 18, tick.toFixed(2)),
      text(LEFT - 20, y(tick) + 4, tick.toFixed(2)),
    ]),
    text(LEFT + CHART / 2, TOP + CHART + 38, "predicted probability"),
    ...buckets.flatMap(({ predicted, observed, samplingError }) => [
      line(
        x(predicted),
        y(Math.min(1, observed + 2 * samplingError)),
        x(predicted),
        y(Math.max(0, observed - 2 * samplingError)),
        COLORS.model,
      ),
      `<circle cx="${at(x(predicted))}" cy="${at(y(observed))}" r="4" fill="${COLORS.model}"/>`,
    ]),
  ];
}

/** The maker's mean gain on a bet of 1 in each bucket. */
function gainChart({ buckets }: Report): string[] {
  const gains = buckets.flatMap(({ gain }) => [gain.mock, gain.barrier]);
  const lowest = Math.min(0, ...gains);
  const span = Math.max(0, ...gains) - lowest || 1;
  const y = (gain: number) => TOP + CHART - (gain - lowest) / span * CHART;
  const slot = CHART / 10;
  const bar = (left: number, gain: number, color: string) =>
    `<rect x="${at(left)}" y="${at(Math.min(y(gain), y(0)))}" width="${at(slot * 0.35)}"` +
    ` height="${at(Math.abs(y(gain) - y(0)))}" fill="${color}"/>`;
  return [
    title(RIGHT, "Maker's mean gain on a bet of 1"),
    ...frame(RIGHT),
    line(RIGHT, y(0), RIGHT + CHART, y(0), "#333"),
    ...[lowest, 0, lowest + span].map((tick) => text(RIGHT - 22, y(tick) + 4, tick.toFixed(2))),
    ...[0, 0.5, 1].map((tick) => text(RIGHT + tick * CHART, TOP + CHART + 18, tick.toFixed(1))),
    text(RIGHT + CHART / 2, TOP + CHART + 38, "predicted probability"),
    ...(["mock", "barrier"] as const).map((payer, index) =>
      `<text x="${RIGHT + CHART - 60}" y="${TOP + 18 + index * 16}" fill="${COLORS[payer]}">` +
      `${payer}</text>`
    ),
    ...buckets.flatMap(({ from, gain }) => [
      bar(RIGHT + from * CHART + slot * 0.1, gain.mock, COLORS.mock),
      bar(RIGHT + from * CHART + slot * 0.55, gain.barrier, COLORS.barrier),
    ]),
  ];
}

function title(x: number, words: string): string {
  return `<text x="${x}" y="${TOP - 20}" font-size="15" font-weight="bold">${words}</text>`;
}

function frame(left: number): string[] {
  return [
    `<rect x="${left}" y="${TOP}" width="${CHART}" height="${CHART}" fill="none" stroke="#999"/>`,
  ];
}

function line(x1: number, y1: number, x2: number, y2: number, color: string): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="${color}"/>`;
}

function text(x: number, y: number, words: string): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="middle">${words}</text>`;
}

function at(coordinate: number): string {
  return coordinate.toFixed(1);
}
