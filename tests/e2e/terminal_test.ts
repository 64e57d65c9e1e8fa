/** Output of commands on a terminal, and in a pipe. */
import assert from "node:assert/strict";
import { TAPE_HEADER } from "../../lib/prices/tape.ts";
import { withFile } from "../support/files.ts";
import { bundledProgram, lineOf, runProgram } from "../support/process.ts";
import { lacksTerminal, NEEDS_TERMINAL, Terminal } from "../support/terminal.ts";

const RANGEMAKER = lineOf(await bundledProgram());

// deno-lint-ignore no-control-regex -- what is looked for are control characters
const COLOR = /\x1b\[[\d;]*m/;

interface Shown {
  line: string;
  env?: Record<string, string>;
  hasColors: boolean;
}

// Its report has lines of all levels, and ends at once.
const doctor =
  `${RANGEMAKER} doctor bridge --rpc-url http://127.0.0.1:9 --port 0 --database :memory:`;
const service = `${RANGEMAKER} exchanges --port 0`;
const shown: Record<string, Shown> = {
  "results on a terminal have colours": { line: doctor, hasColors: true },
  "results have no colours with NO_COLOR": {
    line: doctor,
    env: { NO_COLOR: "1" },
    hasColors: false,
  },
  "results in a pipe have no colours, even with FORCE_COLOR": {
    line: `${doctor} | cat`,
    env: { FORCE_COLOR: "1" },
    hasColors: false,
  },
  "help and usage errors have no colours": {
    line: `${RANGEMAKER} node --help; ${RANGEMAKER} node --nonsense`,
    hasColors: false,
  },
  "logs on a terminal have colours": { line: service, hasColors: true },
  "logs have no colours with NO_COLOR": { line: service, env: { NO_COLOR: "1" }, hasColors: false },
  "logs in a pipe have no colours, even with FORCE_COLOR": {
    line: `${service} 2>&1 | cat`,
    env: { FORCE_COLOR: "3" },
    hasColors: false,
  },
};

for (const [what, { line, env, hasColors }] of Object.entries(shown)) {
  Deno.test({
    name: `Colours: ${what}${NEEDS_TERMINAL}`,
    ignore: lacksTerminal,
    async fn() {
      const terminal = new Terminal(line, env);
      if (line.startsWith(service)) {
        await terminal.untilShown("http://127.0.0.1:");
        await terminal.type("\x03"); // Ctrl-C ends it
      }
      const { stdout: output } = await terminal.finished();
      assert(output.length > 80, output);
      assert.equal(COLOR.test(output), hasColors, output);
    },
  });
}

Deno.test({
  name: `Help: has the width of the terminal, up to 100 columns${NEEDS_TERMINAL}`,
  ignore: lacksTerminal,
  async fn() {
    for (const [columns, widest] of [[80, 80], [200, 100]] as const) {
      const terminal = new Terminal(`stty cols ${columns}; ${RANGEMAKER} proxy --help`);
      const { stdout } = await terminal.finished();
      const [, options = ""] = stdout.replaceAll("\r", "").split(/^(?:Options|Without).*$/m);
      const widths = options.split("\n").map(({ length }) => length);
      assert(Math.max(...widths) <= widest && Math.max(...widths) > widest - 5, options);
    }
  },
});

Deno.test("Progress: without a terminal on standard error nothing is drawn", () => {
  const rows = Array.from(
    { length: 600 },
    (_, index) =>
      `${1_700_000_000_000 + index * 100},${index},buy,${3_000 + Math.sin(index / 50)},1`,
  );
  return withFile([TAPE_HEADER, ...rows].join("\n"), async (tape) => {
    const backtest = ["solver", "backtest", "--tape", tape];
    const { code, stderr } = await runProgram([...backtest, "--log-level", "warning"]);
    assert.deepEqual([code, stderr], [0, ""]);
    if (lacksTerminal) return;
    const { stdout } = await new Terminal(`${RANGEMAKER} ${backtest.join(" ")}`, { NO_COLOR: "1" })
      .finished();
    assert.match(stdout, /\r[█░]{40} \d+ % of 60 s of prices/);
  });
});
