/**
 * `deno task package [folder]`: the npm packages, ready for `npm publish`, in `dist/npm/client` and
 * `dist/npm/testing` unless another folder is named. Each is one module for all runtimes with its
 * types, source maps and documents; it depends on no packages but those its sources import.
 */
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import ts from "typescript";
import { z } from "zod";
import config from "../deno.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The oldest syntax of Node 20 and of browsers of its time. */
const TARGET = "es2022";

/** A package, named after its folder below `lib/`. */
interface Package {
  name: "client" | "testing";
  description: string;
  /** Its document, with an example in place of the link to all of them. */
  readme: { document: string; example: string };
  /** Beside the module and its types. */
  files?: string[];
  /** Beside those that it imports, with their versions. */
  dependencies?: Record<string, string>;
}

const PACKAGES: Package[] = [
  {
    name: "client",
    description: "Client of rangemaker: bets that a price stays inside a range for a while",
    readme: { document: "docs/client.md", example: "docs/examples/bet.mjs" },
  },
  {
    name: "testing",
    description: "Test kit of rangemaker: a chain of its own for each test of a front end",
    readme: { document: "docs/test_kit.md", example: "docs/examples/test-bet.mjs" },
    files: ["stack"],
    // Runs the stack: another version than the one of this build is not tested.
    dependencies: { deno: Deno.version.deno },
  },
];

/** Bundles the sources of this repository; packages stay imports. @returns Those packages. */
async function writeModule(name: string, folder: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: { index: `${ROOT}lib/${name}/mod.ts` },
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
  return [...new Set(names)].filter((name) => !name.startsWith("node:")).toSorted();
}

/** Bundles the program that the test kit starts. */
async function writeStack(folder: string): Promise<void> {
  const flags = ["--quiet", "--frozen", "--platform=deno", "--code-splitting", "--minify"];
  const program = `${ROOT}services/stack/test_stack.ts`;
  const args = ["bundle", ...flags, `--outdir=${folder}`, program];
  const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status;
  if (!success) throw new Error(`deno bundle failed on ${program}`);
}

const RELATIVE_IMPORT = /((?:from |import\()")(\.[^"]+)\.ts"/g;

/**
 * Writes those declarations that the entry of a package reaches; `deno check` has checked the types.
 *
 * @param declarations Of all packages, by their path below `lib/`.
 */
async function writeTypes(
  name: string,
  declarations: ReadonlyMap<string, string>,
  folder: string,
): Promise<void> {
  const reached = new Set([`${name}/mod.d.ts`]);
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

/** The declarations of all files behind the entries, by their path below `lib/`. */
function emitDeclarations(entries: readonly string[]): Map<string, string> {
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
  ts.createProgram(entries, options, host).emit(undefined, (path, text) => {
    declarations.set(path.slice(1), text);
  });
  return declarations;
}

/** The types of a package in Deno's cache. */
function declarationsOf(specifier: string): ts.ResolvedModuleFull | undefined {
  const url = new URL(import.meta.resolve(specifier));
  if (url.protocol !== "file:") return undefined;
  const resolvedFileName = fileURLToPath(url).replace(/\.js$/, ".d.ts");
  return { resolvedFileName, extension: ts.Extension.Dts, isExternalLibraryImport: true };
}

const versionsSchema = z.record(z.string(), z.string());

/** `package.json`; dependencies may be newer within their major version. */
function manifestOf({ name, description, files = [], dependencies }: Package, packages: string[]) {
  const imports = versionsSchema.parse(config.imports);
  const rangeOf = (name: string) => `^${imports[name]?.replace(`npm:${name}@`, "")}`;
  const types = `./types/${name}/mod.d.ts`;
  return {
    name: `@rangemaker/${name}`,
    version: config.version,
    description,
    license: config.license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: { ".": { types, default: "./index.js" }, "./package.json": "./package.json" },
    types,
    files: ["index.js", "index.js.map", "types", ...files],
    dependencies: {
      ...Object.fromEntries(packages.map((name) => [name, rangeOf(name)])),
      ...dependencies,
    },
  };
}

async function readmeOf({ document, example }: Package["readme"]): Promise<string> {
  const text = await Deno.readTextFile(ROOT + document);
  const code = await Deno.readTextFile(ROOT + example);
  const link = /^\[Whole programs\][^]*?\n\n/m;
  if (!link.test(text)) throw new Error(`${document} has no link to the examples`);
  // Of links to other documents, which are not in the package, the text stays.
  return text.replace(link, () => `\`\`\`js\n${code}\`\`\`\n\n`)
    .replaceAll(/\[([^\]]+)\]\((?!#|https?:)[^)]+\)/g, "$1");
}

async function writePackage(
  definition: Package,
  declarations: ReadonlyMap<string, string>,
  folder: string,
): Promise<void> {
  const { name } = definition;
  await Deno.mkdir(folder, { recursive: true });
  for (const outdated of ["types", "stack"]) {
    await rm(`${folder}/${outdated}`, { recursive: true, force: true }); // there may be none
  }
  const packages = await writeModule(name, folder);
  await writeTypes(name, declarations, folder);
  if (definition.files?.includes("stack")) await writeStack(`${folder}/stack`);
  const manifest = manifestOf(definition, packages);
  await Deno.writeTextFile(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
  await Deno.writeTextFile(`${folder}/README.md`, await readmeOf(definition.readme));
  await Deno.copyFile(`${ROOT}LICENSE`, `${folder}/LICENSE`);
  console.log(`Wrote ${manifest.name} ${manifest.version} to ${folder}`);
}

const [folder = `${ROOT}dist/npm`] = Deno.args;
const declarations = emitDeclarations(PACKAGES.map(({ name }) => `${ROOT}lib/${name}/mod.ts`));
for (const definition of PACKAGES) {
  await writePackage(definition, declarations, `${folder}/${definition.name}`);
}
console.log(
  `Next, in a project of yours: npm pack "${folder}/client", then npm install the file it names`,
);
