/**
 * The documents tell the truth: console blocks marked `run` are run against a stack, their answers
 * compared; tables of metrics are those of the program (`UPDATE_DOCS=1` writes them anew); links
 * lead somewhere.
 */
import assert from "node:assert/strict";
import type { RunningStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { fileUrl, hasProgram, readText, run, withStack } from "./support.ts";

const documents = ["architecture.md", "operating.md", "scaling.md", "security.md"]
  .map((name) => `docs/${name}`);

/** A fenced block: its words after the fence, and what is in it. */
interface Block {
  document: string;
  language: string;
  marks: string[];
  text: string;
}

const blocks: Block[] = documents.flatMap((document) =>
  [...readText(document).matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(
    ([, language = "", marks = "", text = ""]) => ({
      document,
      language,
      marks: marks.trim().split(" "),
      text,
    }),
  )
);

/** Replaces the default address of every service by where it is. */
function relocated(text: string, { urls }: RunningStack): string {
  const places: [number, string][] = [
    [8545, urls.node],
    [8546, urls.proxy],
    [8547, urls.nodeRead],
    [8550, urls.oracle],
    [3000, urls.solver],
    [3001, urls.bridge],
  ];
  return places.reduce(
    (result, [port, url]) => result.replaceAll(`localhost:${port}`, new URL(url).host),
    text,
  );
}

/** A command of a block, and the answer that the document shows: `…` stands for anything. */
function* commandsOf(text: string): Generator<{ command: string; answer: string }> {
  for (const [, command = "", answer = ""] of text.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
    yield { command, answer: answer.trim() };
  }
}

function patternOf(answer: string): RegExp {
  const parts = answer.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`);
}

const hasCurl = hasProgram("curl");

Deno.test("Documents: every block of commands says whether it is run", () => {
  for (const { document, language, marks, text } of blocks) {
    if (!["console", "sh", "bash"].includes(language)) continue;
    assert(marks[0] === "run" || marks[0] === "not-run", `${document}: ${text}`);
  }
});

for (const document of documents) {
  const runnable = blocks.filter((block) => block.document === document && block.marks[0] === "run")
    // After "run", the programs that a block needs beside curl.
    .filter(({ marks }) => marks.slice(1).every(hasProgram));
  if (runnable.length === 0) continue;
  Deno.test({
    name: `${document}: its commands answer as it says${
      hasCurl ? "" : " (left out: no curl here)"
    }`,
    ignore: !hasCurl,
    async fn() {
      await withStack(async (stack) => {
        await eventually("prices at the node", async () => {
          const { oracle } = await (await fetch(`${stack.urls.node}/health`)).json();
          return oracle === "fresh" || undefined;
        });
        for (const { text } of runnable) {
          for (const { command, answer } of commandsOf(text)) {
            const result = await run("bash", ["-c", relocated(command, stack)], {
              cwd: fileUrl(".").pathname,
            });
            assert.match(result.text.trim(), patternOf(relocated(answer, stack)), command);
          }
        }
      });
    },
  });
}

/** The metrics of a service as rows of a table, from what it serves. */
async function metricRows(url: string): Promise<string[][]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)]
    .map(([, name = "", help = "", type = ""]) => [`\`${name}\``, type, help]);
}

const isCommon = ([name = ""]: string[]) => name.startsWith("`process_");

/** The chapters of metrics, one for all services and one for each. */
async function metricsChapters({ urls }: RunningStack): Promise<Map<string, string[][]>> {
  const { proxy, oracle, node, bridge, solver, exchanges = "" } = urls;
  const services = Object.entries({ proxy, oracle, node, bridge, solver, exchanges });
  const chapters = new Map([["every service", (await metricRows(proxy)).filter(isCommon)]]);
  for (const [name, url] of services) {
    chapters.set(name, (await metricRows(url)).filter((row) => !isCommon(row)));
  }
  return chapters;
}

const METRICS = /<!-- metrics -->.*?(?=\n## )/s;

Deno.test("docs/operating.md: lists every metric with its meaning, and no other", async () => {
  await withStack(async (stack) => {
    const chapters = await metricsChapters(stack);
    const head = "| metric | type | meaning |\n| --- | --- | --- |\n";
    if (Deno.env.get("UPDATE_DOCS") === "1") {
      const text = [...chapters].map(([name, rows]) =>
        `**Of ${name}**\n\n${head}${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n`
      ).join("\n");
      const operating = readText("docs/operating.md")
        .replace(METRICS, () => `<!-- metrics -->\n\n${text}`);
      Deno.writeTextFileSync(fileUrl("docs/operating.md"), operating);
      await run(Deno.execPath(), ["fmt", fileUrl("docs/operating.md").pathname]);
    }
    const [part = ""] = METRICS.exec(readText("docs/operating.md")) ?? [];
    const listed = [...part.matchAll(/^\| (`.*) \|$/gm)]
      .map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
    assert.deepEqual(listed, [...chapters.values()].flat());
  });
});

/** The anchor of a heading, as Git hosts make it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\s-]/g, "").replaceAll(" ", "-");
}

Deno.test("Documents: every link leads to a file and a heading that exist", () => {
  for (const document of documents) {
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

Deno.test("Documents: every file of the repository that they name exists", () => {
  for (const document of documents) {
    const names = readText(document).matchAll(
      /`((?:docs|tests|lib|services|\.ci)\/[\w./-]*|(?:main|compose|deno)\.\w+|Dockerfile)`/g,
    );
    for (const [, name = ""] of names) assert(Deno.statSync(fileUrl(name)), `${document}: ${name}`);
  }
});
