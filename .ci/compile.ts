/**
 * `deno task compile [--target <target>]… [--outdir <folder>] [name]…`: executables in
 * `dist/<target>/`, by default one for all commands (`rangemaker`) and one per service
 * (`rangemaker-proxy`), for every target of Deno. Each has the permissions of the
 * service's task in deno.json, and no more.
 */
import { parseArgs } from "node:util";
import config from "../deno.json" with { type: "json" };

const ALL = "all";
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
];

/** The flags of every task that runs a command of main.ts, by the command. */
const flagsByCommand = new Map(
  Object.values(config.tasks).flatMap((task) => {
    const [, flags, command] = /^deno run (.*) main\.ts (\w+)$/.exec(task) ?? [];
    return flags === undefined || command === undefined ? [] : [[command, flags.split(" ")]];
  }),
);

/** Flags that grant everything that at least one of several lists of flags grants. */
function union(lists: Iterable<string[]>): string[] {
  const granted = new Map<string, Set<string> | "everything">();
  for (const flag of [...lists].flat()) {
    const [name = "", values] = flag.split("=");
    const earlier = granted.get(name) ?? new Set();
    granted.set(
      name,
      values === undefined || earlier === "everything"
        ? "everything"
        : earlier.union(new Set(values.split(","))),
    );
  }
  return [...granted].map(([name, values]) =>
    values === "everything" ? name : `${name}=${[...values].join(",")}`
  );
}

async function deno(...args: string[]): Promise<void> {
  const { success, code } = await new Deno.Command(Deno.execPath(), { args }).spawn().status;
  if (!success) Deno.exit(code);
}

const hasConsole = (name: string) => name === ALL || name === "console";

/** Makes one executable from the bundle. */
async function compile(name: string, target: string, outdir: string): Promise<void> {
  const isWindows = target.includes("windows");
  const file = name === ALL ? "rangemaker" : `rangemaker-${name}`;
  const flags = name === ALL ? union(flagsByCommand.values()) : flagsByCommand.get(name) ?? [];
  await deno(
    "compile",
    "--no-check", // the sources were checked; a package in the bundle asks for a check of its JavaScript
    ...flags,
    `--target=${target}`,
    ...(isWindows ? ["--icon=docs/icon.ico"] : []), // only Windows executables contain one
    `--output=${outdir}/${target}/${file}${isWindows ? ".exe" : ""}`,
    // The finished page of the console, which it would otherwise bundle from its sources.
    ...(hasConsole(name) ? [`--include=${outdir}/bundle/console_page`] : []),
    `${outdir}/bundle/main.js`,
    ...(name === ALL ? [] : [name]),
  );
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    target: { type: "string", multiple: true, default: TARGETS },
    outdir: { type: "string", default: "dist" },
  },
});
// Commands about several services are only in the executable for all of them.
const several = ["demo", "stack", "doctor", "key", "completion"];
const services = [...flagsByCommand.keys()].filter((name) => !several.includes(name));
const names = positionals.length > 0 ? positionals : [ALL, ...services];
const unknown = names.find((name) => name !== ALL && !services.includes(name));
if (unknown !== undefined) {
  throw new Error(`Unknown executable ${unknown}: expected ${[ALL, ...services].join(", ")}`);
}

// From a bundle: unused code is left out, and deno compile 2.9.6 overflows its stack
// on the packages themselves (denoland/deno#36746).
const { target: targets, outdir } = values;
await deno("bundle", "--platform=deno", "--code-splitting", `--outdir=${outdir}/bundle`, "main.ts");
if (names.some(hasConsole)) {
  const flags = ["--platform=browser", "--minify", "--code-splitting"];
  const page = `--outdir=${outdir}/bundle/console_page`;
  await deno("bundle", ...flags, page, "services/console/page/main.tsx");
}
for (const target of targets) for (const name of names) await compile(name, target, outdir);
