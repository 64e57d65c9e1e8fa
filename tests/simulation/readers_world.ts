import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { ByteBudget } from "../../services/proxy/shared/limits.ts";
import {
  ClientBuffers,
  ClientQueue,
  GUARANTEED_BYTES,
  QUEUED_BYTES_MAX,
} from "../../services/proxy/clients/client_queue.ts";
import {
  RuntimeSocket,
  type RuntimeWebSocket,
} from "../../services/proxy/clients/client_sockets.ts";
import { Hub } from "../../services/proxy/hub/hub.ts";
import type { HubClient } from "../../services/proxy/hub/subscriptions.ts";
import { address, NO_EVENTS } from "../proxy/hub/hub_scene.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { subscriptionNotice } from "../support/fake_feed.ts";

const CLIENTS = 6;
const BUDGET_BYTES = 64 * 1024 * 1024;
const MESSAGE_BYTES_MAX = 16 * 1024;
const BURST_MAX = 64;
const STEP_MS = 10;

/** How a client reads: at once, a part of the waiting messages at each step, or not at all. */
const READERS = ["fast", "slow", "deaf"] as const;

/** A socket whose peer reads when the world asks for it. */
class Socket implements RuntimeWebSocket {
  readyState: number = WebSocket.OPEN;
  binaryType: BinaryType = "blob";
  onmessage: RuntimeWebSocket["onmessage"] = null;
  onerror: RuntimeWebSocket["onerror"] = null;
  onclose: RuntimeWebSocket["onclose"] = null;
  bufferedAmount = 0;
  readonly #onSend: (text: string) => void;

  constructor(onSend: (text: string) => void) {
    this.#onSend = onSend;
  }

  send(text: string): void {
    this.bufferedAmount += text.length; // ASCII
    this.#onSend(text);
  }

  close = () => assert.fail("Nobody is closed in mode lag");
}

interface Client {
  reader: typeof READERS[number];
  socket: Socket;
  hub: HubClient;
  /** Numbers of the notifications that were sent to it, in order. */
  got: number[];
}

/** Plays bursts to clients that read differently, through real queues and one budget. */
export class ReadersWorld {
  readonly #random: RandomSource;
  readonly #clock = new FakeClock();
  readonly #budget = new ByteBudget(BUDGET_BYTES);
  readonly #hub: Hub;
  readonly #clients: Client[];
  #emitted = 0;
  #lagged = 0;

  constructor(random: RandomSource) {
    this.#random = random;
    this.#hub = new Hub({
      capacity: 1 + this.#below(BURST_MAX),
      maxSubscriptions: 10,
      subscribeTimeoutMs: 1_000,
      slowClients: "lag",
      events: { ...NO_EVENTS, onLagged: (count) => this.#lagged += count },
    });
    const send = (text: string) => this.#grant(text);
    this.#hub.onUpstreamOpened({ send, drop: () => assert.fail("Not dropped") }, 0);
    const buffers = new ClientBuffers(this.#budget, this.#clock, () => assert.fail("No refusal"));
    this.#clients = Array.from({ length: CLIENTS }, () => this.#connect(buffers));
  }

  /** Nothing, a message or a burst comes; then the clients read. */
  step(): void {
    const count = this.#random() < 0.5 ? 0 : 1 + this.#below(BURST_MAX);
    for (let n = 0; n < count; n += 1) {
      const padding = "x".repeat(this.#below(MESSAGE_BYTES_MAX));
      this.#receive(subscriptionNotice("0x1", { n: this.#emitted, padding }));
      this.#emitted += 1;
      if (this.#random() < 0.1) this.#hub.flush();
    }
    this.#hub.flush();
    for (const client of this.#clients) this.#read(client);
    this.#clock.advance(this.#below(STEP_MS));
    for (const client of [...this.#hub.clientsBehind].slice(0, this.#below(2 * CLIENTS))) {
      this.#hub.catchUp(client);
    }
    this.#checkBudget();
  }

  /** Everybody reads; then the received messages are compared with the broadcast ones. */
  settle(): void {
    let missed = 0;
    while (this.#hub.clientsBehind.size > 0) {
      for (const { socket } of this.#clients) socket.bufferedAmount = 0;
      this.#clock.advance(1_000);
      for (const client of [...this.#hub.clientsBehind]) this.#hub.catchUp(client);
    }
    for (const { reader, got } of this.#clients) {
      assert(got.every((n, at) => at === 0 || n > got[at - 1]!), "In order, and none twice");
      assert.equal(got.at(-1) ?? -1, this.#emitted - 1, "The newest has come");
      if (reader !== "deaf") {
        assert.equal(got.length, this.#emitted, `One that is ${reader} missed some`);
      }
      missed += this.#emitted - got.length;
    }
    assert.equal(this.#lagged, missed, "Misses are counted exactly");
  }

  #connect(buffers: ClientBuffers): Client {
    const reader = READERS[this.#below(READERS.length)] ?? "fast";
    const got: number[] = [];
    // Parsing each message for each client would take most of the time.
    const socket = new Socket((text) => got.push(parseInt(text.slice(text.indexOf('"n":') + 4))));
    const queue = new ClientQueue(new RuntimeSocket(socket), buffers, "one");
    const hub = this.#hub.connect(queue, address());
    const request = { namespace: "eth", paramsText: "[]", key: "all" };
    this.#hub.subscribe(hub, request, 0, (outcome) => assert("id" in outcome));
    return { reader, socket, hub, got };
  }

  #read({ reader, socket }: Client): void {
    if (reader === "fast") socket.bufferedAmount = 0;
    if (reader === "slow") {
      const bytes = Math.ceil(socket.bufferedAmount * (0.2 + 0.5 * this.#random()));
      socket.bufferedAmount -= bytes;
    }
  }

  #checkBudget(): void {
    let unsent = 0;
    for (const { socket } of this.#clients) unsent += socket.bufferedAmount;
    assert(unsent <= this.#budget.used, "The budget never counts less than what waits");
    // A queue ends with a message that need not fit as a whole.
    const most = BUDGET_BYTES / 2 + CLIENTS * (GUARANTEED_BYTES + MESSAGE_BYTES_MAX + 200);
    assert(unsent <= most, `${unsent} bytes wait in the queues`);
    const deaf = this.#clients.filter(({ reader }) => reader === "deaf");
    for (const { socket } of deaf) {
      assert(
        socket.bufferedAmount <= BUDGET_BYTES / 4 + QUEUED_BYTES_MAX,
        "One leaves room to others",
      );
    }
  }

  #receive(text: string): void {
    this.#hub.receive(text, () => true);
  }

  #grant(text: string): boolean {
    const { id } = JSON.parse(text);
    queueMicrotask(() => this.#receive(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" })));
    return true;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
