/** Reads the report of the tests and decides whether a change may land. */

const RECORDINGS = "Replays traffic of exchanges that the repository does not contain";

function recording(provider: string, file: string): string {
  const name = `every frame of ${file}.ndjson is understood, every price exact`;
  return `tests/oracle/recordings_test.ts: Provider provider_${provider}: ${name}`;
}

/** Tests that may be skipped on CI, as `file: name`, and why. Any other skipped test is a failure. */
export const ALLOWED_SKIPS: Readonly<Record<string, string>> = {
  [recording("a", "binance-aggtrade-2021")]: RECORDINGS,
  [recording("b", "coinbase-ticker-2021-04-17")]: RECORDINGS,
  [recording("d", "okx-tickers-2022-05-13")]: RECORDINGS,
  "tests/ship/containers_test.ts: compose.yaml as containers: a bet, restarts, down and up":
    "Needs root, podman, and a machine that allows mounts and namespaces",
};

/** Counts in a report of `deno test --junit-path`. */
export interface Totals {
  passed: number;
  /** Failed tests as `file: name`, each with the beginning of its error. */
  failed: string[];
  /** Skipped tests as `file: name`. */
  skipped: string[];
  /** Files with at least one test. */
  files: Set<string>;
}

/** One test: its name, its file and, if it did not pass, its result. All texts in it are escaped. */
const TEST_CASE =
  /<testcase name="([^"]*)" classname="(?:\.\/)?([^"]*)"[^>]*>\s*(?:<(failure|error|skipped)\b(?:[^>]*>([^<]{0,1000}))?)?/g;

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescaped(text: string): string {
  return text.replaceAll(/&(\w+);/g, (whole, word) => ENTITIES[word] ?? whole);
}

const SUITES = /<testsuites\b[^>]*>([^]*)<\/testsuites>\s*$/;

/** One report of several runs. @returns Undefined if one of them is not complete. */
export function joinReports(xmls: readonly (string | undefined)[]): string | undefined {
  const suites = xmls.map((xml = "") => SUITES.exec(xml)?.[1]);
  if (suites.includes(undefined)) return undefined;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>${suites.join("")}</testsuites>\n`;
}

/** Counts the tests of a report. @returns Undefined if the report is not complete. */
export function readReport(xml: string | undefined): Totals | undefined {
  if (xml === undefined || !/<\/testsuites>\s*$/.test(xml)) return undefined;
  const totals: Totals = { passed: 0, failed: [], skipped: [], files: new Set() };
  for (const [, name, file = "", outcome, thrown = ""] of xml.matchAll(TEST_CASE)) {
    totals.files.add(unescaped(file));
    if (outcome === undefined) totals.passed += 1;
    else if (outcome === "skipped") totals.skipped.push(unescaped(`${file}: ${name}`));
    else totals.failed.push(unescaped(`${file}: ${name}\n${thrown}`.trim()));
  }
  return totals;
}

/** Whether a change may land, with the reasons if not. */
export interface Verdict {
  isGreen: boolean;
  problems: string[];
  passed: number;
  /** `N passed, N failed, N skipped`. Unless the gate is green, at least one has failed. */
  summary: string;
}

/** What a report has to contain. */
export interface Expected {
  /** Each has at least one test. */
  files: readonly string[];
  /** So many tests passed, steps included. */
  passedMin: number;
  allowed?: Readonly<Record<string, string>>;
}

/**
 * Judges a run.
 *
 * @param xml The report of the tests, or undefined if there is none.
 * @param earlier Earlier problems: steps that failed, programs that are missing.
 */
export function judge(
  xml: string | undefined,
  earlier: readonly string[],
  { files, passedMin, allowed = ALLOWED_SKIPS }: Expected,
): Verdict {
  const problems = [...earlier];
  const totals = readReport(xml);
  const { passed, failed, skipped } = totals ?? { passed: 0, failed: [], skipped: [] };
  if (totals === undefined) {
    problems.push("The tests left no complete report");
  } else {
    const silent = files.filter((file) => !totals.files.has(file));
    for (const file of silent) problems.push(`No test ran in ${file}`);
    if (passed < passedMin) {
      problems.push(
        `${passed} tests passed, fewer than suite.passedMin of deno.json: ${passedMin}`,
      );
    }
  }
  for (const name of failed) problems.push(`Failed: ${name}`);
  for (const name of skipped) {
    if (!Object.hasOwn(allowed, name)) problems.push(`Skipped, and not in ALLOWED_SKIPS: ${name}`);
  }
  const isGreen = problems.length === 0;
  const shown = isGreen ? 0 : Math.max(1, failed.length);
  return {
    isGreen,
    problems,
    passed,
    summary: `${passed} passed, ${shown} failed, ${skipped.length} skipped`,
  };
}
