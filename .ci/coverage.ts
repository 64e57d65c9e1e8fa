/**
 * `deno task coverage [folder]`: how much of lib/, services/ and main.ts was reached by
 * `deno task suite --coverage --coverage-raw-data-only`, which leaves its data in `coverage/` unless
 * another folder is named. Fails below the thresholds of deno.json, which only rise.
 */
import config from "../deno.json" with { type: "json" };

/** In percent: a threshold that is exceeded by this much is to be raised to half a point below. */
const SLACK = 1;

const [folder = "coverage"] = Deno.args;

const root = new URL("../", import.meta.url).href;
const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
  args: [
    "coverage",
    `--include=^${root}(lib/|services/|main\\.ts)`,
    folder,
  ],
  env: { NO_COLOR: "1" },
}).output();
const decoder = new TextDecoder();
const [, branches, functions, lines] =
  /^\| All files +\| +([\d.]+) \| +([\d.]+) \| +([\d.]+) \|$/m.exec(decoder.decode(stdout)) ?? [];
if (lines === undefined) {
  console.error(decoder.decode(stderr));
  Deno.exit(1);
}

const { thresholds } = config.coverage;
const measured = { lines: Number(lines), branches: Number(branches), functions: Number(functions) };
for (const kind of ["lines", "branches", "functions"] as const) {
  console.log(`Coverage, ${kind}: ${measured[kind]} % (at least ${thresholds[kind]} %)`);
  if (measured[kind] > thresholds[kind] + SLACK) {
    console.log(`The threshold for ${kind} in deno.json is to be raised`);
  }
}
if (!success) {
  console.error(decoder.decode(stderr));
  Deno.exit(1);
}
