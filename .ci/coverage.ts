/**
 * `deno task coverage [--raise] [folder]`: how much of lib/, services/ and main.ts was
 * reached by `deno task suite --coverage --coverage-raw-data-only`, which leaves its data in
 * `coverage/` unless another folder is named. Fails below the thresholds of deno.json. `--raise`
 * raises the thresholds to the measured coverage, less a margin; nothing lowers them.
 */
import { parseArgs } from "node:util";
import config from "../deno.json" with { type: "json" };

/** In percent: how much coverage varies between runs of the randomised tests. */
const MARGIN = 0.5;

/** In percent: a threshold that is exceeded by this much has to be raised. */
const SLACK = 1;

const { values, positionals: [folder = "coverage"] } = parseArgs({
  allowPositionals: true,
  options: {
    raise: { type: "boolean", default: false },
  },
});

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
const raised = { ...thresholds };
for (const kind of ["lines", "branches", "functions"] as const) {
  const threshold = thresholds[kind];
  console.log(`Coverage, ${kind}: ${measured[kind]} % (at least ${threshold} %)`);
  raised[kind] = Math.max(threshold, Math.round(10 * (measured[kind] - MARGIN)) / 10);
  if (measured[kind] > threshold + SLACK && !values.raise) {
    console.log(`The threshold for ${kind} is to be raised: deno task coverage --raise`);
  }
}
if (values.raise) {
  const url = new URL("../deno.json", import.meta.url);
  const text = Deno.readTextFileSync(url);
  const replaced = Object.entries(raised).reduce(
    (result, [kind, value]) => result.replace(new RegExp(`("${kind}": )[\\d.]+`), `$1${value}`),
    text,
  );
  Deno.writeTextFileSync(url, replaced);
} else if (!success) {
  console.error(decoder.decode(stderr));
  Deno.exit(1);
}
