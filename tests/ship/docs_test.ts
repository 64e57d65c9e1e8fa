/**
 * The documents are correct: tables of metrics are those of the program (`UPDATE_DOCS=1` rewrites
 * them), links work, and files and options exist. `commands_test.ts` runs their commands.
 */
import assert from "node:assert/strict";
import { parseMarkets } from "../../lib/cli/markets_file.ts";
import { type OptionTable, parseOptions, withDefaults } from "../../lib/cli/options.ts";
import { configOption } from "../../lib/cli/shared_options.ts";
import type { CommandEntries } from "../../lib/cli/command.ts";
import { visibleOptions } from "../../lib/cli/completion.ts";
import type { CommandName } from "../../lib/cli/option_names.ts";
import { DEPOSIT_ID_TYPE, DEPOSIT_REQUEST_TYPE } from "../../lib/protocol/deposit.ts";
import { PROBLEMS } from "../../lib/problems/mod.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { nodeMethods } from "../../lib/protocol/methods/all.ts";
import { developmentMethods } from "../../lib/protocol/methods/development.ts";
import { QUOTE_TYPE } from "../../lib/protocol/quote.ts";
import { TRANSACTION_ERROR_CODES } from "../../lib/protocol/receipt.ts";
import { TRANSACTION_TYPES } from "../../lib/protocol/transaction.ts";
import type { FlatType } from "../../lib/protocol/typed_data.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { answerOfCode, COMMON_ERRORS } from "../../lib/http/error_answers.ts";
import { failureResponse } from "../../lib/http/json_api.ts";
import { commands } from "../../main.ts";
import { BRIDGE_ERRORS } from "../../services/bridge/errors.ts";
import { SOLVER_ERRORS } from "../../services/solver/error_answers.ts";
import { options as nodeOptions, resolveSettings } from "../../services/node/options.ts";
import type { RunningStack } from "../../services/stack/stack.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { DOCUMENTS } from "./documents.ts";
import { filePath, fileUrl, readText, run, withStack } from "./support.ts";
import { withFile } from "../support/files.ts";

async function metricRows(url: string): Promise<string[][]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)]
    .map(([, name = "", help = "", type = ""]) => [`\`${name}\``, type, help]);
}

const isCommon = ([name = ""]: string[]) => name.startsWith("`process_");

async function metricsChapters({ urls }: RunningStack): Promise<Map<string, string[][]>> {
  const { proxy, oracle, node, bridge, solver, exchanges = "" } = urls;
  const services = Object.entries({ proxy, oracle, node, bridge, solver, exchanges });
  const chapters = new Map([["every service", (await metricRows(proxy)).filter(isCommon)]]);
  for (const [name, url] of services) {
    chapters.set(name, (await metricRows(url)).filter((row) => !isCommon(row)));
  }
  return chapters;
}

const METRICS = /<!-- metrics -->.*/s;

Deno.test("docs/reference.md: lists every metric with its meaning, and no other", async () => {
  await withStack(async (stack) => {
    const chapters = await metricsChapters(stack);
    const head = "| metric | type | meaning |\n| --- | --- | --- |\n";
    if (Deno.env.get("UPDATE_DOCS") === "1") {
      const text = [...chapters].map(([name, rows]) =>
        `**Of ${name}**\n\n${head}${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n`
      ).join("\n");
      const reference = readText("docs/reference.md")
        .replace(METRICS, () => `<!-- metrics -->\n\n${text}`);
      Deno.writeTextFileSync(fileUrl("docs/reference.md"), reference);
      await run(Deno.execPath(), ["fmt", filePath("docs/reference.md")]);
    }
    const [part = ""] = METRICS.exec(readText("docs/reference.md")) ?? [];
    const listed = [...part.matchAll(/^\| (`.*) \|$/gm)]
      .map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
    assert.deepEqual(listed, [...chapters.values()].flat());
  });
});

/** The anchor of a heading, as Git hosts make it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\s-]/g, "").replaceAll(" ", "-");
}

Deno.test("Documents: every link leads to an existing file and heading", () => {
  for (const document of DOCUMENTS) {
    for (const [, target = ""] of readText(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const url = path === "" ? fileUrl(document) : new URL(path, fileUrl(document));
      const text = Deno.readTextFileSync(url);
      if (anchor === undefined) continue;
      const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
        anchorOf(heading)
      );
      assert(anchors.includes(anchor), `${document}: ${target}`);
    }
  }
});

Deno.test("Documents of operators: each begins with a table of its contents, without the alerts", () => {
  const alerts: readonly string[] = PROBLEMS.map(({ name }) => name);
  for (const name of ["deploying", "operating", "runbooks"]) {
    const [head = "", ...chapters] = readText(`docs/${name}.md`).split(/^(?=##)/m);
    const headings = chapters.map((chapter) => /^#+ (.*)$/m.exec(chapter)?.[1] ?? "");
    const listed = [...head.matchAll(/^ *- \[(.*)\]\(#(.*)\)$/gm)];
    assert.deepEqual(
      listed.map(([, heading = ""]) => heading),
      headings.filter((heading) => !alerts.includes(heading)),
    );
    for (const [, heading = "", anchor] of listed) assert.equal(anchor, anchorOf(heading));
  }
});

Deno.test("Documents: every file that they name exists", () => {
  for (const document of DOCUMENTS) {
    const names = readText(document).matchAll(
      /`((?:docs|tests|lib|services|\.ci)\/[\w./-]*|(?:main|compose|deno)\.\w+|Dockerfile)`/g,
    );
    for (const [, name = ""] of names) assert(Deno.statSync(fileUrl(name)), `${document}: ${name}`);
  }
});

function tomlOf(path: string): string[] {
  return [...readText(path).matchAll(/```toml\n([^]*?)```/g)].map(([, text = ""]) => text);
}

Deno.test("docs/deploying.md: the markets file is read", () => {
  const { list } = parseMarkets(tomlOf("docs/deploying.md")[1] ?? "", "deploying.md");
  assert.deepEqual(list.map(({ symbol }) => symbol), ["BTC/USDT", "DOGE/USDT"]);
  assert.deepEqual(list[0], SPEC_MARKETS.list[0]);
  assert.deepEqual(list[1]?.exchangeSymbols, { provider_c: "XDG/USDT" });
});

Deno.test("docs/deploying.md: every service accepts the settings file; the node's section has the defaults", () =>
  withFile(tomlOf("docs/deploying.md")[0] ?? "", async (path) => {
    for (const [name, table] of Object.entries(OPTION_TABLES)) {
      const { definition } = (await commands[name as CommandName].load()).run; // tables have these names
      const read = <T extends OptionTable>(table: T) =>
        parseOptions(definition, table, ["--config", path], () => undefined);
      read({ ...table, config: configOption });
      if (name !== "node") continue;
      const { config: _, ...given } = read({ ...nodeOptions, config: configOption });
      const defaults = resolveSettings(withDefaults(nodeOptions, {}), SPEC_MARKETS);
      assert.deepEqual(resolveSettings(given, SPEC_MARKETS), { ...defaults, isDevGenesis: false });
    }
  }));

const prose = DOCUMENTS.map(readText).join("\n");

async function flagsOf(entries: CommandEntries): Promise<string[]> {
  const flags = Object.values(entries).map(async ({ load }) => {
    const { run: { definition, subcommands } } = await load();
    const own = [...visibleOptions(), ...visibleOptions(definition.options)];
    return [...own.map(({ long }) => `${long}`), ...await flagsOf(subcommands)];
  });
  return (await Promise.all(flags)).flat();
}

// Those within a command are parsed by `commands_test.ts`, if the command is one of this program.
Deno.test("Documents: every option that they name exists", async () => {
  const others = ["--allow-net", "--allow-env", "--allow-read", "--jobs"]; // of Deno and of the suite
  const own = await flagsOf(commands);
  const named = [...prose.matchAll(/`(--[a-z][a-z-]*)/g)].map(([, option = ""]) => option);
  const unknown = new Set(named).difference(new Set([...others, ...own]));
  assert.deepEqual(unknown, new Set());
});

/** The document as one line, since a phrase may continue on the next. */
const protocol = readText("docs/protocol.md").replaceAll(/\s+/g, " ");

function typeString({ primaryType, fields }: FlatType): string {
  return `${primaryType}(${fields.map(({ type, name }) => `${type} ${name}`).join(",")})`;
}

Deno.test("docs/protocol.md: lists exactly the types that the code signs or hashes", () => {
  const types = [
    QUOTE_TYPE,
    DEPOSIT_REQUEST_TYPE,
    DEPOSIT_ID_TYPE,
    ...Object.values(TRANSACTION_TYPES),
  ];
  const listed = protocol.match(/Core:\w+\([^)]*\)/g) ?? [];
  assert.deepEqual(new Set(listed), new Set(types.map(typeString)));
});

Deno.test("docs/protocol.md: lists exactly the methods of the node", () => {
  const [, chapter = ""] = /## JSON-RPC of the core node(.*?) ## /.exec(protocol) ?? [];
  const names = new Set(chapter.match(/\b(?:(?:core|eth|net|web3)_\w+|rpc\.discover)/g));
  assert.deepEqual(names, new Set(Object.keys(nodeMethods)));
});

Deno.test("docs/protocol.md: lists exactly the development methods of the node", () => {
  const [, chapter = ""] = /## Development methods of the node(.*?) ## /.exec(protocol) ?? [];
  const rows = chapter.match(/\| `core_\w+`/g)?.map((row) => row.slice(3, -1));
  assert.deepEqual(rows, Object.keys(developmentMethods));
});

Deno.test("docs/reference.md: each error code has the status and the retry of its answer", () => {
  const [, chapter = ""] = /\n## Error codes\n([^]*?)\n## /.exec(readText("docs/reference.md")) ??
    [];
  const answers = { ...BRIDGE_ERRORS, ...SOLVER_ERRORS };
  const rows = [...chapter.matchAll(/^\| (`[A-Z_`, ]+`) +\| (\d+) +\| `(\w+)`/gm)];
  for (const [, codes = "", status, retry] of rows) {
    for (const code of codes.match(/[A-Z_]+/g) ?? []) {
      const answer = answerOfCode(code, answers);
      assert.deepEqual([`${answer.status}`, answer.retry], [status, retry], code);
    }
  }
  assert(rows.length > 40);
});

Deno.test("docs/reference.md: lists exactly the codes that begin the error on every route", async () => {
  const [, text = ""] = /that every service has: ([^]*?)\. /.exec(readText("docs/reference.md")) ??
    [];
  const prefixed: string[] = [];
  for (const code of [...Object.keys(COMMON_ERRORS), "INTERNAL_ERROR"]) {
    const { error } = await failureResponse(new RangemakerError(code, "Text")).json();
    if (error === `${code}: Text`) prefixed.push(code);
  }
  assert.deepEqual(text.match(/[A-Z_]+/g)?.toSorted(), prefixed.toSorted());
});

Deno.test("docs/protocol.md: lists exactly the codes of failed transactions", () => {
  const [, codes = ""] = /with `status: "failed"` and one of (.*?)\. - /.exec(protocol) ?? [];
  assert.deepEqual(codes.match(/[A-Z_]+/g), [...TRANSACTION_ERROR_CODES]);
});
