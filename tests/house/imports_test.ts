/** Holds the rules of the house on the import graph, as Deno itself resolves it. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

interface Module {
  specifier: string;
  dependencies?: {
    specifier: string;
    /** Absent for imports of types alone. */
    code?: { specifier?: string };
    type?: { specifier?: string };
    isDynamic?: boolean;
  }[];
}

const root = new URL("../../", import.meta.url).href;

/** Path below the project's root, or undefined for anything outside it. */
function placeOf(specifier: string): string | undefined {
  return specifier.startsWith(root) ? specifier.slice(root.length) : undefined;
}

/** The program, the packages, the page that the console bundles, and the process of the test kit. */
const ENTRIES = [
  "main.ts",
  "lib/client/mod.ts",
  "lib/testing/mod.ts",
  "services/console/page/main.tsx",
  "services/stack/test_stack.ts",
];

/** The modules of the project that the entries reach, by their place. */
async function projectModules(): Promise<Map<string, Module>> {
  const modules = (await Promise.all(ENTRIES.map(modulesFrom))).flat();
  return new Map(modules.flatMap((module) => {
    const place = placeOf(module.specifier);
    return place === undefined ? [] : [[place, module]];
  }));
}

async function modulesFrom(entry: string): Promise<Module[]> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", fileURLToPath(new URL(entry, root))],
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

const modules = await projectModules();

/** The imports of each file: places in the project, and packages. */
const graph = new Map([...modules].map(([place, { dependencies = [] }]) => [
  place,
  dependencies.map(({ specifier, code, type }) => {
    const target = code?.specifier ?? type?.specifier ?? specifier;
    return placeOf(target) ?? target;
  }),
]));

/** What each file loads when it runs: places in the project, and packages as they are written. */
const loads = new Map([...modules].map(([place, { dependencies = [] }]) => [
  place,
  dependencies.filter(({ code }) => code !== undefined)
    .map(({ specifier, code }) => placeOf(code?.specifier ?? specifier) ?? specifier),
]));

/** Each import of some files that is wrong there. */
function wrongImports(
  isOf: (place: string) => boolean,
  isWrong: (target: string, place: string) => boolean,
): string[] {
  return [...graph].filter(([place]) => isOf(place)).flatMap(([place, targets]) =>
    targets.filter((target) => isWrong(target, place))
      .map((target) => `${place} imports ${target}`)
  );
}

/** What is reached from a node: the node itself only within a cycle. */
function reachableFrom(
  node: string,
  edges: ReadonlyMap<string, Iterable<string>>,
): Set<string> {
  const seen = new Set(edges.get(node));
  for (const reached of seen) { // grows meanwhile
    for (const next of edges.get(reached) ?? []) seen.add(next);
  }
  return seen;
}

function serviceOf(place: string): string | undefined {
  return /^services\/([^/]+)\//.exec(place)?.[1];
}

Deno.test("House, rule 1: no service but the stack imports another", () => {
  const isOther = (target: string, place: string) =>
    ![undefined, serviceOf(place)].includes(serviceOf(target));
  const isAlone = (place: string) => ![undefined, "stack"].includes(serviceOf(place));
  assert.deepEqual(wrongImports(isAlone, isOther), []);
});

Deno.test("House, rule 2: lib imports no service", () => {
  const isAbove = (target: string) => serviceOf(target) !== undefined || target === "main.ts";
  assert.deepEqual(wrongImports((place) => place.startsWith("lib/"), isAbove), []);
});

Deno.test("House, rule 2: lib/protocol uses no API that does I/O, and imports no module that may", () => {
  const allowed =
    /^(lib\/protocol\/|lib\/(errors|json|library_messages|newest_map|redact|time)\.ts$|npm:|zod|@noble\/)/;
  for (const place of sourceFiles("lib/protocol/")) {
    const text = Deno.readTextFileSync(new URL(place, root));
    assert(!/\bDeno\.|\bfetch\(|\bWebSocket\b|node:/.test(text), `${place} mentions I/O`);
  }
  const isOf = (place: string) => place.startsWith("lib/protocol/");
  assert.deepEqual(wrongImports(isOf, (target) => !allowed.test(target)), []);
});

Deno.test("House, rule 3: every module of lib and services is reached from an entry", () => {
  const unreached = [...sourceFiles("lib/"), ...sourceFiles("services/")]
    .filter((place) => !graph.has(place));
  assert.deepEqual(unreached, []);
});

Deno.test("House, rule 4: of lib, the console's page imports only the client, the table of problems and small pure files", () => {
  const ownFiles = /^services\/console\/(page\/|page_config\.ts$)/;
  const allowed =
    /^(npm:\/?(@preact\/signals|preact|@noble\/(hashes|secp256k1)|d3-scale|zod)@|lib\/((client|problems)\/mod|client\/typed_data|errors|json|lower_bound|prices\/(price_slots|worst_case_loss)|protocol\/(bet|constants|scalars)|time)\.ts$)/;
  const isPage = (place: string) => ownFiles.test(place) && /\.tsx?$/.test(place);
  assert([...graph.keys()].filter(isPage).length > 40);
  const isForeign = (target: string) => !ownFiles.test(target) && !allowed.test(target);
  assert.deepEqual(wrongImports(isPage, isForeign), []);
});

Deno.test("House: a view of the console's page imports no other one, and what they share imports none", () => {
  const roomOf = (place: string) => /^services\/console\/page\/(\w+)\//.exec(place)?.[1] ?? "";
  const views = ["trade", "maker", "operator"];
  for (const room of [...views, "data", "parts"]) {
    const isView = (target: string) => roomOf(target) !== room && views.includes(roomOf(target));
    assert.deepEqual(wrongImports((place) => roomOf(place) === room, isView), []);
  }
});

Deno.test("House: no .ts module of the console's page imports a .tsx module", () => {
  const isModule = (place: string) => /^services\/console\/.*\.ts$/.test(place);
  assert.deepEqual(wrongImports(isModule, (target) => target.endsWith(".tsx")), []);
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

Deno.test("House: modules of the console's page import zod/mini: all of zod is 14 kB more", () => {
  const reached = [...reachableFrom("services/console/page/main.tsx", graph)]
    .filter((place) => graph.has(place) && /\.tsx?$/.test(place));
  assert(reached.length > 80, `${reached.length} files`);
  const large = reached.filter((place) =>
    /^import (?!type )[^;]*from "zod";/m.test(Deno.readTextFileSync(new URL(place, root)))
  );
  assert.deepEqual(large, []);
});

Deno.test("House: main.ts imports no service before a command is chosen", () => {
  const text = Deno.readTextFileSync(new URL("main.ts", root));
  assert(!/^(?:import|export)\s[^;(]*"[^"]*services\//m.test(text));
});

Deno.test("House: main.ts starts no WebAssembly before a command is chosen", () => {
  const atStart = new Map([...loads].map(([place, targets]) => {
    const dynamic = modules.get(place)?.dependencies?.filter(({ isDynamic }) => isDynamic) ?? [];
    const later = dynamic.map(({ specifier, code }) => placeOf(code?.specifier ?? specifier));
    return [place, targets.filter((target) => !later.includes(target))];
  }));
  const loaded = [...reachableFrom("main.ts", atStart)];
  assert(loaded.includes("lib/cli/command.ts") && !loaded.includes("lib/cli/key_command.ts"));
  const programs = ["lib/protocol/keccak.ts", "lib/protocol/signature.ts"];
  assert.deepEqual(loaded.filter((place) => programs.includes(place)), []);
});

/** Groups of nodes that reach each other: import cycles. */
function cyclesOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reach = new Map([...edges.keys()].map((node) => [node, reachableFrom(node, edges)]));
  const inCycle = [...reach].filter(([node, seen]) => seen.has(node)).map(([node]) => node);
  const groups = inCycle.map((node) =>
    inCycle.filter((other) => reach.get(node)?.has(other) && reach.get(other)?.has(node)).toSorted()
  );
  return [...new Map(groups.map((group) => [group.join(), group])).values()];
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

/** What Node 20 or browsers lack, or lacked until lately. */
const NOT_PORTABLE =
  /\bDeno\.\w|["']node:|\bBuffer\b|\bprocess\.|\.(toHex|fromHex)\(|withResolvers|\bErrorEvent\b|URL\.parse|Array\.fromAsync|Promise\.try|import\.meta\.|^const .* = await /m;

// `tests/ship/package_test.ts` runs it elsewhere.
Deno.test("Client: none of its modules needs Deno, Node or a recent browser", () => {
  const entry = "lib/client/mod.ts";
  const loaded = [entry, ...reachableFrom(entry, loads)];
  const files = loaded.filter((target) => loads.has(target));
  assert(files.length > 20, files.join("\n"));
  for (const file of files) {
    const found = NOT_PORTABLE.exec(Deno.readTextFileSync(new URL(file, root)));
    assert.equal(found?.[0], undefined, file);
  }
  assert.deepEqual(loaded.filter((target) => !loads.has(target)).toSorted(), [
    "@noble/hashes/sha3",
    "@noble/hashes/utils",
    "@noble/secp256k1",
    "zod/mini",
  ]);
});
