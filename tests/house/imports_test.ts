/** Holds the three rules of the house on the import graph, as Deno itself resolves it. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };

interface Module {
  specifier: string;
  dependencies?: {
    specifier: string;
    code?: { specifier?: string };
    type?: { specifier?: string };
  }[];
}

const root = new URL("../../", import.meta.url).href;

/** Path below the project's root, or undefined for anything outside it. */
function placeOf(specifier: string): string | undefined {
  return specifier.startsWith(root) ? specifier.slice(root.length) : undefined;
}

/** Every import between files of the project that is reached from what the project exports. */
async function importGraph(): Promise<Map<string, string[]>> {
  const modules = (await Promise.all(Object.values(config.exports).map(modulesFrom))).flat();
  const graph = new Map<string, string[]>();
  for (const module of modules) {
    const place = placeOf(module.specifier);
    if (place === undefined) continue;
    graph.set(
      place,
      (module.dependencies ?? []).map((dependency) => {
        const target = dependency.code?.specifier ?? dependency.type?.specifier ??
          dependency.specifier;
        return placeOf(target) ?? target;
      }),
    );
  }
  return graph;
}

async function modulesFrom(entry: string): Promise<Module[]> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL(entry, root).pathname],
    stdout: "piped",
  }).output();
  assert(success);
  return JSON.parse(new TextDecoder().decode(stdout)).modules;
}

function* sourceFiles(folder: string): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(folder, root))) {
    const place = `${folder}${entry.name}`;
    if (entry.isDirectory) yield* sourceFiles(`${place}/`);
    else if (entry.name.endsWith(".ts")) yield place;
  }
}

const graph = await importGraph();

/** The service a file belongs to, or undefined. */
function serviceOf(place: string): string | undefined {
  return /^services\/([^/]+)\//.exec(place)?.[1];
}

Deno.test("House, rule 1: no service but the stack imports another", () => {
  const crossings: string[] = [];
  for (const [place, targets] of graph) {
    const own = serviceOf(place);
    if (own === undefined || own === "stack") continue;
    for (const target of targets) {
      const other = serviceOf(target);
      if (other !== undefined && other !== own) crossings.push(`${place} imports ${target}`);
    }
  }
  assert.deepEqual(crossings, []);
});

Deno.test("House, rule 2: lib imports no service", () => {
  const crossings = [...graph].filter(([place]) => place.startsWith("lib/"))
    .flatMap(([place, targets]) =>
      targets.filter((target) => serviceOf(target) !== undefined || target === "main.ts")
        .map((target) => `${place} imports ${target}`)
    );
  assert.deepEqual(crossings, []);
});

Deno.test("House, rule 2: lib/protocol names no API that does I/O, and imports no module that may", () => {
  const allowed = /^(lib\/protocol\/|lib\/errors\.ts$|npm:|viem|zod|@noble\/curves)/;
  for (const place of sourceFiles("lib/protocol/")) {
    const text = Deno.readTextFileSync(new URL(place, root));
    assert(!/\bDeno\.|\bfetch\(|\bWebSocket\b|node:/.test(text), `${place} mentions I/O`);
    for (const target of graph.get(place) ?? []) {
      assert(allowed.test(target), `${place} imports ${target}`);
    }
  }
});

Deno.test("House, rule 3: every module of lib and services is reached from the exports", () => {
  const unreached = [...sourceFiles("lib/"), ...sourceFiles("services/")]
    .filter((place) => !graph.has(place));
  assert.deepEqual(unreached, []);
});

Deno.test("House: main.ts imports no service before a command is chosen", () => {
  const text = Deno.readTextFileSync(new URL("main.ts", root));
  assert(!/^(?:import|export)\s[^;(]*"[^"]*services\//m.test(text));
});
