/** The stack as a child process of a test, in Node, Bun or Deno. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";

const { clearTimeout: cancelTimer, Date: { now }, setTimeout: startTimer } = globalThis;

/** The real time and timers, even if a test replaces those of the runtime later. */
export const realClock: Clock = {
  now,
  after(delayMs, task) {
    const timer = startTimer(task, delayMs);
    return () => cancelTimer(timer);
  },
};

/** How long the stack may take to start, and to stop before it is killed. */
const START_MS = 30_000;
const STOP_MS = 5_000;

/** How much of its last output an error shows. */
const OUTPUT_CHARS_MAX = 4_000;

/**
 * The variables that a child needs, to find Deno's cache. Variables of proxies are left out, since
 * they would intercept its requests.
 */
const VARIABLES = [
  "HOME",
  "XDG_CACHE_HOME",
  "DENO_DIR",
  "TMPDIR",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SYSTEMROOT",
];

export interface Child {
  /** The first line that it printed. */
  readonly line: string;
  /** Ends it; resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts the stack. It ends when its standard input is closed, at the latest with this process.
 *
 * @param signal Ends it, also after it has started.
 * @throws {RangemakerError} `CHAIN_NOT_STARTED`, with its last output.
 */
export async function startChild(signal?: AbortSignal): Promise<Child> {
  const env = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
  const child = spawn(denoPath(), programArguments(), {
    env,
    ...(signal && { signal }),
  });
  let problem: string | undefined;
  child.on("error", ({ message }) => problem = message);
  const ended = new Promise<string>((resolve) => {
    child.on(
      "close",
      (code, signal) => resolve(problem ?? `it ended with ${signal ?? `code ${code}`}`),
    );
  });
  const killAfter = (ms: number) => {
    const cancel = realClock.after(ms, () => {
      problem ??= `it took longer than ${ms / 1_000} s`;
      child.kill("SIGKILL");
    });
    void ended.then(cancel);
    return cancel;
  };
  let output = "";
  const collect = (chunk: unknown) => output = `${output}${chunk}`.slice(-OUTPUT_CHARS_MAX);
  child.stderr.on("data", collect);
  const started = new Promise<string>((resolve) => {
    let printed = "";
    child.stdout.on("data", (chunk) => {
      if (printed.includes("\n")) return; // the rest is read only so that the child can go on
      printed += chunk;
      if (printed.includes("\n")) resolve(printed);
    });
  });
  const cancelKill = killAfter(START_MS);
  const line = await Promise.race([started, ended.then(() => undefined)]);
  cancelKill();
  if (line === undefined) {
    const message = `The test chain did not start: ${await ended}\n${output}`.trimEnd();
    throw new RangemakerError("CHAIN_NOT_STARTED", message, { details: { output } });
  }
  // A test that forgets to stop it ends all the same.
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) unref(handle);
  return {
    line,
    async stop() {
      killAfter(STOP_MS); // the timer keeps this process alive
      child.stdin.end();
      await ended;
    },
  };
}

/** Lets this process end although a child or a pipe is open, which types of pipes do not know. */
function unref(handle: object): void {
  if ("unref" in handle && typeof handle.unref === "function") handle.unref();
}

/**
 * Deno itself: this process, or the binary of the package `deno`. Its command in
 * `node_modules/.bin` may be a wrapper that does not pass on signals.
 */
function denoPath(): string {
  if ("Deno" in globalThis) return process.execPath;
  const api: { runInstall(): string } = createRequire(import.meta.url)("deno/install_api.cjs");
  return api.runInstall();
}

/** The arguments of Deno: the bundle next to this package's module, or the source in a checkout. */
function programArguments(): string[] {
  const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  const isSource = import.meta.url.endsWith(".ts");
  return [
    "run",
    "--no-prompt",
    ...isSource
      ? ["--config", pathOf("../../deno.json")]
      : ["--no-config", "--no-remote", "--no-npm", "--unstable-no-legacy-abort", "--unstable-net"],
    "--allow-net=127.0.0.1",
    "--ignore-env",
    pathOf(isSource ? "../../services/stack/test_stack.ts" : "./stack/test_stack.js"),
  ];
}
