import { CoreClient } from "../../../lib/net/core_client.ts";
import { type NodeOptions, type RunningNode, startNode } from "../../../services/node/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { startFakeOracle } from "./fake_oracle.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { testOptions } from "./running_node.ts";

const CHECKPOINT_MS = 100;

/**
 * A node over real HTTP that makes a checkpoint only when the test asks for it, so that no busy
 * machine can make it miss one. Its oracle goes by the same clock.
 */
export class SteppedNode {
  readonly client: CoreClient;
  readonly #socket: RpcSocket;
  readonly #heads: string;
  #seenHeads = 0;

  private constructor(
    readonly node: RunningNode,
    readonly clock: FakeClock,
    socket: RpcSocket,
    heads: string,
  ) {
    this.client = new CoreClient({ url: node.url });
    this.#socket = socket;
    this.#heads = heads;
  }

  /** Starts a node, and makes no checkpoint yet. */
  static async start(options: NodeOptions, clock: FakeClock): Promise<SteppedNode> {
    const node = await startNode(options, clock, clock.monotonic);
    const socket = await RpcSocket.open(node.wsUrl);
    return new SteppedNode(node, clock, socket, await socket.subscribe("newHeads"));
  }

  get now(): number {
    return this.clock.now();
  }

  /**
   * Moves on by checkpoints, each with its pull; those that are late already come first.
   *
   * @param duringPull Called once at each checkpoint, when its pull has begun.
   */
  async run(checkpoints: number, duringPull?: () => Promise<void>): Promise<void> {
    for (let made = 0; made < checkpoints; made++) {
      this.clock.advance(CHECKPOINT_MS - this.now % CHECKPOINT_MS);
      const dueMs = this.now;
      await duringPull?.();
      while (await this.#nextHeadMs() < dueMs) this.clock.advance(0);
    }
  }

  /** Moves on to the first checkpoint at or after a time. */
  async runUntil(timeMs: number): Promise<void> {
    await this.run(Math.ceil((timeMs - this.now) / CHECKPOINT_MS));
  }

  async stop(): Promise<void> {
    await this.#socket.close();
    await this.node.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #nextHeadMs(): Promise<number> {
    const heads = () => this.#socket.notifications(this.#heads);
    await this.#socket.waitFor(() => heads().length > this.#seenHeads);
    const head = heads()[this.#seenHeads];
    this.#seenHeads += 1;
    return Number(head?.timestampMs);
  }
}

/** A stepped node, and an oracle whose answers the test can change. */
export interface SteppedParts {
  stepped: SteppedNode;
  node: RunningNode;
  client: CoreClient;
  clock: FakeClock;
  oracle: ReturnType<typeof startFakeOracle>;
}

/** Runs a test against a stepped node that has made one checkpoint with prices. */
export async function withSteppedNode(
  test: (parts: SteppedParts) => Promise<void>,
  given: Partial<NodeOptions> = {},
  clock: FakeClock = new FakeClock(),
): Promise<void> {
  await using oracle = startFakeOracle(() => clock.now());
  const options = testOptions({ oracleUrl: oracle.url, ...given });
  await using stepped = await SteppedNode.start(options, clock);
  await stepped.run(1);
  await test({ stepped, node: stepped.node, client: stepped.client, clock, oracle });
}
