/**
 * Every command of every document, by the rules below: it is run here, or somewhere else, or it
 * cannot be run and its chapter says so. A command that no rule fits fails.
 */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { seededRandom } from "../../lib/random.ts";
import { parseOptions } from "../../lib/cli/options.ts";
import { options as backfillOptions } from "../../services/backfill/mod.ts";
import { describeStack, type RunningStack } from "../../services/stack/stack.ts";
import { runHere } from "../support/command_context.ts";
import { eventually } from "../support/eventually.ts";
import { simulatedTape, tapeText } from "../solver/backtest/support.ts";
import { patternOf } from "./answer_pattern.ts";
import { type DocumentedCommand, DOCUMENTS, type Passage, passagesOf } from "./documents.ts";
import { Shell } from "./shell.ts";
import { fileUrl, hasProgram, readText, run, withStack } from "./support.ts";

/** What a command of a document is run with. */
interface Place {
  shell: Shell;
  /** What the stack that is there says when it is up. */
  greeting: string;
  /** What a demo printed. */
  demo: Promise<string>;
}

/** How a command is exercised. */
type Rule =
  | { kind: "run"; act: (command: string, place: Place) => Promise<string>; needs?: string }
  | { kind: "elsewhere"; file: string; text: string }
  | { kind: "not run" };

/** It is run here. @returns What it printed. */
const here = (act: (command: string, place: Place) => Promise<string>, needs?: string): Rule => ({
  kind: "run",
  act,
  ...(needs === undefined ? {} : { needs }),
});

/** It is run by another file, of which a text says so. */
const elsewhere = (file: string, text: string): Rule => ({ kind: "elsewhere", file, text });

/** It cannot be run where this is built. */
const notRun: Rule = { kind: "not run" };

const RESTORE_TEST = "tests/e2e/restore_test.ts";
const RUNBOOKS_TEST = "tests/e2e/runbooks_test.ts";

/** The first that fits is the rule of a command. */
const RULES: readonly (readonly [RegExp, Rule])[] = [
  [/^curl /, here((command, { shell }) => shell.run(command), "curl")],
  [/^promtool /, here((command, { shell }) => shell.run(command), "promtool")],
  [/^(deno task|rangemaker) (bridge replay|solver reconcile)$/, elsewhere(RESTORE_TEST, "repairs")],
  [/^mkdir -p backup$|^cp (-r )?data\/.* backup\//, elsewhere(RESTORE_TEST, "backups")],
  [/^rm -[rf] data\//, elsewhere(RESTORE_TEST, "restores")],
  [/^sqlite3 /, notRun],
  [
    /^deno task node --relayers /,
    elsewhere("tests/node/store/restart_test.ts", "docs/security.md"),
  ],
  [
    /\brangemaker node backup\b/,
    elsewhere("tests/node/store/backup_test.ts", "rangemaker node backup"),
  ],
  [
    /^(\w+=0x… )?deno task (exchanges|oracle|node|proxy|bridge|solver|console)\b/,
    here(start),
  ],
  [/^(npx --yes deno@2\.9\.6|deno) task demo$/, here((_command, { demo }) => demo)],
  // Its ports may be taken where this runs: what it says is said by the stack that is there.
  [
    /^(npx --yes deno@2\.9\.6|deno) task stack$/,
    here((_command, { greeting }) => Promise.resolve(greeting)),
  ],
  [/^deno task stack --cors-origins \S+$/, elsewhere("tests/e2e/stack_test.ts", "corsOrigins")],
  [/^deno task backtest --tape trades\.csv --svg pictures$/, here(backtest)],
  [
    /^deno task backtest( --candles candles\.csv --strategy docs\/examples\/strategy\.ts)?$/,
    elsewhere("tests/solver/backtest/command_test.ts", "docs/examples/strategy.ts"),
  ],
  [/^deno run --allow-all tests\/bench\/(bridge|solver)_bench\.ts$/, here(benchmark)],
  [/^deno install --frozen=false$/, here(install)],
  [/^deno task doctor bridge --port 3001$/, here((command, { shell }) => shell.diagnose(command))],
  [/^(deno task|rangemaker) doctor ./, elsewhere("tests/doctor/doctor_test.ts", "runDoctor(")],
  [
    /\b(task|rangemaker) completion ./,
    elsewhere("tests/lib/cli/completion/shells_test.ts", "fish"),
  ],
  [/^rangemaker\(\) /, elsewhere("tests/e2e/shell_function_test.ts", "rangemaker()")],
  // Named in a sentence, not given as a line: that there is such a command.
  [/^rangemaker [a-z ]+$/, here(help)],
  [/^deno task( -q)?$/, elsewhere(".ci/gate.ts", '"task"')],
  [
    /^(deno task|rangemaker) <(service|command)>( \[options\])?$/,
    elsewhere("tests/ship/compose_run_test.ts", "startTask("),
  ],
  [
    /^((npx --yes deno@2\.9\.6|(\w+=\S+ )?deno) task test\b|deno test\b)/,
    elsewhere(".ci/suite.ts", "config.tasks.test"),
  ],
  [/^(\w+=\S+ )?deno task suite\b/, elsewhere(".ci/gate.ts", '"suite",')],
  [/^deno task coverage --raise$/, elsewhere(".ci/gate.ts", 'task("coverage"')],
  // It fetches StrykerJS and takes minutes.
  [/^deno task mutate\b/, elsewhere("tests/ship/mutation_test.ts", "deno task mutate")],
  [/^npx --yes deno@2\.9\.6$/, elsewhere(".ci/run", "npx --yes deno@2.9.6")],
  [/^deno task (ok|check)$/, elsewhere(".ci/gate.ts", 'task("check"')],
  // It downloads: there something else stands in for what it would get.
  [/^deno task compile\b/, elsewhere("tests/ship/compile_test.ts", '"compile"')],
  // It asks a public exchange: tests/node runs it against a stand-in, here its options are read.
  [/^deno task backfill /, here(readBackfillOptions)],
  [/^deno task backfill$/, elsewhere("tests/backfill/mod_test.ts", "backfillCommand(")],
  [
    /^(deno task package|npm (pack|install)|npx (esbuild|vitest)|node (bet|--test)|mkdir \.\.\/my|mv|cp -r)\b/,
    elsewhere("tests/ship/package_test.ts", "bet.mjs"),
  ],
  [/^npm publish$/, elsewhere(".ci/package.ts", "npm publish")],
  [/^python3 bet\.py$/, elsewhere("tests/ship/python_test.ts", "bet.py")],
  [/^deno compile$/, elsewhere(".ci/compile.ts", '"compile",')],
  [/^docker compose up --build$/, elsewhere("tests/ship/containers_test.ts", '"containers"')],
  [/^docker /, notRun],
  [/^deno task( -q)? containers$/, elsewhere("tests/ship/containers_test.ts", '"containers"')],
  // They make the secrets of compose.production.yaml.
  [/^(mkdir -m 700 secrets|for name in |echo https:|chmod 444 )/, notRun],
  [/^rangemaker key new --keystore (bridge|solver)_keystore /, notRun],
  [
    /^(deno (run|bundle) .*\b(deposit|bet|fund|page|serve)\.ts\b|import |const html|SOLVER_PRIVATE_KEY=\$)/,
    elsewhere("tests/ship/tutorial_test.ts", "docs/tutorial.md"),
  ],
  [/^import \{ RangemakerClient/, elsewhere("tests/e2e/client_test.ts", "README: the example")],
  [
    /^deno run (--config \S+ )?--allow-net (first_)?bet\.ts$/,
    elsewhere("tests/e2e/client_test.ts", "first_bet.ts"),
  ],
];

function ruleOf({ text }: DocumentedCommand, chapter: string): Rule | undefined {
  const runbook = `blocksOf("${/^### (.*)$/m.exec(chapter)?.[1]}"`;
  if (readText(RUNBOOKS_TEST).includes(runbook)) return elsewhere(RUNBOOKS_TEST, runbook);
  return RULES.find(([pattern]) => pattern.test(text))?.[1];
}

async function start(command: string, { shell }: Place): Promise<string> {
  await shell.start(command);
  return "";
}

/** Runs Deno at the top of the repository to exit code 0. @returns What it printed. */
function deno(...args: string[]): Promise<string> {
  return denoWith({}, args);
}

async function denoWith(options: Deno.CommandOptions, args: string[]): Promise<string> {
  const cwd = fileUrl(".").pathname;
  const { code, text, stdout } = await run(Deno.execPath(), args, { cwd, ...options });
  assert.equal(code, 0, text);
  return stdout.trim();
}

/** Runs Deno without taking coverage, which makes long computations ten times as long. */
function denoUncovered(...args: string[]): Promise<string> {
  const { DENO_COVERAGE_DIR: _, ...env } = Deno.env.toObject();
  return denoWith({ clearEnv: true, env }, args);
}

function readBackfillOptions(command: string): Promise<string> {
  const args = command.replace("<id>", "1").split(" ").slice(3);
  const text = { name: "backfill", description: "", examples: [] };
  parseOptions(text, backfillOptions, args, (variable) => {
    return variable === "RANGEMAKER_BACKFILL_PRIVATE_KEY"
      ? DEV_ACCOUNTS.admin.privateKey
      : undefined;
  });
  return Promise.resolve("");
}

async function help(command: string): Promise<string> {
  const { code, stdout, stderr } = await runHere([...command.split(" ").slice(1), "--help"]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** In a folder of its own, with a simulated tape. */
async function backtest(command: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  const rows = simulatedTape(seededRandom(3), { volatility: 0.6, durationMs: 600_000 });
  await Deno.writeTextFile(`${folder}/trades.csv`, tapeText(rows));
  const here = command.replaceAll(/\b(\w+\.csv|pictures)\b/g, `${folder}/$&`).split(" ");
  const output = await denoUncovered(
    "run",
    "-A",
    "main.ts",
    "solver",
    "backtest",
    ...here.slice(3),
  );
  assert((await Deno.stat(`${folder}/pictures/brier.svg`)).isFile);
  await Deno.remove(folder, { recursive: true });
  return output;
}

/** With as few deposits, quotes and executions as do. */
function benchmark(command: string): Promise<string> {
  return denoUncovered(...command.split(" ").slice(1), "20", "20");
}

/** On a copy: the lock file that is committed is the one that comes out. */
async function install(command: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const name of ["deno.json", "deno.lock"]) {
    await Deno.copyFile(fileUrl(name), `${folder}/${name}`);
  }
  const { code, text } = await run(Deno.execPath(), command.split(" ").slice(1), { cwd: folder });
  assert.equal(code, 0, text);
  assert.equal(await Deno.readTextFile(`${folder}/deno.lock`), readText("deno.lock"));
  await Deno.remove(folder, { recursive: true });
  return text;
}

const passages = DOCUMENTS.flatMap(passagesOf);

Deno.test("Documents: every command is run here or elsewhere, or its chapter says that it is not", () => {
  for (const { document, chapter, commands } of passages) {
    for (const command of commands) {
      const rule = ruleOf(command, chapter);
      assert(rule !== undefined, `${document}: no rule for ${command.text}`);
      if (rule.kind === "elsewhere") {
        assert(readText(rule.file).includes(rule.text), `${rule.file} runs no ${command.text}`);
      }
      if (rule.kind === "not run") {
        assert.match(
          chapter,
          /\bnot run\b/i,
          `${document}: says as if it were run: ${command.text}`,
        );
      }
    }
  }
});

/** Runs the commands of a passage one after the other, in a shell of their own. */
async function runPassage({ document, chapter, commands }: Passage, place: Place): Promise<void> {
  for (const command of commands) {
    const rule = ruleOf(command, chapter);
    if (rule?.kind !== "run") continue;
    if (rule.needs !== undefined && !hasProgram(rule.needs)) continue;
    await expectAnswer(document, command, () => rule.act(command.text, place), place.shell);
  }
}

/** Acts until the answer is that of the document, where that has one. */
async function expectAnswer(
  document: string,
  { text, answer: expected }: DocumentedCommand,
  act: () => Promise<string>,
  shell: Shell,
): Promise<void> {
  let answer = await act();
  if (expected === undefined) return;
  const pattern = patternOf(expected, (each) => shell.relocated(each));
  if (pattern.test(answer)) return;
  // A service that was just started may answer something else at first.
  await eventually(`${document}: ${text}`, async () => {
    answer = await act();
    return pattern.test(answer) || undefined;
  }).catch(() => assert.match(answer, pattern, `${document}: ${text}\nanswers\n${answer}\n`));
}

const missing = ["curl", "promtool"].filter((name) => !hasProgram(name));
const leftOut = missing.length === 0 ? "" : ` (left out: no ${missing.join(", ")} here)`;

/** Runs a test beside a demo, which has ended afterwards. */
async function withDemo(test: (demo: Promise<string>) => Promise<void>): Promise<void> {
  const demo = deno("task", "--quiet", "demo");
  const ended = Promise.allSettled([demo]);
  try {
    await test(demo);
  } finally {
    await ended;
  }
}

/** Resolves when the oracle has all sources and the node its prices. */
async function pricesOf({ urls }: RunningStack): Promise<void> {
  await eventually("prices of all sources, at the node too", async () => {
    const { oracle } = await (await fetch(`${urls.node}/health`)).json();
    const { pairSources } = await (await fetch(`${urls.oracle}/providers`)).json();
    const isFull = Object.values<{ sources: string[] }>(pairSources)
      .every(({ sources }) => sources.length === 4);
    return isFull && oracle === "fresh" || undefined;
  });
}

Deno.test(`Documents: commands run, and answer as the document says${leftOut}`, {
  timeout: 300_000,
}, async (t) => {
  // What waits for the demo comes last: it has ended by then.
  const waits = ({ commands }: Passage) => commands.some(({ text }) => text.endsWith(" demo"));
  const runnable = passages
    .filter(({ chapter, commands }) =>
      commands.some((command) => ruleOf(command, chapter)?.kind === "run")
    )
    .toSorted((one, other) => Number(waits(one)) - Number(waits(other)));
  await withStack((stack) =>
    withDemo(async (demo) => {
      await pricesOf(stack);
      const greeting = [
        "rangemaker stack is up:",
        ...describeStack(stack.urls),
        "Stop it with Ctrl-C.",
      ]
        .join("\n");
      for (const passage of runnable) {
        await t.step(`${passage.document}: ${passage.commands[0]?.text.slice(0, 70)}`, async () => {
          const shell = new Shell(stack);
          try {
            await runPassage(passage, { shell, greeting, demo });
          } finally {
            await shell.close();
          }
        });
      }
    })
  );
});
