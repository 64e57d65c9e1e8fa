/** Decisions of `deno task mutate`: which lines to mutate, which tests judge them, and the score. */
import { z } from "zod";

/** Source text by path from the top of the repository. */
export type Sources = ReadonlyMap<string, string>;

/** An import of a file of this repository that remains at run time. */
const IMPORT = /^(?:import|export)\s(?!type\s)(?:[^";]*?\sfrom\s*)?"(\.[^"]+)"/gm;

/** The importers of each file. */
export function importersOf(sources: Sources): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const [path, text] of sources) {
    for (const [, specifier = ""] of text.matchAll(IMPORT)) {
      const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
      importers.set(target, [...importers.get(target) ?? [], path]);
    }
  }
  return importers;
}

/**
 * The test files that judge a source file: the one that mirrors it and those of the mirrored folder
 * that import it; where there are none, the test files that are fewest imports away, only those of
 * the mirrored folder if there are any.
 */
export function testsOf(source: string, importers: ReadonlyMap<string, string[]>): string[] {
  const mirror = `tests/${source.replace(/^services\//, "").replace(/\.ts$/, "_test.ts")}`;
  const folder = mirror.slice(0, mirror.lastIndexOf("/") + 1);
  /** Tests by their distance from the file, in imports. */
  const distances: string[][] = [];
  const seen = new Set([source]);
  for (let layer = [source]; layer.length > 0;) {
    layer = [...new Set(layer.flatMap((path) => importers.get(path) ?? []))]
      .filter((path) => !seen.has(path));
    for (const path of layer) seen.add(path);
    distances.push(layer.filter((path) => path.endsWith("_test.ts")).toSorted());
  }
  const near = (distances[0] ?? []).filter((path) => path.startsWith(folder));
  if (seen.has(mirror)) near.push(mirror);
  if (near.length > 0) return [...new Set(near)].toSorted();
  const nearest = distances.find((tests) => tests.length > 0) ?? [];
  const ofFolder = nearest.filter((path) => path.startsWith(folder));
  return ofFolder.length > 0 ? ofFolder : nearest;
}

/** Files of a service without decisions about money, durability or the protocol. */
const EDGE = /^services\/\w+\/(mod|options|api|metrics|checks|operations)\.ts$/;

/** Whether a file is in one of some folders, or is one of them, and is not the edge of a service. */
export function isWithin(path: string, folders: readonly string[]): boolean {
  return path.endsWith(".ts") && !EDGE.test(path) &&
    folders.some((folder) => path === folder || path.startsWith(`${folder.replace(/\/$/, "")}/`));
}

/** The changed lines in the output of `git diff --unified=0`, in Stryker's form: `file:1-3`. */
export function changedRanges(diff: string): { path: string; range: string }[] {
  let path = "";
  const ranges: { path: string; range: string }[] = [];
  for (const line of diff.split("\n")) {
    const [, file] = /^\+\+\+ b\/(.*)$/.exec(line) ?? [];
    path = file ?? path;
    const [, start, length = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (start === undefined || length === "0") continue;
    ranges.push({ path, range: `${path}:${start}-${Number(start) + Number(length) - 1}` });
  }
  return ranges;
}

/** The part of Stryker's report (the mutation testing report schema) that is read here. */
export const strykerReportSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.string(),
      mutants: z.array(z.object({
        /** A number. */
        id: z.string(),
        mutatorName: z.string(),
        replacement: z.string().optional(),
        status: z.string(),
        location: z.object({
          start: z.object({ line: z.number(), column: z.number() }),
          end: z.object({ line: z.number(), column: z.number() }),
        }),
      })),
    }),
  ),
});

/** A report of Stryker. */
export type StrykerReport = z.output<typeof strykerReportSchema>;

/** What a report says of every n-th mutant, the only ones that were judged. */
export function sampled({ files }: StrykerReport, every: number): StrykerReport {
  const entries = Object.entries(files).map(([path, { source, mutants }]) => [
    path,
    { source, mutants: mutants.filter(({ id }) => Number(id) % every === 0) },
  ]);
  return { files: Object.fromEntries(entries) };
}

/** The report of files that no test imports: each of their mutants counts as survived. */
export function withoutCoverage({ files }: StrykerReport): StrykerReport {
  const entries = Object.entries(files).map(([path, { source, mutants }]) => [
    path,
    {
      source,
      mutants: mutants.map((mutant) =>
        mutant.status === "Survived" ? { ...mutant, status: "NoCoverage" } : mutant
      ),
    },
  ]);
  return { files: Object.fromEntries(entries) };
}

/** Results of the mutants of a folder. A timeout is not a kill: a slow machine times out as well. */
export interface FolderScore {
  killed: number;
  survived: number;
  timedOut: number;
  uncovered: number;
}

/** A mutant that no test detected. */
export interface Survivor {
  place: string;
  mutator: string;
  original: string;
  replacement: string;
}

const COLUMN_OF_STATUS: Record<string, keyof FolderScore> = {
  Killed: "killed",
  Survived: "survived",
  Timeout: "timedOut",
  NoCoverage: "uncovered",
};

interface Position {
  line: number;
  column: number;
}

/** The source between two positions, on one line. */
function textAt(source: string, start: Position, end: Position): string {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1)?.slice(0, end.column - 1) ?? "";
  lines[0] = lines[0]?.slice(start.column - 1) ?? "";
  return lines.map((line) => line.trim()).join(" ");
}

/** Counts mutants by folder and lists the survivors; texts for people are left out. */
export function score(reports: readonly StrykerReport[]) {
  const folders = new Map<string, FolderScore>();
  const survivors: Survivor[] = [];
  for (const [path, { source, mutants }] of reports.flatMap(({ files }) => Object.entries(files))) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    const counts = folders.get(folder) ??
      { killed: 0, survived: 0, timedOut: 0, uncovered: 0 };
    folders.set(folder, counts);
    for (const { mutatorName, replacement = "", status, location: { start, end } } of mutants) {
      const column = COLUMN_OF_STATUS[status];
      if (column === undefined) continue; // ignored, or no valid program
      const original = textAt(source, start, end);
      // Messages, and what only shows in OpenAPI documents: no test should pin down their wording.
      const before = textAt(source, { line: 1, column: 1 }, start);
      if (mutatorName === "StringLiteral" && /\s/.test(original)) continue;
      if (/\.(meta|describe)\([^)]*$/.test(before)) continue;
      counts[column] += 1;
      if (column !== "survived" && column !== "uncovered") continue;
      survivors.push({
        place: `${path}:${start.line}`,
        mutator: mutatorName,
        original: original.slice(0, 100),
        replacement: replacement.replaceAll(/\s+/g, " ").slice(0, 100),
      });
    }
  }
  return { folders, survivors };
}

/** Killed among killed, survived and uncovered, in percent; timeouts count on neither side. */
export function percentKilled({ killed, survived, uncovered }: FolderScore): number {
  const judged = killed + survived + uncovered;
  return judged === 0 ? 100 : Math.round(1_000 * killed / judged) / 10;
}

/** The report as Markdown. */
export function formatScore({ folders, survivors }: ReturnType<typeof score>): string {
  const rows = [...folders].toSorted(([one], [other]) => one < other ? -1 : 1).map((
    [folder, counts],
  ) =>
    `| \`${folder}\` | ${
      percentKilled(counts)
    } % | ${counts.killed} | ${counts.survived} | ${counts.timedOut} | ${counts.uncovered} |`
  );
  const list = survivors.map(({ place, mutator, original, replacement }) =>
    `- ${place} ${mutator}: \`${original}\` → \`${replacement}\``
  );
  return [
    "| folder | score | killed | survived | timed out | no coverage |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
    `Survivors: ${survivors.length}`,
    "",
    ...list,
  ].join("\n") + "\n";
}
