/** Completion: the program's answers, and the shells themselves, which ask it at each Tab. */
import assert from "node:assert/strict";
import { STRATEGIES } from "../../../services/solver/pricing/strategy.ts";
import { runHere } from "../../support/command_context.ts";
import { withFolder } from "../../support/files.ts";
import { bundledProgram, hasProgram, lineOf } from "../../support/process.ts";
import { lacksTerminal, NEEDS_TERMINAL, Terminal } from "../../support/terminal.ts";

Deno.test("Completion: offers what may come next, by the option table of the command", async () => {
  const offers = async (line: string) =>
    (await runHere(["complete", ...line.split(" ")])).stdout.match(/^[^\t\n]+/gm);
  const includes = async (line: string, word: string) => (await offers(line))?.includes(word);

  assert.deepEqual(await offers("solver "), ["backtest", "deposit", "reconcile"]);
  assert.deepEqual(await offers("-"), ["--version", "--help"]);
  assert.deepEqual(await offers("solver --dry-run --pricing "), Object.keys(STRATEGIES));
  assert.deepEqual(await offers("solver --pricing=b"), Object.keys(STRATEGIES));
  assert.deepEqual(await offers("solver --pricing = b"), Object.keys(STRATEGIES)); // as bash splits it
  assert.deepEqual(await offers("proxy --trust-proxy "), ["true", "false"]);
  assert.deepEqual(await offers("bridge --keystore "), [":file"]);
  assert.deepEqual(await offers("node -d "), [":directory"]);
  // The value of this option may be left out, so an option may follow.
  assert(await includes("proxy --trust-proxy -", "--no-trust-proxy"));
  assert(await includes("solver --dry-run ", "--log-level"));
  // A command comes before all options, and a value is no command.
  assert(!await includes("solver --dry-run ", "backtest"));
  assert(await includes("solver backtest -", "--tape"));
  assert(!await includes("solver --database backtest -", "--tape"));
  assert.deepEqual(await offers("solver --port "), null);
});

const completed: readonly (readonly [typed: string, lastWord: string])[] = [
  ["solver back\t", "backtest"],
  ["solver --pricing=b\t", "--pricing=barrier"],
  ["backfill --market E\t", "ETH/USDT"],
  ["bridge --keystore ./some\t", "./some key.json"],
  ["node --data-dir=\t", "--data-dir=folder"],
];

const RANGEMAKER = lineOf(await bundledProgram());

/** Text on a command line that completion must not run. */
const HOSTILE = "bridge --host $(touch made) --rpc";

/** Runs a test in a folder with the shell's script, the program, and files to complete. */
function inShell(name: string, shell: string, test: (folder: string) => Promise<void>) {
  const isMissing = !hasProgram(shell);
  Deno.test({
    name: `Completion in ${shell}: ${name}` + (isMissing ? ` (left out: no ${shell} here)` : ""),
    ignore: isMissing || (shell !== "fish" && lacksTerminal),
    fn: () =>
      withFolder(async (folder) => {
        const program = `#!/bin/sh
case $1 in complete) exec ${RANGEMAKER} "$@" ;; esac
shift $(($# - 1)); printf 'ran:%s:\\n' "$1"`;
        await Deno.writeTextFile(`${folder}/rangemaker`, program, { mode: 0o755 });
        const { stdout: script } = await runHere(["completion", shell]);
        await Deno.writeTextFile(`${folder}/script`, script);
        await Deno.writeTextFile(`${folder}/some key.json`, "{}");
        await Deno.mkdir(`${folder}/folder`);
        await test(folder);
        await assert.rejects(Deno.stat(`${folder}/made`), Deno.errors.NotFound);
      }),
  });
}

const READY = "ready>";

for (const shell of ["bash", "zsh"]) {
  inShell(`Tab on a terminal completes${NEEDS_TERMINAL}`, shell, async (folder) => {
    const prepare = shell === "zsh" ? "autoload -U compinit && compinit -u -D" : "";
    const rc = [`PS1='${READY}' PATH=.:$PATH`, prepare, "source ./script"];
    await Deno.writeTextFile(`${folder}/.zshrc`, rc.join("\n"));
    const start = shell === "zsh"
      ? "ZDOTDIR=. exec zsh -i"
      : "exec bash --noprofile --rcfile .zshrc -i";
    const terminal = new Terminal(`cd ${folder} && ${start}`);
    await terminal.untilShown(READY);
    for (const [typed, lastWord] of completed) {
      terminal.stdout = "";
      await terminal.type(`rangemaker ${typed}\n`);
      await terminal.untilShown(/ran:.*:\r?\n[^]*ready>/);
      const [, word] = /ran:(.*):\r?\n/.exec(terminal.stdout) ?? [];
      // Zsh removes the slash after a folder at the end of a line.
      assert.equal(word?.replace(/\/$/, ""), lastWord, typed);
    }
    if (shell === "zsh") {
      await terminal.type("rangemaker \t");
      await terminal.untilShown("market maker: signs quotes, executes them");
      await terminal.type("\x15");
    }
    await terminal.type(`rangemaker ${HOSTILE}\t`);
    await terminal.untilShown("--rpc-url");
    // Ctrl-U clears the line; Ctrl-C could arrive while the list is still being drawn.
    await terminal.type("\x15exit\n");
    await terminal.finished();
  });
}

inShell("completes the last word", "fish", async (folder) => {
  for (const [typed, lastWord] of [...completed, [HOSTILE, "--rpc-url"]] as const) {
    const { stdout, stderr } = await new Deno.Command("fish", {
      args: ["-N", "-c", "source ./script; complete -C $argv[1]", `rangemaker ${typed.trimEnd()}`],
      cwd: folder,
      env: { PATH: `${folder}:${Deno.env.get("PATH")}` },
    }).output();
    const [offers, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.deepEqual([offers?.replace(/\/?(\t.*)?\n$/, ""), errors], [lastWord, ""]);
  }
});
