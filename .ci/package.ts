/**
 * `deno task package [folder]`: the client as an npm package, ready for `npm publish`, in `dist/npm`
 * unless another folder is named. One module for all runtimes, its types, source maps and documents;
 * it depends on the packages that `lib/client/` imports, and on no others.
 */
import { build } from "esbuild";
import ts from "typescript";
import { z } from "zod";
import config from "../deno.json" with { type: "json" };

const ROOT = new URL("../", import.meta.url).pathname;
const ENTRY = `${ROOT}lib/client/mod.ts`;

/** The oldest syntax of Node 20 and of browsers of its time. */
const TARGET = "es2022";

/** Bundles the sources of this repository; packages stay imports. @returns Those packages. */
async function writeModule(folder: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: { index: ENTRY },
    outdir: folder,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "neutral",
    target: TARGET,
    sourcemap: true,
    metafile: true,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const names = imports.map(({ path }) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
  return [...new Set(names)].toSorted();
}

const RELATIVE_IMPORT = /((?:from |import\()")(\.[^"]+)\.ts"/g;

/** Writes the declarations that the entry reaches; `deno check` has checked the types. */
async function writeTypes(folder: string): Promise<void> {
  const declarations = emitDeclarations();
  const reached = new Set(["client/mod.d.ts"]);
  for (const path of reached) { // grows during the loop
    const text = declarations.get(path);
    if (text === undefined) throw new Error(`TypeScript wrote no ${path}`);
    for (const [, , target] of text.matchAll(RELATIVE_IMPORT)) {
      reached.add(new URL(`${target}.d.ts`, `file:///${path}`).pathname.slice(1));
    }
    const file = `${folder}/types/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text.replaceAll(RELATIVE_IMPORT, '$1$2.js"'));
  }
}

/** The declarations of all files behind the entry, by their path below `lib/`. */
function emitDeclarations(): Map<string, string> {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    strict: true,
    types: [],
    noCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: `${ROOT}lib`,
    outDir: "/",
  };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, containingFile) =>
    literals.map(({ text }) => {
      const { resolvedModule } = ts.resolveModuleName(text, containingFile, options, host);
      return { resolvedModule: resolvedModule ?? declarationsOf(text) };
    });
  const declarations = new Map<string, string>();
  ts.createProgram([ENTRY], options, host).emit(undefined, (path, text) => {
    declarations.set(path.slice(1), text);
  });
  return declarations;
}

/** The types of a package in Deno's cache. */
function declarationsOf(specifier: string): ts.ResolvedModuleFull | undefined {
  const url = new URL(import.meta.resolve(specifier));
  if (url.protocol !== "file:") return undefined;
  const resolvedFileName = url.pathname.replace(/\.js$/, ".d.ts");
  return { resolvedFileName, extension: ts.Extension.Dts, isExternalLibraryImport: true };
}

const versionsSchema = z.record(z.string(), z.string());

/** `package.json`; dependencies may be newer within their major version. */
function manifestOf(packages: readonly string[]) {
  const imports = versionsSchema.parse(config.imports);
  const rangeOf = (name: string) => `^${imports[name]?.replace(`npm:${name}@`, "")}`;
  return {
    name: "@rangemaker/client",
    version: config.version,
    description: "Client of rangemaker: bets that a price stays inside a range for a while",
    license: config.license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: {
      ".": { types: "./types/client/mod.d.ts", default: "./index.js" },
      "./package.json": "./package.json",
    },
    types: "./types/client/mod.d.ts",
    files: ["index.js", "index.js.map", "types"],
    dependencies: Object.fromEntries(packages.map((name) => [name, rangeOf(name)])),
  };
}

/** The client's document, with an example in place of the link to all of them. */
async function readmeOf(): Promise<string> {
  const text = await Deno.readTextFile(`${ROOT}docs/client.md`);
  const example = await Deno.readTextFile(`${ROOT}docs/examples/bet.mjs`);
  const link = /^\[Whole programs\][^]*?\n\n/m;
  if (!link.test(text)) throw new Error("docs/client.md has no link to the examples");
  return text.replace(link, () => `\`\`\`js\n${example}\`\`\`\n\n`);
}

const [folder = `${ROOT}dist/npm`] = Deno.args;
await Deno.mkdir(folder, { recursive: true });
await Deno.remove(`${folder}/types`, { recursive: true }).catch((thrown) => {
  if (!(thrown instanceof Deno.errors.NotFound)) throw thrown; // there is no earlier version
});
const packages = await writeModule(folder);
await writeTypes(folder);
const manifest = manifestOf(packages);
await Deno.writeTextFile(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
await Deno.writeTextFile(`${folder}/README.md`, await readmeOf());
await Deno.copyFile(`${ROOT}LICENSE`, `${folder}/LICENSE`);
console.log(`Wrote ${manifest.name} ${manifest.version} to ${folder}`);
console.log(`Next, in a project of yours: npm pack ${folder}, then npm install the file it names`);
