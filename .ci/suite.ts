/**
 * `deno task suite [flag of deno test]…`: all tests, as the gate runs them. The test files of a folder
 * share an isolate: they load the modules that they have in common once, which saves a fifth of
 * the time. `deno task test` gives each file an isolate of its own.
 */
import { readdirSync } from "node:fs";
import config from "../deno.json" with { type: "json" };

/** Test files that run in an isolate of their own, and start first: those of the first line, and so on. */
const ALONE = [
  // Long ones: they start programs and browsers, or simulate hours. They run beside the others.
  /\/death_test\.ts$/,
  /^tests\/ship\/(package|commands|compile|dockerfile|client_examples|prometheus|tutorial|python)_/,
  /^tests\/console\/(outage|trade|one_intention|page_feel|board|chart|api|session)_/,
  /^tests\/(hostile|simulation)\//,
  /^tests\/e2e\/(demo|terminal|restore|client|stack|solver_keystore|command_line)_/,
  /\/damaged_files_test\.ts$/,
  // Its files share services within an isolate, which the leak check of other tests would notice.
  /^tests\/spec\//,
];

/** The test files of each isolate: those that run alone, then folders, those with most files first. */
export function isolatesOf(files: readonly string[]): string[][] {
  const rank = (file: string) => ALONE.findIndex((pattern) => pattern.test(file));
  const alone = files.filter((file) => rank(file) >= 0)
    .toSorted((a, b) => rank(a) - rank(b));
  const folders = Map.groupBy(
    files.filter((file) => rank(file) < 0),
    (file) => file.slice(0, file.lastIndexOf("/")),
  );
  return [
    ...alone.map((file) => [file]),
    ...[...folders.values()].toSorted((a, b) => b.length - a.length),
  ];
}

/** The paths that `deno test` takes for tests. */
const TEST_FILE = /(^|\/)(__tests__\/.*|(.*[._])?test)\.([cm]?[jt]s|[jt]sx)$/;

/** The test files below a folder, by their paths from there. */
export function testFilesBelow(folder: string | URL): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => TEST_FILE.test(path) && !/(^|\/)(\.git|node_modules)\//.test(path))
    .toSorted();
}

/**
 * What tests see of the environment: where programs, packages and servers are. A variable that
 * changes what a test does, such as a number of cases, is for `deno task test` alone.
 */
const VISIBLE =
  /^(PATH|HOME|LANG|TMPDIR|NO_COLOR|DENO_DIR|DENO_JOBS|TEST_POSTGRES_URL|ANVIL|npm_config_(registry|cache|userconfig)|HTTPS?_PROXY|NO_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS)$/i;

if (import.meta.main) {
  const root = new URL("../", import.meta.url);
  Deno.chdir(root);
  const folder = await Deno.makeTempDir();
  try {
    const entries: string[] = [];
    for (const files of isolatesOf(testFilesBelow("."))) {
      const [only = ""] = files;
      if (files.length === 1) {
        entries.push(only);
        continue;
      }
      const name = only.slice(0, only.lastIndexOf("/")).replaceAll("/", "_");
      const entry = `${folder}/${name}_test.ts`;
      const imports = files.map((file) => `import ${JSON.stringify(`${root}${file}`)};\n`);
      await Deno.writeTextFile(entry, imports.join(""));
      entries.push(entry);
    }
    // The tests get it too, and end; the folder is removed after them.
    Deno.addSignalListener("SIGINT", () => {});
    const [, ...args] = config.tasks.test.split(" ");
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [...args, ...Deno.args, ...entries],
      clearEnv: true,
      env: Object.fromEntries(
        Object.entries(Deno.env.toObject()).filter(([name]) => VISIBLE.test(name)),
      ),
    }).spawn().status;
    Deno.exitCode = code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
