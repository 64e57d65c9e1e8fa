/** Runs a program on a terminal of its own, made by util-linux's `script`. */
import { denoEnv, fromSource, hasProgram } from "./process.ts";

const hasTerminals = hasProgram("script");

/** Suffix of the names of tests that need a terminal and cannot have one. */
export const NEEDS_TERMINAL = hasTerminals ? "" : " (left out: no script of util-linux here)";

/** Whether tests that need a terminal are skipped. */
export const lacksTerminal = !hasTerminals;

/** The program from its sources, as a line for `sh` begins. */
export const RANGEMAKER = [fromSource.command, ...fromSource.args].map((word) => `'${word}'`)
  .join(" ");

/** How long a program may take to show the expected text. */
const PATIENCE_MS = 60_000;

/** A program on a terminal, its output collected as it comes, both streams together. */
export class Terminal {
  readonly #child: Deno.ChildProcess;
  readonly #keys: WritableStreamDefaultWriter<Uint8Array>;
  readonly #ended: Promise<[Deno.CommandStatus, void]>;
  #wake: () => void = () => {};
  /** All that was shown, with its escape sequences. */
  output = "";

  /** @param command A line for `sh`. */
  constructor(command: string, env: Record<string, string> = {}) {
    this.#child = new Deno.Command("script", {
      args: ["--quiet", "--return", "--flush", "--command", command, "/dev/null"],
      clearEnv: true,
      env: { ...denoEnv(), TERM: "xterm", ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#keys = this.#child.stdin.getWriter();
    this.#ended = Promise.all([this.#child.status, this.#collect()]);
  }

  async type(text: string): Promise<void> {
    await this.#keys.write(new TextEncoder().encode(text));
  }

  /** Resolves when text has been shown. @throws {Error} If it does not come. */
  async until(text: string | RegExp): Promise<void> {
    let isOver = false;
    const giveUp = () => {
      isOver = true;
      this.#wake();
    };
    this.#ended.then(giveUp);
    const timer = setTimeout(giveUp, PATIENCE_MS);
    try {
      while (!isIn(text, this.output)) {
        if (isOver) throw new Error(`Did not show ${text}:\n${JSON.stringify(this.output)}`);
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async finished(): Promise<{ code: number; output: string }> {
    const [{ code }] = await this.#ended;
    await this.#keys.close().catch(() => {}); // it may have gone with the program
    return { code, output: this.output };
  }

  async #collect(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.output += text;
      this.#wake();
    }
  }
}

function isIn(text: string | RegExp, output: string): boolean {
  return typeof text === "string" ? output.includes(text) : text.test(output);
}
