import assert from "node:assert/strict";
import { completedCommands, type CompletedOption } from "../../../../lib/cli/completion/tree.ts";
import { command, type CommandEntries } from "../../../../lib/cli/command.ts";
import * as kinds from "../../../../lib/cli/option_kinds.ts";
import { flagsOf, type OptionTable } from "../../../../lib/cli/options.ts";

function entryOf(name: string, options: OptionTable, subcommands: CommandEntries = {}) {
  const text = { name, description: "", examples: [], subcommands };
  const run = command({ ...text, options, run: () => Promise.resolve(0) });
  return { summary: `summary of ${name}`, open: () => Promise.resolve({ run }) };
}

/** What is completed of one option, and of the logging options and help that every command has. */
async function completionOf(spec: OptionTable[string]): Promise<readonly CompletedOption[]> {
  const [, sample] = await completedCommands({ sample: entryOf("sample", { level: spec }) });
  return sample?.options ?? [];
}

Deno.test("completedCommands: the program, then each command before its subcommands", async () => {
  const deep = { inner: entryOf("outer inner", {}) };
  const tree = await completedCommands({
    outer: entryOf("outer", {}, deep),
    last: entryOf("last", {}),
  });
  assert.deepEqual(tree.map(({ path }) => path), [[], ["outer"], ["outer", "inner"], ["last"]]);
  assert.deepEqual(tree[1]?.subcommands, [{ name: "inner", summary: "summary of outer inner" }]);
});

Deno.test("completedCommands: every command also takes --config, the logging options and --help", async () => {
  const [, ...rest] = await completionOf({
    flags: "--level",
    description: "",
    kind: kinds.flag,
  });
  const names = rest.map(({ flags }) => flags.at(-1));
  assert.deepEqual(names, ["--config", "--json-logs", "--log-level", "--help"]);
});

const level = kinds.choice(["low", "high"]);
const values: readonly (readonly [string, kinds.OptionKind, string, string[]])[] = [
  ["--level <level>", level, "choice", ["low", "high"]],
  ["-l, --level", kinds.toggle, "choice", ["true", "false"]],
  ["--level", kinds.file, "file", []],
  ["--level", kinds.outputFile, "file", []],
  ["--level", kinds.database, "file", []],
  ["--level", kinds.directory, "directory", []],
  ["--level", kinds.httpUrl, "other", []],
  ["--level <filename>", kinds.text, "other", []],
];

for (const [flags, kind, completes, choices] of values) {
  const shown = flagsOf({ flags, kind, description: "" });
  Deno.test(`completedCommands: ${shown} takes ${completes} ${choices.join("|")}`, async () => {
    const [option] = await completionOf({ flags, kind, description: "" });
    assert.equal(option?.value?.kind, completes);
    assert.deepEqual(option?.value?.choices, choices);
    assert.equal(option?.value?.isOptional, shown.includes("["));
  });
}

Deno.test("completedCommands: a flag takes nothing, a toggle has its opposite", async () => {
  const spec = { flags: "-l, --level", description: "on" };
  const [plain, next] = await completionOf({ ...spec, kind: kinds.flag });
  assert.deepEqual([plain?.flags, plain?.value], [["-l", "--level"], undefined]);
  assert.deepEqual(next?.flags, ["--config"]);
  const [on, off] = await completionOf({ ...spec, kind: kinds.toggle });
  assert.deepEqual([on?.flags, on?.value?.isOptional], [["-l", "--level"], true]);
  assert.deepEqual([off?.flags, off?.description], [["--no-level"], "same as --level=false"]);
});
