/** Holds the rules of the house on the import graph, as Deno itself resolves it. */
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

/** Separate programs: the page, which the console bundles, and the process of the test kit. */
const PROGRAMS = ["services/console/page/main.tsx", "services/stack/test_stack.ts"];

/** Every import between files of the project that the exports reach. */
async function importGraph(): Promise<Map<string, string[]>> {
  const entries = [...Object.values(config.exports), ...PROGRAMS];
  const modules = (await Promise.all(entries.map(modulesFrom))).flat();
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
    else if (/\.tsx?$/.test(entry.name)) yield place;
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

Deno.test("House, rule 2: lib/protocol uses no API that does I/O, and imports no module that may", () => {
  const allowed =
    /^(lib\/protocol\/|lib\/(errors|json|library_messages|newest_map|redact|time)\.ts$|npm:|zod|@noble\/)/;
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

Deno.test("House, rule 4: of lib, the console's page imports only the client, the table of problems and small pure files", () => {
  const ownFiles = /^services\/console\/(page\/|page_config\.ts$)/;
  const allowed =
    /^(npm:\/?(@preact\/signals|preact|viem|d3-scale|zod)@|lib\/((client|problems)\/mod|errors|json|lower_bound|prices\/(price_slots|worst_case_loss)|protocol\/(bet|constants|scalars)|time)\.ts$)/;
  const pages = [...graph].filter(([place]) => ownFiles.test(place) && place.match(/\.tsx?$/));
  assert(pages.length > 40, `${pages.length} files`);
  const crossings = pages.flatMap(([place, targets]) =>
    targets.filter((target) => !ownFiles.test(target) && !allowed.test(target))
      .map((target) => `${place} imports ${target}`)
  );
  assert.deepEqual(crossings, []);
});

Deno.test("House: no .ts module of the console's page imports a .tsx module", () => {
  const crossings = [...graph].filter(([place]) => /^services\/console\/.*\.ts$/.test(place))
    .flatMap(([place, targets]) =>
      targets.filter((target) => target.endsWith(".tsx"))
        .map((target) => `${place} imports ${target}`)
    );
  assert.deepEqual(crossings, []);
});

Deno.test("House, rule 5: only the solver's command imports the backtest, dynamically", () => {
  const folder = "services/solver/backtest/";
  const importers = [...graph].filter(([place, targets]) =>
    !place.startsWith(folder) && targets.some((target) => target.startsWith(folder))
  ).map(([place]) => place);
  assert.deepEqual(importers, ["services/solver/mod.ts"]);
  const text = Deno.readTextFileSync(new URL("services/solver/mod.ts", root));
  assert(!/^(?:import|export)\s[^;(]*"[^"]*backtest\//m.test(text));
});

Deno.test("House: modules of the console's page import zod as a namespace, without its 64 languages", () => {
  const reached = [...reachable("services/console/page/main.tsx")].filter((place) =>
    /\.tsx?$/.test(place)
  );
  assert(reached.length > 80, `${reached.length} files`);
  const named = reached.filter((place) =>
    /^import (?!type )(?!\* as z )[^;]*from "zod";/m.test(
      Deno.readTextFileSync(new URL(place, root)),
    )
  );
  assert.deepEqual(named, []);
});

Deno.test("House: main.ts imports no service before a command is chosen", () => {
  const text = Deno.readTextFileSync(new URL("main.ts", root));
  assert(!/^(?:import|export)\s[^;(]*"[^"]*services\//m.test(text));
});

/** Groups of nodes that reach each other: import cycles. */
function cyclesOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reachable = (from: string): Set<string> => {
    const seen = new Set<string>();
    const queue = [...edges.get(from) ?? []];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push(...edges.get(next) ?? []);
    }
    return seen;
  };
  const reach = new Map([...edges.keys()].map((node) => [node, reachable(node)]));
  const inCycle = [...reach].filter(([node, seen]) => seen.has(node)).map(([node]) => node);
  const groups = inCycle.map((node) =>
    inCycle.filter((other) => reach.get(node)?.has(other) && reach.get(other)?.has(node)).toSorted()
  );
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
}

/** A file and every file of the project that it loads. */
function reachable(entry: string): Set<string> {
  const seen = new Set([entry]);
  for (const place of seen) {
    for (const target of graph.get(place) ?? []) {
      if (graph.has(target)) seen.add(target);
    }
  }
  return seen;
}

/** Import edges between groups of files; files without a group are ignored. */
function edgesBy(groupOf: (place: string) => string | undefined): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const [place, targets] of graph) {
    const from = groupOf(place);
    if (from === undefined) continue;
    const own = edges.get(from) ?? new Set();
    edges.set(from, own);
    for (const target of targets) {
      const to = groupOf(target);
      if (to !== undefined && to !== from) own.add(to);
    }
  }
  return edges;
}

/** The folder of a file in lib/ or a service; the files at the top of a service are one folder. */
function folderOf(place: string): string | undefined {
  return /^(lib|services)\//.test(place) ? place.slice(0, place.lastIndexOf("/")) : undefined;
}

Deno.test("Imports: files have no cycle", () => {
  assert.deepEqual(cyclesOf(edgesBy((place) => /\.tsx?$/.test(place) ? place : undefined)), []);
});

Deno.test("Imports: folders have no cycle, in lib/ and inside each service", () => {
  assert.deepEqual(cyclesOf(edgesBy(folderOf)), []);
});

Deno.test("Imports: packages come first, then those of lib, then the rest", () => {
  const places = [...graph.keys()].filter((place) => /\.tsx?$/.test(place));
  const unsorted = places.filter((place) => {
    const text = Deno.readTextFileSync(new URL(place, root));
    const groups = [...text.matchAll(/^(?:import|\} from) [^;(]*?"([^"]+)"[^;]*;$/gm)]
      .map(([, specifier = ""]) => {
        if (!specifier.startsWith(".")) return 0;
        return placeOf(new URL(specifier, root + place).href)?.startsWith("lib/") ? 1 : 2;
      });
    return groups.some((group, index) => group < (groups[index - 1] ?? 0));
  });
  assert.deepEqual(unsorted, []);
});
