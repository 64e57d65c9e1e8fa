/**
 * The commands of the documents: if a command can run here, its output is that of the document; all
 * other commands of this program exist, with their options.
 */
import assert from "node:assert/strict";
import { withTaskNames } from "../../lib/cli/command.ts";
import { seededRandom } from "../../lib/random.ts";
import config from "../../deno.json" with { type: "json" };
import { greetingOf, type RunningStack } from "../../services/stack/stack.ts";
import { parseCommandLine } from "../house/option_tables.ts";
import { eventually } from "../support/eventually.ts";
import { simulatedTape, tapeText } from "../solver/backtest/support.ts";
import {
  type DocumentedCommand,
  DOCUMENTS,
  type Passage,
  passagesOf,
  patternOf,
} from "./documents.ts";
import { Shell } from "./shell.ts";
import { filePath, fileUrl, hasProgram, readText, run, withStack } from "./support.ts";
import { withFolder } from "../support/files.ts";

/** What a command of a document is run with. */
interface Place {
  shell: Shell;
  greeting: string;
  demo: Promise<string>;
}

type Act = (command: string, place: Place) => Promise<string>;

/** Commands that run here, by their beginning. */
const ACTS: readonly (readonly [RegExp, Act])[] = [
  [/^(price=\$\()?(curl|promtool) /, (command, { shell }) => shell.run(command)],
  [
    /^deno task (doctor bridge --port 3001|bridge --check)$/,
    (command, { shell }) => shell.diagnose(command),
  ],
  [
    /^(\w+=0x… )?deno task (exchanges|oracle|node|proxy|bridge|solver|console)\b(?! \w)/,
    start,
  ],
  [/^(npx --yes deno@2\.9\.6|deno) task demo$/, (_command, { demo }) => demo],
  // The default ports may be in use here: the greeting is that of the stack that the test started.
  [/^npx --yes deno@2\.9\.6 task stack$/, (_command, { greeting }) => Promise.resolve(greeting)],
  [/^deno task backtest --tape trades\.csv$/, backtest],
  [/^deno run --allow-all tests\/bench\/\w+\.ts$/, benchmark],
  [/^deno install --frozen=false$/, install],
];

const RUNBOOKS = readText("tests/e2e/runbooks_test.ts");

/** How to run a command of a chapter; undefined if it does not run here, or with the runbooks. */
function actOf({ text }: DocumentedCommand, chapter: string): Act | undefined {
  const [, heading] = /^##+ (.*)$/m.exec(chapter) ?? [];
  if (RUNBOOKS.includes(`blocksOf("${heading}"`)) return undefined;
  return ACTS.find(([pattern]) => pattern.test(text))?.[1];
}

async function start(command: string, { shell }: Place): Promise<string> {
  await shell.start(command);
  return "";
}

/** Runs Deno at the top of the repository to exit code 0. @returns What it printed. */
async function deno(...args: string[]): Promise<string> {
  const { code, text, stdout } = await run(Deno.execPath(), args, { cwd: filePath(".") });
  assert.equal(code, 0, text);
  return stdout.trim();
}

function backtest(command: string): Promise<string> {
  return withFolder(async (folder) => {
    const rows = simulatedTape(seededRandom(3), { volatility: 0.6, durationMs: 120_000 });
    await Deno.writeTextFile(`${folder}/trades.csv`, tapeText(rows));
    const here = command.replaceAll(/\b\w+\.csv\b/g, `${folder}/$&`).split(" ");
    return await deno("run", "-A", "main.ts", "solver", "backtest", ...here.slice(3));
  });
}

/** With as few deposits, quotes and executions as do. */
function benchmark(command: string): Promise<string> {
  return deno(...command.split(" ").slice(1), "2", "2");
}

/** On a copy: the result must be the committed lock file. */
function install(command: string): Promise<string> {
  return withFolder(async (folder) => {
    for (const name of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(fileUrl(name), `${folder}/${name}`);
    }
    const { code, text } = await run(Deno.execPath(), command.split(" ").slice(1), { cwd: folder });
    assert.equal(code, 0, text);
    assert.equal(await Deno.readTextFile(`${folder}/deno.lock`), readText("deno.lock"));
    return text;
  });
}

const tasks: Record<string, string> = config.tasks;

const passages = DOCUMENTS.flatMap(passagesOf);

/** The words behind `rangemaker` of a command, or of the task that it names. */
function argumentsOf(command: string): string[] | undefined {
  const [, task, line = ""] =
    /^(?:\w+=\S+ )?(?:rangemaker|(?:npx --yes )?deno\S* (task)) (\w[^|#]*)/.exec(command) ?? [];
  const [name = "", ...words] = line.trim().split(/\s+/);
  if (task === undefined) return line === "" ? undefined : [name, ...words];
  const text = tasks[name] ?? assert.fail(`No task ${name}: ${command}`);
  const [, own] = / main\.ts (.*)$/.exec(text) ?? [];
  return own === undefined ? undefined : [...own.split(" "), ...words];
}

Deno.test("Documents: every command and option that they contain exists", async () => {
  for (const { document, commands } of passages) {
    for (const { text } of commands) {
      const argv = argumentsOf(text);
      if (argv === undefined) continue;
      // A value that a shell would fill in may be wrong: unknown options are reported before it.
      await parseCommandLine(argv, () => undefined).catch(({ message }: Error) =>
        assert.match(message, /^(Invalid|Missing) /, `${document}: ${text}`)
      );
    }
  }
});

/**
 * Whether running a passage shows more than that its commands and options exist: services are started
 * if something is asked of them, and once each as its task.
 */
function showsSomething({ chapter, commands }: Passage): boolean {
  const acts = commands.map((command) => actOf(command, chapter));
  return acts.some((act) => act !== undefined && act !== start) ||
    acts.includes(start) && chapter.startsWith("## Each service on its own\n");
}

async function runPassage({ document, chapter, commands }: Passage, place: Place): Promise<void> {
  for (const command of commands) {
    const act = actOf(command, chapter);
    if (act === undefined || missing.some((name) => command.text.includes(`${name} `))) continue;
    await expectAnswer(document, command, () => act(command.text, place), place.shell);
  }
}

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
    return pattern.test(answer);
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

async function pricesOf({ urls }: RunningStack): Promise<void> {
  await eventually("prices of all sources, at the node too", async () => {
    const { oracle } = await (await fetch(`${urls.node}/health`)).json();
    const { pairSources } = await (await fetch(`${urls.oracle}/providers`)).json();
    const isFull = Object.values<{ sources: string[] }>(pairSources)
      .every(({ sources }) => sources.length === 4);
    return isFull && oracle === "fresh";
  });
}

Deno.test(`Documents: their commands run and print what the document says${leftOut}`, {
  timeout: 300_000,
}, async (t) => {
  // What waits for the demo comes last: it has ended by then.
  const waits = ({ commands }: Passage) => commands.some(({ text }) => text.endsWith(" demo"));
  const runnable = passages.filter(showsSomething)
    .toSorted((one, other) => Number(waits(one)) - Number(waits(other)));
  const texts = runnable.flatMap(({ commands }) => commands.map(({ text }) => text));
  for (const [pattern] of ACTS) assert(texts.some((text) => pattern.test(text)), pattern.source);
  await withStack((stack) =>
    withDemo(async (demo) => {
      await pricesOf(stack);
      const greeting = withTaskNames(greetingOf(stack.urls).join("\n"), { env: () => "" });
      for (const passage of runnable) {
        await t.step(`${passage.document}: ${passage.commands[0]?.text.slice(0, 70)}`, async () => {
          await using shell = new Shell(stack);
          await runPassage(passage, { shell, greeting, demo });
        });
      }
    })
  );
});
