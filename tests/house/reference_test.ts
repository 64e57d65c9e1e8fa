/**
 * The option tables of `docs/reference.md` match the code.
 * `UPDATE_DOCS=1 deno task test tests/house` rewrites them; `deno fmt` aligns them.
 */
import assert from "node:assert/strict";
import { flagsOf, type OptionSpec, type OptionTable } from "../../lib/cli/options.ts";
import type { CommandEntries } from "../../lib/cli/command.ts";
import config from "../../deno.json" with { type: "json" };
import { commands } from "../../main.ts";
// Whole before the tables are read: another test's static import of a command may be under way, and
// the runtime then hands out a module that has not run yet.
import "../../services/stack/doctor.ts";
import "../../services/stack/mod.ts";

const referenceUrl = new URL("../../docs/reference.md", import.meta.url);
const contributingUrl = new URL("../../CONTRIBUTING.md", import.meta.url);
const readmeUrl = new URL("../../README.md", import.meta.url);

/** Options that the reference lists once for all services. */
const COMMON = /^--(host|allowed-hosts|chain-id|config|json-logs|log-level|check)\b/;

const HEAD = "| option | variable | default | meaning |\n| --- | --- | --- | --- |\n";

/** The option table of a service in the reference: its place, and its rows as cells. */
function readTable(reference: string, service: string) {
  const start = reference.indexOf("| option", reference.indexOf(`\n### ${service}\n`));
  const end = reference.indexOf("\n\n", start);
  const rows = reference.slice(start, end).split("\n").slice(2)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
  return { start, end, rows };
}

function rowsOf(table: OptionTable): string[][] {
  return Object.values(table)
    .filter((spec: OptionSpec) => !COMMON.test(spec.flags))
    .map((spec: OptionSpec) => [
      code(flagsOf(spec)),
      code(spec.env),
      code(spec.default || undefined),
      escaped(spec.description),
    ]);
}

function code(text: string | undefined): string {
  return text === undefined ? "" : `\`${escaped(text)}\``;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}

Deno.test("CONTRIBUTING: names every dependency", () => {
  const [, section = ""] = Deno.readTextFileSync(contributingUrl).split("\n## Dependencies\n");
  const unnamed = Object.entries(config.imports)
    .filter(([name, target]) => target.startsWith("npm:") && !section.includes(`\`${name}\``));
  assert.deepEqual(unnamed, []);
});

Deno.test("README: describes every command as --help does", () => {
  const rows = Deno.readTextFileSync(readmeUrl).matchAll(/^\| `(\w+)` +\| (.*?) +\|.*\|$/gm);
  const described = new Map([...rows].map(([, name, summary]) => [name, summary]));
  const expected = Object.entries(commands).map(([name, { summary }]) => [name, summary]);
  assert.deepEqual(Object.fromEntries(described), Object.fromEntries(expected));
});

/** The option tables of these commands and of all below them that have options of their own. */
async function optionTables(entries: CommandEntries, above = ""): Promise<[string, OptionTable][]> {
  const found = await Promise.all(
    Object.entries(entries).map(async ([name, entry]): Promise<[string, OptionTable][]> => {
      const { run: { definition, subcommands } } = await entry.load();
      const path = above + name;
      // `doctor <service>` accepts the options of both.
      const below = path === "doctor" ? [] : await optionTables(subcommands, `${path} `);
      const { options } = definition;
      return rowsOf(options).length === 0 ? below : [[path, options], ...below];
    }),
  );
  return found.flat();
}

const tables = await optionTables(commands);

Deno.test("docs/reference.md: names the commands that accept --chain-id", () => {
  const [, list = ""] =
    /; ([^;]*?)\saccept\s`--chain-id`/.exec(Deno.readTextFileSync(referenceUrl)) ??
      [];
  const accepting = tables.filter(([, { chainId }]) => chainId !== undefined).map(([name]) => name);
  assert.deepEqual(list.replaceAll("\n", " ").split(/, | and /).toSorted(), accepting.toSorted());
});

for (const [service, table] of tables) {
  Deno.test(`docs/reference.md: the options of ${service} are those of the program`, () => {
    let reference = Deno.readTextFileSync(referenceUrl);
    const expected = rowsOf(table);
    if (Deno.env.get("UPDATE_DOCS") === "1") {
      const { start, end } = readTable(reference, service);
      const text = HEAD + expected.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
      reference = reference.slice(0, start) + text + reference.slice(end);
      Deno.writeTextFileSync(referenceUrl, reference);
    }
    assert.deepEqual(readTable(reference, service).rows, expected);
  });
}
