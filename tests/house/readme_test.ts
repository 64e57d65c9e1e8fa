/**
 * The README's option tables are those of the code. `UPDATE_README=1 deno task test tests/house`
 * writes them anew; `deno fmt` aligns them.
 */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { flagsOf, type OptionSpec, type OptionTable } from "../../lib/cli/options.ts";
import { OPTION_TABLES } from "./option_tables.ts";

const readmeUrl = new URL("../../README.md", import.meta.url);

/** Options that the README tells once for all services. */
const COMMON = new Set(["HOST", "CHAIN_ID"]);

const HEAD = "| option | variable | default | meaning |\n| --- | --- | --- | --- |\n";

/** The option table of a service in the README: where it stands, and its rows as cells. */
function readTable(readme: string, service: string) {
  const start = readme.indexOf("| option", readme.indexOf(`\n### ${service}\n`));
  const end = readme.indexOf("\n\n", start);
  const rows = readme.slice(start, end).split("\n").slice(2)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
  return { start, end, rows };
}

function rowsOf(table: OptionTable): string[][] {
  return Object.values(table)
    .filter((spec: OptionSpec) => !COMMON.has(spec.env ?? ""))
    .map((spec: OptionSpec) => [
      code(flagsOf(spec)),
      code(spec.env),
      code(spec.default || spec.shownDefault),
      escaped(spec.description),
    ]);
}

function code(text: string | undefined): string {
  return text === undefined ? "" : `\`${escaped(text)}\``;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}

Deno.test("README: names every dependency", () => {
  const [, section = ""] = Deno.readTextFileSync(readmeUrl).split("\n## Dependencies\n");
  const unnamed = Object.keys(config.imports).filter((name) => !section.includes(`\`${name}\``));
  assert.deepEqual(unnamed, []);
});

for (const [service, table] of Object.entries(OPTION_TABLES)) {
  Deno.test(`README: the options of ${service} are those of the program`, () => {
    let readme = Deno.readTextFileSync(readmeUrl);
    const expected = rowsOf(table);
    if (Deno.env.get("UPDATE_README") === "1") {
      const { start, end } = readTable(readme, service);
      const text = HEAD + expected.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
      readme = readme.slice(0, start) + text + readme.slice(end);
      Deno.writeTextFileSync(readmeUrl, readme);
    }
    assert.deepEqual(readTable(readme, service).rows, expected);
  });
}
