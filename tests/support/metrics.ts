/** The value of a series, by its name and labels, on a page of metrics; NaN without one. */
export function seriesIn(text: string, series: string): number {
  return Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ").at(-1));
}

/** The value of a series that a service has now. */
export async function readSeries(url: string, series: string): Promise<number> {
  return seriesIn(await (await fetch(`${url}/metrics`)).text(), series);
}
