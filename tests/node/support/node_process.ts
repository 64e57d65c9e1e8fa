import assert from "node:assert/strict";
import { Program } from "../../support/process.ts";

/** A node in a process of its own, which a test may kill. */
export class NodeProcess {
  readonly url: string;
  readonly #program: Program;

  private constructor(url: string, program: Program) {
    this.url = url;
    this.#program = program;
  }

  /** Starts a node on a free port and waits until it listens. */
  static async start(args: readonly string[]): Promise<NodeProcess> {
    const program = new Program([
      "node",
      "--port",
      "0",
      "--read-port",
      "0",
      "--json-logs",
      ...args,
    ]);
    const listening = /"url":"(http:[^"]+)"/;
    await program.until(({ stderr }) => listening.test(stderr));
    const url = listening.exec(program.stderr)?.[1];
    assert.ok(url !== undefined);
    return new NodeProcess(url, program);
  }

  /** All that it has logged. */
  get log(): string {
    return this.#program.stderr;
  }

  /** Sends it a signal. */
  signal(signal: Deno.Signal): void {
    this.#program.kill(signal);
  }

  /** Ends it at once, with no chance to write anything. */
  async kill(): Promise<void> {
    this.#program.kill("SIGKILL");
    await this.#program.finished();
  }

  /** Ends it as a user does. @returns Its exit code. */
  async stop(): Promise<number> {
    this.#program.kill("SIGTERM");
    return (await this.#program.finished()).code;
  }
}
