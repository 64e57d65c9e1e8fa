/** The completion scripts, asked by the shells themselves. */
import assert from "node:assert/strict";
import { bashScript } from "../../../../lib/cli/completion/bash.ts";
import { fishScript } from "../../../../lib/cli/completion/fish.ts";
import { completedCommands } from "../../../../lib/cli/completion/tree.ts";
import { zshScript } from "../../../../lib/cli/completion/zsh.ts";
import { commands } from "../../../../main.ts";
import { hasProgram } from "../../../support/process.ts";
import { lacksTerminal, NEEDS_TERMINAL, Terminal } from "../../../support/terminal.ts";
import { withFolder } from "../../../support/files.ts";

const tree = await completedCommands(commands);
const scripts = { bash: bashScript(tree), zsh: zshScript(tree), fish: fishScript(tree) };

const READY = "ready>";

/** Keys, and the resulting line and cursor that each shell must show. */
const completed: readonly (readonly [typed: string, becomes: string])[] = [
  ["sol\t", "solver"],
  ["solver back\t", "solver backtest"],
  ["oracle --min\t", "oracle --min-sources"],
  ["solver --pricing b\t", "solver --pricing barrier"],
  ["solver --pricing=b\t", "solver --pricing=barrier"],
  ["solver --dry-run --log-level w\t", "solver --dry-run --log-level warning"],
  ["proxy --no-tr\t", "proxy --no-trust-proxy"],
  ["proxy --slow-clients c\t", "proxy --slow-clients close"],
  ["proxy --trust-proxy=f\t", "proxy --trust-proxy=false"],
  ["backfill --market E\t", "backfill --market ETH/USDT"],
  ["bridge --keystore ./some\t", "bridge --keystore ./some key.json"],
  ["node -d ./fo\t", "node -d ./folder"],
  ["completion f\t", "completion fish"],
  // An option's value is no command, and not every option's value is known.
  ["solver --database back\t", "solver --database back"],
  ["bridge --port 3\t", "bridge --port 3"],
];

/** A folder with files for completion, and the script. */
function withScript(script: string, test: (folder: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/completion`, script);
    await Deno.writeTextFile(`${folder}/some key.json`, "{}");
    await Deno.mkdir(`${folder}/folder`);
    await test(folder);
  });
}

/** The shell's start-up file: a prompt to wait for, and a function that prints the line's words. */
const RC = [
  `PS1='${READY}'`,
  "rangemaker() { printf 'ran:%s:' \"$*\"; echo; }",
];

/** Starts an interactive shell that has loaded the script. */
async function start(shell: "bash" | "zsh", folder: string): Promise<Terminal> {
  const prepare = shell === "zsh" ? "autoload -U compinit && compinit -u -D" : ":";
  await Deno.writeTextFile(`${folder}/.zshrc`, [...RC, prepare, "source ./completion"].join("\n"));
  const run = shell === "zsh"
    ? "ZDOTDIR=. exec zsh -i"
    : "exec bash --noprofile --rcfile .zshrc -i";
  const terminal = new Terminal(`cd ${folder} && ${run}`);
  await terminal.until(READY);
  return terminal;
}

for (const shell of ["bash", "zsh"] as const) {
  const isMissing = !hasProgram(shell);
  Deno.test({
    name: `Completion in ${shell}: Tab on a terminal completes commands, options and values` +
      (isMissing ? ` (left out: no ${shell} here)` : NEEDS_TERMINAL),
    ignore: isMissing || lacksTerminal,
    fn: () =>
      withScript(scripts[shell], async (folder) => {
        const terminal = await start(shell, folder);
        for (const [typed, becomes] of completed) {
          terminal.output = "";
          await terminal.type(`rangemaker ${typed}\n`);
          await terminal.until(/ran:.*:\r?\n[^]*ready>/);
          const [, words] = /ran:(.*):\r?\n/.exec(terminal.output) ?? [];
          // Zsh removes the slash after a folder at the end of a line.
          assert.equal(words?.replace(/\/$/, ""), becomes, typed);
        }
        await terminal.type("exit\n");
        await terminal.finished();
      }),
  });
}

Deno.test({
  name: `Completion in zsh: descriptions are shown${
    hasProgram("zsh") ? NEEDS_TERMINAL : " (left out: no zsh here)"
  }`,
  ignore: !hasProgram("zsh") || lacksTerminal,
  fn: () =>
    withScript(scripts.zsh, async (folder) => {
      const terminal = await start("zsh", folder);
      await terminal.type("rangemaker \t");
      await terminal.until("market maker: signs quotes, submits theses");
      await terminal.type("bridge --r\t");
      await terminal.until("core node RPC URL");
      // Ctrl-U clears the line; Ctrl-C could arrive while the list is still being drawn.
      await terminal.type("\x15exit\n");
      await terminal.finished();
    }),
});

/** What fish offers for a line, without its descriptions. */
async function askFish(folder: string, line: string): Promise<string[]> {
  const { stdout, stderr } = await new Deno.Command("fish", {
    args: ["--no-config", "-c", "source ./completion; complete -C $argv[1]", line],
    cwd: folder,
  }).output();
  const decoder = new TextDecoder();
  assert.equal(decoder.decode(stderr), "");
  return decoder.decode(stdout).split("\n").filter((row) => row !== "");
}

const noFish = !hasProgram("fish");

Deno.test({
  name: `Completion in fish: completes commands, options and values${
    noFish ? " (left out: no fish here)" : ""
  }`,
  ignore: noFish,
  fn: () =>
    withScript(scripts.fish, async (folder) => {
      for (const [typed, becomes] of completed) {
        const line = `rangemaker ${typed.trimEnd()}`;
        const offers = (await askFish(folder, line)).map((row) => row.split("\t")[0] ?? "");
        // Without offers a line does not change; otherwise the last word is the offer.
        const start = line.slice(0, line.lastIndexOf(" ") + 1);
        const expected = `rangemaker ${becomes}`;
        const lines = offers.map((offer) => `${start}${offer}`.replace(/\/$/, ""));
        assert.deepEqual(lines, expected === line ? [] : [expected], typed);
      }
    }),
});

Deno.test({
  name: `Completion in fish: every option has its description${
    noFish ? " (left out: no fish here)" : ""
  }`,
  ignore: noFish,
  fn: () =>
    withScript(scripts.fish, async (folder) => {
      for (const { path, options } of tree) {
        const rows = await askFish(folder, ["rangemaker", ...path, "--"].join(" "));
        // An option with an optional value is offered a second time, with "=".
        const offers = rows.filter((row) => !row.includes("=\t"));
        const expected = options.map(({ flags, description }) => `${flags.at(-1)}\t${description}`);
        assert.deepEqual(offers.toSorted(), expected.toSorted());
      }
    }),
});

/** Texts that would mean something to a shell. */
const hostile = [{
  path: [],
  options: [{
    flags: ["--odd"],
    description: "it's [odd]: \\ $(touch made) `touch made`",
    value: { name: "a:b", isOptional: false, kind: "other" as const, choices: [] },
    isRepeatable: false,
  }],
  subcommands: [{ name: "one", summary: "don't $(touch made)" }],
}, { path: ["one"], options: [], subcommands: [] }];

const makers = { bash: bashScript, zsh: zshScript, fish: fishScript };

for (const shell of ["bash", "zsh", "fish"] as const) {
  const isMissing = !hasProgram(shell);
  Deno.test({
    name:
      `Completion in ${shell}: hostile texts in an option table are not executed and do not break the script` +
      (isMissing ? ` (left out: no ${shell} here)` : ""),
    ignore: isMissing,
    fn: () =>
      withScript(makers[shell](hostile), async (folder) => {
        const { stderr } = await new Deno.Command(shell, {
          // Without compinit, zsh has no compdef.
          args: ["-c", `${shell === "zsh" ? "compdef() { :; }; " : ""}source ./completion`],
          cwd: folder,
        }).output();
        assert.equal(new TextDecoder().decode(stderr), "");
        await assert.rejects(Deno.stat(`${folder}/made`), Deno.errors.NotFound);
      }),
  });
}
