/** An honest client beside the attackers: it follows heads and reads, and checks the answers. */
import assert from "node:assert/strict";
// @ts-types="@types/ws"
import { WebSocket as WsClient } from "ws";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, post, type Scene } from "../proxy/support.ts";

/** Heads and reads of one {@link HonestClient.work}. */
const ROUNDS = 40;

/** The part of the heads that has to arrive. */
const HEADS_MIN = 0.95;

export class HonestClient {
  readonly #scene: Scene;
  readonly #socket: RpcSocket;
  readonly #subscription: unknown;
  #emitted = 0;
  #reads = 0;

  private constructor(scene: Scene, socket: RpcSocket, subscription: unknown) {
    this.#scene = scene;
    this.#socket = socket;
    this.#subscription = subscription;
  }

  static async open(scene: Scene): Promise<HonestClient> {
    const socket = await RpcSocket.open(scene.wsUrl);
    const { result } = await socket.call("eth_subscribe", ["newHeads"]);
    return new HonestClient(scene, socket, result);
  }

  /** The node announces heads while the client reads, over HTTP and WebSocket. */
  async work(): Promise<void> {
    const { url, read } = this.#scene;
    for (let round = 0; round < ROUNDS; round += 1) {
      read.notify(["newHeads"], { number: this.#emitted += 1 });
      const id = 100 + (this.#reads += 1);
      const overHttp = await post(url, call(id, "core_getAccount", [id]));
      const { result } = await overHttp.json();
      assert.deepEqual([overHttp.status, result?.params], [200, [id]]);
      const overWs = await this.#socket.call("core_getAccount", [-id]);
      assert.deepEqual(overWs.error, undefined);
    }
  }

  /** Ends the client. It must have had nearly every head, as its reads have had an answer. */
  async close(): Promise<void> {
    await this.#socket.call("core_getAccount"); // what was sent before has come by now
    const heads = this.#socket.notifications(this.#subscription).length;
    assert(heads >= HEADS_MIN * this.#emitted, `${heads} of ${this.#emitted} heads came`);
    await this.#socket.close();
  }
}

/**
 * A WebSocket client that calls from an address of its own: as a trusted load balancer says, or, if
 * it is one of this machine's, directly.
 */
export class AddressedClient {
  readonly #socket: WsClient;
  readonly #answers = new Map<number, (answer: Answer) => void>();
  readonly #closed: Promise<unknown>;
  #lastId = 0;

  private constructor(socket: WsClient) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("message", (data) => {
      const message = JSON.parse(String(data));
      this.#answers.get(message.id)?.(message);
    });
    socket.on("error", () => {});
  }

  /** @returns Undefined if the handshake was refused. */
  static open(url: string, address: string): Promise<AddressedClient | undefined> {
    const from = address.startsWith("127.")
      ? { localAddress: address }
      : { headers: { "x-forwarded-for": address } };
    const socket = new WsClient(url, from);
    const client = new AddressedClient(socket);
    return new Promise((resolve) => {
      socket.on("open", () => resolve(client));
      socket.on("close", () => resolve(undefined));
    });
  }

  call(method: string, params: unknown[]): Promise<Answer> {
    const id = this.#lastId += 1;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.#socket.send(JSON.stringify(call(id, method, params)));
    });
  }

  close(): Promise<unknown> {
    this.#socket.close();
    return this.#closed;
  }
}

interface Answer {
  result?: unknown;
  error?: { code: number; message: string };
}
