/** Runs a program on a terminal of its own, made by util-linux's `script`. */
import { type Finished, hasProgram, Program } from "./process.ts";

const hasTerminals = hasProgram("script");

/** Suffix of the names of tests that need a terminal and cannot have one. */
export const NEEDS_TERMINAL = hasTerminals ? "" : " (left out: no script of util-linux here)";

/** Whether tests that need a terminal are skipped. */
export const lacksTerminal = !hasTerminals;

/** A program on a terminal: both its streams are `stdout`, with escape sequences. */
export class Terminal extends Program {
  /** @param command A line for `sh`. */
  constructor(command: string, env: Record<string, string> = {}) {
    super(["--command", command, "/dev/null"], { TERM: "xterm", NO_COLOR: "", ...env }, {
      command: "script",
      args: ["--quiet", "--return", "--flush"],
      stdin: "piped",
    });
  }

  async type(text: string): Promise<void> {
    const keys = this.child.stdin.getWriter();
    await keys.write(new TextEncoder().encode(text));
    keys.releaseLock();
  }

  /** Resolves when text has been shown. @throws {Error} If it does not come. */
  untilShown(text: string | RegExp): Promise<void> {
    return this.until(({ stdout }) =>
      typeof text === "string" ? stdout.includes(text) : text.test(stdout)
    );
  }

  override async finished(): Promise<Finished> {
    const finished = await super.finished();
    await this.child.stdin.close().catch(() => {}); // it may have gone with the program
    return finished;
  }
}
