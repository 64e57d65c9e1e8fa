import assert from "node:assert/strict";
import { linesOf } from "./text_lines.ts";

/** A node in a process of its own, which a test may kill. */
export class NodeProcess {
  readonly url: string;
  readonly #child: Deno.ChildProcess;
  readonly #log: string[];
  readonly #reading: Promise<void>;

  private constructor(
    url: string,
    child: Deno.ChildProcess,
    log: string[],
    reading: Promise<void>,
  ) {
    this.url = url;
    this.#child = child;
    this.#log = log;
    this.#reading = reading;
  }

  /** Starts a node on a free port and waits until it listens. */
  static async start(args: string[]): Promise<NodeProcess> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "main.ts", "node", "--port", "0", ...args],
      cwd: new URL("../../../", import.meta.url),
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const log: string[] = [];
    const listening = Promise.withResolvers<string>();
    const reading = (async () => {
      for await (const line of linesOf(child.stderr)) {
        log.push(line);
        const url = /Listening on (\S+)/.exec(line)?.[1];
        if (url !== undefined) listening.resolve(url.replaceAll(/["']/g, ""));
      }
      listening.reject(new Error(`The node ended: ${log.join("\n")}`));
    })();
    try {
      return new NodeProcess(await listening.promise, child, log, reading);
    } catch (thrown) {
      await child.status;
      throw thrown;
    }
  }

  /** All that it has logged. */
  get log(): string {
    return this.#log.join("\n");
  }

  /** Ends it at once, with no chance to write anything. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    const { signal } = await this.#child.status;
    await this.#reading;
    assert.equal(signal, "SIGKILL");
  }

  /** Ends it as a user does. @returns Its exit code. */
  async stop(): Promise<number> {
    this.#child.kill("SIGTERM");
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }
}
