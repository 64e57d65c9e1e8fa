/**
 * Runs the commands of a document as its reader would. Each default port in a command is replaced
 * by that of a service of a stack on free ports, or of one that an earlier command started.
 */
import assert from "node:assert/strict";
import { generatePrivateKey } from "viem/accounts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { RunningStack } from "../../services/stack/stack.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import type { Program } from "../support/process.ts";
import { filePath, run, startTask } from "./support.ts";
import { freePort } from "../support/ports.ts";

/** A port of a service of this machine in a command or an answer. */
const LOCAL_PORT = /(?<=\b(?:localhost|127\.0\.0\.1):)\d{4}\b/g;

const PORT_FLAGS = ["--port", "--read-port"];

/** Replaces `0x…`, a key of the reader's own. */
const KEYS: Record<string, string> = {
  SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey,
  BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey,
};

/** A shell at the top of the repository. Services that it started are ended with it. */
export class Shell {
  readonly #ports: Map<string, string>;
  readonly #programs: Program[] = [];
  readonly #folder = Deno.makeTempDirSync();

  constructor({ urls }: RunningStack) {
    const { console = "", exchanges = "", oracle, node, proxy, nodeRead, solver, bridge } = urls;
    this.#ports = new Map(
      Object.entries({
        8600: console,
        8560: exchanges,
        8550: oracle,
        8545: node,
        8546: proxy,
        8547: nodeRead,
        3000: solver,
        3001: bridge,
      }).map(([port, url]) => [port, new URL(url).port]),
    );
  }

  relocated(text: string): string {
    return text.replaceAll(LOCAL_PORT, (port) => this.#ports.get(port) ?? port);
  }

  async run(command: string): Promise<string> {
    const { text } = await run("bash", ["-c", this.relocated(command)], {
      cwd: filePath("."),
    });
    return text.trim();
  }

  /**
   * Starts `deno task <service>` with its options, and waits until it listens.
   *
   * @param key Replaces `0x…`.
   */
  async start(command: string, key?: string): Promise<void> {
    const [, variable, name = "", rest = ""] =
      /^(?:(\w+)=0x… )?deno task (\w+) ?(.*)$/.exec(command) ?? assert.fail(command);
    const { args, ports } = this.#moved(name, rest);
    const env = variable === undefined ? {} : { [variable]: key ?? KEYS[variable] ?? "" };
    const program = startTask(name, args, env, this.#folder);
    await program.url();
    this.#programs.push(program);
    for (const [port, free] of ports) this.#ports.set(port, free);
  }

  /** Runs `deno task <service> --check`, or the doctor, with the service's options and a random key. */
  async diagnose(command: string): Promise<string> {
    const [, doctor, name = "", rest = ""] = /^deno task (doctor )?(\w+) ?(.*)$/.exec(command) ??
      assert.fail(command);
    const { args, ports } = this.#moved(name, rest);
    for (const [port, free] of ports) this.#ports.set(port, free);
    const env = { [`${name.toUpperCase()}_PRIVATE_KEY`]: generatePrivateKey() };
    const [task, words] = doctor === undefined ? [name, args] : ["doctor", [name, ...args]];
    const { stdout } = await startTask(task, words, env, this.#folder).finished();
    return stdout.trim();
  }

  /**
   * The options of a service, with the real addresses of the services that it calls, and with free
   * ports instead of its own.
   */
  #moved(name: string, options: string): { args: string[]; ports: Map<string, string> } {
    const table = OPTION_TABLES[name] ?? assert.fail(`${name} is no service`);
    const args = this.relocated(options).split(" ").filter((word) => word !== "");
    // Options left to their default in the document are set here, since the services are elsewhere.
    for (const { flags, default: value = "" } of Object.values(table)) {
      const [flag = ""] = /--[\w-]+/.exec(flags) ?? [];
      if (args.includes(flag)) continue;
      const meant = this.relocated(value);
      if (PORT_FLAGS.includes(flag) || meant !== value) args.push(flag, meant);
    }
    const ports = new Map<string, string>();
    for (const [index, flag] of args.entries()) {
      if (!PORT_FLAGS.includes(flag)) continue;
      const free = String(freePort());
      ports.set(args[index + 1] ?? "", free);
      args[index + 1] = free;
    }
    return { args, ports };
  }

  /** Ends the services that were started here, each with exit code 0. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.reverse()) await program.stop();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
