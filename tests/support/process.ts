import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const main = pathOf("main.ts");
const faultPoints = "tests/support/fault_points_preload";

/** A run of the program that has ended. */
export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** The program to start, if it is not `main.ts` with all permissions. */
export interface Launch extends Pick<Deno.CommandOptions, "cwd" | "env" | "stdin"> {
  command: string | URL;
  /** Arguments before the program's own. */
  args: readonly string[];
}

/** A line for `sh` that starts a program; its arguments may follow. */
export function lineOf({ command, args, env = {} }: Launch): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ["env", ...variables, command, ...args].map((word) => `'${word}'`).join(" ");
}

export const fromSource: Launch = {
  command: Deno.execPath(),
  args: ["run", "--no-prompt", "--allow-all", main],
};

let bundle: Promise<Launch> | undefined;

/** Cost of the keystores that a bundled program makes: the program's own takes a second at each use. */
export const TEST_KEYSTORE_COST = 1_024;

/**
 * Bundles the program, for tests that start it again and again: it starts in half the time. All tests of
 * `deno task suite` share the bundle, otherwise those of an isolate, after whose last test it is deleted.
 */
export function bundledProgram(): Promise<Launch> {
  return bundle ??= bundleProgram();
}

async function bundleProgram(): Promise<Launch> {
  const suite = Deno.env.get("SUITE_FOLDER");
  const outputDir = suite === undefined ? await Deno.makeTempDir() : `${suite}/program`;
  if (suite === undefined) {
    addEventListener("unload", () => Deno.removeSync(outputDir, { recursive: true }));
  }
  await Deno.mkdir(outputDir, { recursive: true });
  using done = await Deno.open(`${outputDir}/done`, { create: true, append: true });
  await done.lock(true); // other isolates wait
  if ((await done.stat()).size === 0) {
    const platform = "deno";
    const entrypoints = [main, pathOf(`${faultPoints}.ts`)];
    await Deno.bundle({ entrypoints, platform, codeSplitting: true, outputDir, write: true });
    await makeKeystoresCheap(outputDir);
    await Deno.symlink(pathOf("docs"), `${outputDir}/docs`); // runbooks run its scripts
    await done.write(new Uint8Array(1));
  }
  await done.unlock();
  const { command, args: [run = "", ...flags] } = fromSource;
  // A short program gains nothing from V8's background compilation, and its start should fit in memory.
  const v8 = "--v8-flags=--single-threaded,--min-semi-space-size=16";
  const options = ["--config", pathOf("deno.json"), v8];
  return {
    command,
    args: [run, ...options, ...flags.with(-1, `${outputDir}/main.js`)],
    // A bundle needs no packages. What Deno caches of it goes with it.
    env: { DENO_DIR: `${outputDir}/deno` },
  };
}

/** The bundled program with fault points: see `fault_points_preload.ts`. */
export async function programWithFaultPoints(): Promise<Launch> {
  const { args: [run = "", ...rest], ...launch } = await bundledProgram();
  const [main = ""] = rest.slice(-1);
  const preload = main.replace("main.js", `${faultPoints}.js`);
  return { ...launch, args: [run, `--preload=${preload}`, ...rest] };
}

async function makeKeystoresCheap(bundle: string): Promise<void> {
  let changes = 0;
  for (const { name, isFile } of Deno.readDirSync(bundle)) {
    if (!isFile) continue;
    const text = await Deno.readTextFile(`${bundle}/${name}`);
    const changed = text.replace(/(?<=\bKEYSTORE_COST = )\d+/, `${TEST_KEYSTORE_COST}`);
    if (changed === text) continue;
    await Deno.writeTextFile(`${bundle}/${name}`, changed);
    changes += 1;
  }
  assert.equal(changes, 1, "one place has the cost of keystores");
}

/** How long a program may take to print what a test waits for, on a busy machine. */
const UNTIL_MS = 90_000;

/** A run of the program, its output collected as it comes. */
export class Program {
  protected readonly child: Deno.ChildProcess;
  readonly #ended: Promise<[Deno.CommandStatus, void, void]>;
  #waiting: (() => void)[] = [];
  stdout = "";
  stderr = "";

  /** Starts `rangemaker` with arguments; of this process's environment it gets {@link denoEnv}. */
  constructor(
    args: readonly string[],
    env: Record<string, string> = {},
    { command, ...launch }: Launch = fromSource,
  ) {
    this.child = new Deno.Command(command, {
      stdin: "null",
      ...launch,
      args: [...launch.args, ...args],
      clearEnv: true,
      env: { ...denoEnv(), NO_COLOR: "1", ...launch.env, ...env },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#ended = Promise.all([
      this.child.status,
      this.#collect(this.child.stdout, (text) => this.stdout += text),
      this.#collect(this.child.stderr, (text) => this.stderr += text),
    ]);
  }

  /** Resolves when `fits` is true of the output. @throws {Error} With the output, if it never is. */
  async until(fits: (program: Program) => boolean): Promise<void> {
    let problem: string | undefined;
    const giveUp = (reason: string) => {
      problem = reason;
      this.#wake();
    };
    const timer = setTimeout(() => giveUp(`Not printed in ${UNTIL_MS} ms`), UNTIL_MS);
    this.#ended.then(([{ code, signal }]) => giveUp(`Program ended first, with ${signal ?? code}`));
    try {
      while (!fits(this)) {
        if (problem !== undefined) throw new Error(`${problem}:\n${this.stdout}\n${this.stderr}`);
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The URL of a service, once it listens. */
  async url(): Promise<string> {
    const listening = /Listening on [\\"]*(http:\/\/[\d.]+:\d+)/;
    await this.until(({ stderr }) => listening.test(stderr));
    return listening.exec(this.stderr)?.[1] ?? assert.fail(this.stderr);
  }

  /** Stops a service, which has to exit with 0. */
  async stop(): Promise<Finished> {
    this.kill("SIGTERM");
    const finished = await this.finished();
    assert.equal(finished.code, 0, finished.stderr);
    return finished;
  }

  /** Sends a signal. @throws {TypeError} If the program has ended. */
  kill(signal: Deno.Signal): void {
    this.child.kill(signal);
  }

  async finished(): Promise<Finished> {
    const [{ code }] = await this.#ended;
    return { code, stdout: this.stdout, stderr: this.stderr };
  }

  async #collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      add(text);
      this.#wake();
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** What a program needs of this process's environment: where programs and Deno's packages are. */
export function denoEnv(): Record<string, string> {
  const { HOME = "", PATH = "", DENO_DIR } = Deno.env.toObject();
  return { HOME, PATH, ...(DENO_DIR !== undefined && { DENO_DIR }) };
}

export function runProgram(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished> {
  return new Program(args, env).finished();
}

/** Whether a program of the operating system is installed: whether it answers to `argument`. */
export function hasProgram(name: string, argument = "--version"): boolean {
  try {
    return new Deno.Command(name, { args: [argument], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return false;
    throw thrown;
  }
}
