/** Every example of every help text is one that the program takes. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { type CommandEntries, openCommand, type RunnableCommand } from "../../lib/cli/command.ts";
import { parseOptions } from "../../lib/cli/options.ts";
import { commands } from "../../main.ts";

/** Every command, with those below it. */
async function allCommands(entries: CommandEntries): Promise<RunnableCommand[]> {
  const opened = await Promise.all(Object.values(entries).map((entry) => entry.open()));
  const below = opened.map(({ run }) => allCommands(run.subcommands));
  return [...opened.map(({ run }) => run), ...(await Promise.all(below)).flat()];
}

/** The arguments behind `rangemaker` in a line for a shell, up to what is the shell's own. */
function argumentsIn(line: string): string[] | undefined {
  const [, words] = /(?:^|<\()rangemaker((?: [^\s)|>]+)*)/.exec(line) ?? [];
  return words?.split(" ").filter((word) => word !== "");
}

/** The command that arguments lead to, and what is left for it. */
async function follow(argv: readonly string[], entries: CommandEntries) {
  const [name = "", ...rest] = argv;
  const run = await openCommand(entries, name);
  const flagsAt = rest.findIndex((word) => word.startsWith("-"));
  const words = rest.slice(0, flagsAt < 0 ? rest.length : flagsAt);
  for (const word of words) assert(Object.hasOwn(run.subcommands, word), `${name} ${word}`);
  const [below = ""] = words;
  // Of several words, none is followed: the doctor's services.
  const isBelow = words.length === 1;
  return {
    run: isBelow ? await openCommand(run.subcommands, below) : run,
    rest: rest.slice(words.length),
  };
}

/** An environment in which every key is given, as the examples suppose. */
function env(name: string): string | undefined {
  return name.endsWith("PRIVATE_KEY") ? DEV_ACCOUNTS.admin.privateKey : undefined;
}

for (const { definition } of await allCommands(commands)) {
  const { name, examples } = definition;
  Deno.test(`rangemaker ${name} --help: its examples are accepted`, async () => {
    assert(examples.length > 0);
    for (const [line, meaning] of examples) {
      assert.notEqual(meaning, "");
      const argv = argumentsIn(line);
      if (argv === undefined) {
        // What is no command of this program asks the one that is being explained.
        const { port } = definition.options;
        assert(line.startsWith(`curl http://127.0.0.1:${port?.default}/`), line);
        continue;
      }
      const { run, rest } = await follow(argv, commands);
      if (rest.includes("--help")) continue;
      assert.doesNotThrow(() => parseOptions(run.definition, run.definition.options, rest, env));
    }
  });
}
