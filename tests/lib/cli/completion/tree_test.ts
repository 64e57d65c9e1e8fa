import assert from "node:assert/strict";
import { z } from "zod";
import { completedCommands, type CompletedOption } from "../../../../lib/cli/completion/tree.ts";
import { command, type CommandEntries } from "../../../../lib/cli/command.ts";
import { switchSchema } from "../../../../lib/cli/option_types.ts";
import type { OptionTable } from "../../../../lib/cli/options.ts";

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

Deno.test("completedCommands: the program, then each command before those below it", async () => {
  const deep = { inner: entryOf("outer inner", {}) };
  const tree = await completedCommands({
    outer: entryOf("outer", {}, deep),
    last: entryOf("last", {}),
  });
  assert.deepEqual(tree.map(({ path }) => path), [[], ["outer"], ["outer", "inner"], ["last"]]);
  assert.deepEqual(tree[1]?.subcommands, [{ name: "inner", summary: "summary of outer inner" }]);
});

Deno.test("completedCommands: every command also takes the logging options and --help", async () => {
  const [, ...rest] = await completionOf({
    flags: "--level",
    description: "",
    schema: switchSchema,
  });
  assert.deepEqual(rest.map(({ flags }) => flags.at(-1)), ["--json-logs", "--log-level", "--help"]);
});

const level = z.enum(["low", "high"]);
const values: readonly (readonly [flags: string, z.ZodType, kind: string, choices: string[]])[] = [
  ["--level <level>", level, "choice", ["low", "high"]],
  ["--level <level>", level.optional(), "choice", ["low", "high"]],
  ["--level <level>", z.string().pipe(level).transform((text) => text), "choice", ["low", "high"]],
  ["-l, --level [boolean]", switchSchema, "choice", ["true", "false"]],
  ["--level <file>", z.string(), "file", []],
  ["--level <file|url>", z.string(), "file", []],
  ["--level <path>", z.string(), "folder", []],
  ["--level <url>", z.string(), "other", []],
  ["--level <filename>", z.string(), "other", []],
];

for (const [flags, schema, kind, choices] of values) {
  Deno.test(`completedCommands: ${flags} of ${schema.type} takes ${kind}`, async () => {
    const [option] = await completionOf({ flags, description: "", schema });
    assert.equal(option?.value?.kind, kind);
    assert.deepEqual(option?.value?.choices, choices);
    assert.equal(option?.value?.isOptional, flags.includes("["));
  });
}

Deno.test("completedCommands: a switch takes nothing, a negatable one has its opposite", async () => {
  const spec = { flags: "-l, --level", description: "on", schema: switchSchema, negatable: true };
  const [on, off] = await completionOf(spec);
  assert.deepEqual([on?.flags, on?.value], [["-l", "--level"], undefined]);
  assert.deepEqual([off?.flags, off?.description], [["--no-level"], "same as --level=false"]);
});
