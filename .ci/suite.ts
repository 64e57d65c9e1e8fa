/**
 * `deno task suite [flag of deno test]…`: all tests, as the gate runs them. The test files of a service
 * and those of `tests/lib` share an isolate: they load the modules that they have in common once, which
 * takes half a second of CPU. `deno task test` gives each file an isolate of its own.
 */
import { readdirSync } from "node:fs";
import config from "../deno.json" with { type: "json" };
import { joinReports } from "./verdict.ts";

/**
 * Test files that start stacks and browsers. Those of a line share an isolate, and start in this
 * order, beside all others: lines that take longest first, so that none is left alone at the end.
 * They run without coverage, like {@link HEAVY}.
 */
const LONG = [
  /^tests\/e2e\/runbooks_/,
  /^tests\/console\/(chart|chart_keys|keyboard|moving_price|page_layout|phone|trade)_test/,
  /^tests\/(bridge|solver)\/killed_process_test/,
  /^tests\/ship\/(client_examples|examples|prometheus)_/,
  /^tests\/console\/outage_test/,
  /^tests\/ship\/commands_/,
  /^tests\/ship\/package_/,
  /^tests\/ship\/containers_/,
  /^tests\/e2e\/(markets|restore)_/,
  /^tests\/console\/one_intention_test/,
  /^tests\/console\/board_test/,
  /^tests\/ship\/front_/,
];

/**
 * Test files that attack, or compute long. Coverage would make them twice as long, and the thresholds
 * are reached without it. They start when most others have ended.
 */
const HEAVY = [
  /^tests\/(simulation\/|proxy\/node\/read_nodes_model_)/,
  /^tests\/hostile\//,
  /^tests\/solver\/pricing\/(box_|candle|d\w+_no_touch|early_users|forward|largest|volatility|window)/,
  /^tests\/solver\/(api|market\/volatility_keeper|backtest\/backtest)_/,
  /^tests\/console\/page\/trade\/suggested_draft_test/,
];

/**
 * Test files that share no isolate with the others of their service: those of the specification
 * without its stack, since whatever they start has to end with them, those whose requests to
 * services that are away end after them, and those that wait for PostgreSQL most of their time.
 */
const APART = /^tests\/(lib\/intents\/|spec\/configuration_|console\/page\/data\/session_)/;

/**
 * The test files of each isolate: in the order of {@link LONG} and {@link HEAVY}, and with coverage
 * those of a folder of `tests/`, folders with most files first.
 */
function isolatesOf(files: readonly string[]) {
  const groupsOf = (patterns: readonly RegExp[]) =>
    patterns.map((pattern) => files.filter((file) => pattern.test(file)))
      .filter((group) => group.length > 0);
  const [long, heavy] = [groupsOf(LONG), groupsOf(HEAVY)];
  const isUncovered = new Set([...long, ...heavy].flat());
  const folders = Map.groupBy(
    files.filter((file) => !isUncovered.has(file)),
    (file) => `${APART.test(file)}${file.split("/").slice(0, 2).join("/")}`,
  );
  const covered = [...folders.values()].toSorted((a, b) => b.length - a.length);
  return { long, heavy, covered };
}

/** The paths that `deno test` takes for tests. */
const TEST_FILE = /(^|\/)(__tests__\/.*|(.*[._])?test)\.([cm]?[jt]s|[jt]sx)$/;

/** The test files below a folder, by their paths from there. */
export function testFilesBelow(folder: string | URL): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => TEST_FILE.test(path) && !/(^|\/)(\.git|node_modules)\//.test(path))
    .toSorted();
}

/**
 * What tests see of the environment: where programs, packages and servers are. A variable that
 * changes what a test does, such as a number of cases, is for `deno task test` alone.
 */
const VISIBLE =
  /^(PATH|HOME|LANG|TMPDIR|NO_COLOR|DENO_DIR|DENO_JOBS|TEST_POSTGRES_URL|ANVIL|npm_config_(registry|cache|userconfig)|HTTPS?_PROXY|NO_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS)$/i;

const root = new URL("../", import.meta.url);

/**
 * Writes a module that imports the files of an isolate: Deno starts files in the order of its arguments
 * only if they are in one folder.
 *
 * @returns Its path.
 */
async function entryOf(files: readonly string[], folder: string): Promise<string> {
  const entry = `${folder}/with_${files[0]?.replaceAll("/", "_")}`;
  const imports = files.map((file) => `import ${JSON.stringify(`${root}${file}`)};\n`);
  await Deno.writeTextFile(entry, imports.join(""));
  return entry;
}

if (import.meta.main) {
  Deno.chdir(root);
  const folder = await Deno.makeTempDir();
  try {
    const { long, heavy, covered } = isolatesOf(testFilesBelow("."));
    const [report] = Deno.args.flatMap((arg) => arg.match(/(?<=^--junit-path=).*/) ?? []);
    const uncovered = Deno.args.filter((arg) => !arg.startsWith("--coverage"));
    const [, ...task] = config.tasks.test.split(" ");
    const env = Object.fromEntries(
      Object.entries(Deno.env.toObject()).filter(([name]) => VISIBLE.test(name)),
    );
    // The tests get it too, and end; the folder is removed after them.
    let isInterrupted = false;
    Deno.addSignalListener("SIGINT", () => isInterrupted = true);
    const ended: { code: number; xml: string | undefined }[] = [];
    const run = async (isolates: string[][], flags: readonly string[], jobs: number) => {
      if (isolates.length === 0 || isInterrupted) return;
      const entries = await Promise.all(isolates.map((files) => entryOf(files, folder)));
      const junit = `${entries[0]}.xml`;
      const own = report === undefined ? [] : [`--junit-path=${junit}`];
      const others = flags.filter((flag) => !flag.startsWith("--junit-path="));
      const { code } = await new Deno.Command(Deno.execPath(), {
        args: [...task, ...others, ...own, ...entries],
        clearEnv: true,
        env: { DENO_JOBS: `${jobs}`, ...env, SUITE_FOLDER: folder },
      }).spawn().status;
      ended.push({ code, xml: await Deno.readTextFile(junit).catch(() => undefined) });
    };
    const cores = navigator.hardwareConcurrency;
    // While long tests wait, for processes and for time to pass, the others compute.
    await Promise.all([
      run(long, uncovered, Math.ceil(1.5 * cores)),
      run(covered, Deno.args, cores).then(() => run(heavy, uncovered, cores)),
    ]);
    const joined = joinReports(ended.map(({ xml }) => xml));
    if (report !== undefined && joined !== undefined) await Deno.writeTextFile(report, joined);
    // Tests that got the signal fail themselves; others may pass, and those that wait do not run.
    Deno.exitCode = isInterrupted ? 130 : Math.max(...ended.map(({ code }) => code));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
