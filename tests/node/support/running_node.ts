import assert from "node:assert/strict";
import { CoreClient } from "../../../lib/net/core_client.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { withDefaults } from "../../../lib/cli/options.ts";
import {
  type NodeOptions,
  options,
  type RunningNode,
  startNode,
} from "../../../services/node/mod.ts";
import { startFakeOracle } from "./fake_oracle.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { GENESIS } from "./chains.ts";
import { bundledProgram, Program } from "../../support/process.ts";

/** A node over real HTTP with an oracle of its own. */
interface NodeUnderTest {
  node: RunningNode;
  client: CoreClient;
  oracle: ReturnType<typeof startFakeOracle>;
}

/** Options of a node on free ports, with the actors of these tests. */
export function testOptions(given: Partial<NodeOptions>): NodeOptions {
  return withDefaults(options, {
    port: 0,
    readPort: 0,
    dataDir: ":memory:",
    oracleTimeoutMs: 90,
    ...GENESIS,
    ...given,
  });
}

/** Runs a test against a node that has prices, and stops everything after it. */
export async function withNode(
  test: (parts: NodeUnderTest) => Promise<void>,
  given: Partial<NodeOptions> = {},
): Promise<void> {
  await using oracle = startFakeOracle();
  await using node = await startNode(testOptions({ oracleUrl: oracle.url, ...given }));
  await hasPrices(node);
  await test({ node, client: new CoreClient({ url: node.url }), oracle });
}

/** Resolves once the node has a fresh price of every market. */
export async function hasPrices(node: RunningNode): Promise<void> {
  await using socket = await RpcSocket.open(node.wsUrl);
  const subscription = await socket.subscribe("prices");
  await socket.waitFor(({ params }) =>
    params?.subscription === subscription &&
    MARKETS.every(({ symbol }) => Object(params.result[symbol]).state === "fresh")
  );
}

/** A node in a process of its own, which a test may kill. */
export class NodeProcess {
  readonly #program: Program;

  private constructor(readonly url: string, program: Program) {
    this.#program = program;
  }

  /** Starts a node on a free port and waits until it listens. */
  static async start(args: readonly string[]): Promise<NodeProcess> {
    const ports = ["--port", "0", "--read-port", "0"];
    const launch = await bundledProgram();
    const program = new Program(["node", ...ports, "--json-logs", ...args], {}, launch);
    const listening = /"url":"(http:[^"]+)"/;
    await program.until(({ stderr }) => listening.test(stderr));
    const url = listening.exec(program.stderr)?.[1];
    assert.ok(url !== undefined);
    return new NodeProcess(url, program);
  }

  get log(): string {
    return this.#program.stderr;
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
