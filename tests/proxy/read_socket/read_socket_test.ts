/** Reads over a socket to nodes of the kinds that there are, with the time in the test's hands. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { Backoff } from "../../../lib/timing/backoff.ts";
import { BoundedSocket } from "../../../lib/net/bounded_socket.ts";
import type { ReadNode } from "../../../services/proxy/node/read_node.ts";
import type { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import {
  ALSO_OVER_HTTP_AFTER_MS,
  OPEN_READ_LIMITS,
  OVERFLOW_READS_MAX,
  ReadSocket,
  TICK_INTERVAL_MS,
} from "../../../services/proxy/read_socket/read_socket.ts";
import { PAUSE_MS } from "../../../services/proxy/read_socket/socket_health.ts";
import {
  type CallAnswer,
  textAfterIdOf,
  withCallerId,
} from "../../../services/proxy/shared/envelopes.ts";
import { ProxyError } from "../../../services/proxy/shared/failures.ts";
import { eventually, nextTurn } from "../../support/eventually.ts";
import { address } from "../hub/hub_scene.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { EchoNode } from "../echo_node.ts";
import { readNodesOf } from "../support.ts";

const TIMEOUT_MS = 30_000;

type Reply = Response | Promise<Response>;

const resultOf = (text: string, result: unknown = "ws") =>
  Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result });

class Scene implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly registry = new Registry();
  readonly node: EchoNode;
  readonly socket: ReadSocket;
  readonly #nodes: ReadNodes;
  leader: ReadNode;
  overHttp: (method: string) => Promise<CallAnswer> = () =>
    Promise.resolve({
      status: 200,
      text: '{"id":1,"result":"http"}',
      idSpan: { start: 6, end: 7 },
    });

  constructor(answer: (text: string) => Reply) {
    this.node = new EchoNode({ answer });
    this.#nodes = readNodesOf(`${new URL(this.node.url).host} other`);
    this.leader = this.#nodes.leader;
    this.socket = new ReadSocket({
      nodes: this,
      overHttp: ({ textAfterId }) => this.overHttp(/"method":"(\w+)"/.exec(textAfterId)?.[1] ?? ""),
      socket: {
        clock: this.clock,
        backoff: new Backoff({ initialMs: 100, maxMs: 100, random: () => 1 }),
        connect: (url) => new BoundedSocket(url, { maxMessageBytes: 1_024, clock: this.clock }),
      },
      timeoutMs: TIMEOUT_MS,
      metrics: new ProxyMetrics(this.registry),
    });
  }

  /** Reads. @returns The way that the answer came, or the status of an error. */
  async read(
    method = "eth_call",
    caller = "a",
    { paramsText = "[]", hasLargeAnswer = false } = {},
  ): Promise<unknown> {
    const textAfterId = textAfterIdOf(method, paramsText);
    const read = { textAfterId, caller: address(caller), node: this.#nodes.leader, hasLargeAnswer };
    try {
      const answer = await this.socket.ask(read);
      const { result, error } = JSON.parse(withCallerId(answer, "7"));
      return result ?? error.code;
    } catch (error) {
      assert(error instanceof ProxyError);
      return error.status;
    }
  }

  lead(index: number): void {
    this.leader = this.#nodes.all[index] ?? assert.fail();
  }

  get asked(): string[] {
    return this.node.requests.map(({ text }) => JSON.parse(text).method);
  }

  /** Whether reads go over the socket. */
  async isConnected(): Promise<boolean> {
    const text = await this.registry.getSingleMetricAsString("proxy_read_socket_connected");
    return /^proxy_read_socket_connected 1$/m.test(text);
  }

  connected(): Promise<true> {
    return eventually("it is connected", async () => await this.isConnected());
  }

  /** Time passes, while another read shows that the node is well otherwise. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += TICK_INTERVAL_MS) {
      assert.equal(await this.read(), "ws");
      this.clock.advance(TICK_INTERVAL_MS);
    }
  }

  static async play(
    answer: (text: string) => Reply,
    play: (scene: Scene) => Promise<void>,
  ): Promise<void> {
    await using scene = new Scene(answer);
    assert.equal(await scene.read(), "http", "the first read connects it");
    await scene.connected();
    await play(scene);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.stop();
    await this.node.stop();
    assert.equal(this.clock.pending, 0, "A timer was left behind");
  }
}

/** A node that never answers some methods, and all others at once. */
const neverAnswers = (...methods: string[]) => (text: string): Reply =>
  methods.includes(JSON.parse(text).method) ? new Promise(() => {}) : resultOf(text);

/** A node that works on one call of a socket at a time, as Nethermind and Besu do. */
function oneAtATime(answer: (text: string) => Reply): (text: string) => Promise<Response> {
  let last: Promise<unknown> = Promise.resolve();
  return (text) => {
    const next = last.then(() => answer(text));
    last = next;
    return next;
  };
}

Deno.test("ReadSocket: answers in any order, and with ids as text, reach their reads", () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return Scene.play(async (text) => {
    const { id, method } = JSON.parse(text);
    if (method === "eth_slow") await promise;
    return new Response(`{ "result":"${method}", "id":"${id}" }`);
  }, async (scene) => {
    const slow = scene.read("eth_slow");
    const fast = await Promise.all(["eth_a", "eth_b", "eth_c"].map((method) => scene.read(method)));
    assert.deepEqual(fast, ["eth_a", "eth_b", "eth_c"]);
    resolve();
    assert.equal(await slow, "eth_slow");
  });
});

Deno.test("ReadSocket: a large read, or a read of another node than the leader, uses HTTP", () =>
  Scene.play((text) => resultOf(text), async (scene) => {
    assert.equal(await scene.read("eth_call", "a", { hasLargeAnswer: true }), "http");
    scene.lead(1);
    assert.equal(await scene.read(), "http");
    scene.lead(0);
    assert.equal(await scene.read(), "ws");
  }));

Deno.test("ReadSocket: a long or complex read uses HTTP", () =>
  Scene.play((text) => resultOf(text), async (scene) => {
    const long = (length: number) =>
      `["${"x".repeat(length - textAfterIdOf("eth_call", '[""]').length)}"]`;
    const nested = (depth: number) => "[".repeat(depth + 1) + 1 + "]".repeat(depth + 1);
    const wide = (parts: number) => JSON.stringify(new Array(parts).fill([]));
    const rows: [paramsText: string, way: "ws" | "http"][] = [
      [long(16 * 1_024), "ws"],
      [long(16 * 1_024 + 1), "http"],
      [nested(31), "ws"],
      [nested(32), "http"],
      [wide(997), "ws"],
      [wide(998), "http"],
    ];
    for (const [paramsText, way] of rows) {
      const read = scene.read("eth_call", "a", { paramsText });
      assert.equal(await read, way, `${paramsText.slice(0, 40)}, ${paramsText.length} characters`);
    }
  }));

Deno.test("ReadSocket: a slow read on a node with parallel processing changes nothing", () =>
  Scene.play(neverAnswers("eth_slow"), async (scene) => {
    const slow = scene.read("eth_slow");
    const checks = () => scene.asked.filter((method) => method === "eth_chainId").length;
    for (let n = 0; n < 20; n += 1) {
      scene.clock.advance(TICK_INTERVAL_MS);
      await eventually("the node is asked a small call", () => checks() > n);
      assert.equal(await scene.read(), "ws");
    }
    assert.equal(await scene.read(), "ws");
    assert(await scene.isConnected());
    void slow;
  }));

Deno.test("ReadSocket: a read that is late is sent over HTTP too, once, and ends with the timeout", () =>
  Scene.play(neverAnswers("eth_lost"), async (scene) => {
    let sent = 0;
    scene.overHttp = (method) => {
      if (method === "eth_lost") sent += 1;
      return Promise.reject(new ProxyError(502, -32002, "away"));
    };
    const lose = () =>
      Array.from({ length: OPEN_READ_LIMITS.perCaller - 1 }, () => scene.read("eth_lost"));
    const lost = lose();
    await scene.pass(ALSO_OVER_HTTP_AFTER_MS - TICK_INTERVAL_MS);
    assert.equal(sent, 0);
    await scene.pass(TICK_INTERVAL_MS);
    assert.equal(sent, lost.length);
    await scene.pass(TIMEOUT_MS - ALSO_OVER_HTTP_AFTER_MS);
    assert.deepEqual(new Set(await Promise.all(lost)), new Set([504]));
    assert.equal(sent, lost.length);
    lose();
    assert.equal(await scene.read(), "ws", "the slots of those before are free");
  }));

Deno.test("ReadSocket: when the socket closes, a late read is sent over HTTP again only if that has failed", () =>
  Scene.play(neverAnswers("eth_lost", "eth_failed"), async (scene) => {
    const { promise: wait, resolve: giveAnswer } = Promise.withResolvers<void>();
    const answer = scene.overHttp;
    const sent: string[] = [];
    scene.overHttp = async (method) => {
      const isFirst = !sent.includes(method);
      if (method !== "eth_chainId") sent.push(method);
      if (method === "eth_failed" && isFirst) throw new ProxyError(502, -32002, "away");
      if (method === "eth_lost") await wait;
      return await answer(method);
    };
    const reads = [scene.read("eth_lost"), scene.read("eth_failed")];
    await scene.pass(ALSO_OVER_HTTP_AFTER_MS);
    assert.deepEqual(sent.toSorted(), ["eth_failed", "eth_lost"]);
    scene.node.dropSockets(1009);
    assert.equal(await reads[1], "http");
    giveAnswer();
    assert.equal(await reads[0], "http");
    assert.deepEqual(sent.toSorted(), ["eth_failed", "eth_failed", "eth_lost"]);
  }));

Deno.test("ReadSocket: after several lost answers, these and all further reads use HTTP", () =>
  Scene.play(neverAnswers("eth_lost"), async (scene) => {
    const lost = [1, 2, 3].map(() => scene.read("eth_lost"));
    await scene.pass(ALSO_OVER_HTTP_AFTER_MS);
    assert.deepEqual(await Promise.all(lost), ["http", "http", "http"]);
    assert.equal(await scene.read(), "http");
    scene.clock.advance(PAUSE_MS);
    await scene.connected();
    assert.equal(await scene.read(), "ws", "the socket is tried again");
  }));

Deno.test("ReadSocket: if a node works on one call at a time, all reads use HTTP without waiting", () => {
  const answer = oneAtATime(neverAnswers("eth_slow"));
  return Scene.play(answer, async (scene) => {
    assert.equal(await scene.read(), "ws");
    const reads = ["eth_slow", "eth_a", "eth_b"].map((method) => scene.read(method));
    await eventually("they are sent", () => scene.asked.length >= 2);
    // It answers nothing over its socket, and is asked a small call.
    for (let look = 0; look < 11; look += 1) {
      scene.clock.advance(TICK_INTERVAL_MS);
      await nextTurn();
    }
    assert.deepEqual(await Promise.all(reads), ["http", "http", "http"]);
    assert.equal(await scene.read(), "http");
  });
});

Deno.test("ReadSocket: if a node is slower over its socket, all reads use HTTP", async () => {
  await using scene: Scene = new Scene(async (text) => {
    scene.clock.advance(12);
    await Promise.resolve();
    return resultOf(text);
  });
  await scene.read();
  await scene.connected();
  let reads = 0;
  while (await scene.isConnected()) {
    const read = scene.read();
    for (let ms = 0; ms < TICK_INTERVAL_MS; ms += 1) {
      scene.clock.advance(1);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve(); // HTTP answers at once
    }
    await read;
    reads += 1;
    assert(reads < 100, "it was not noticed");
  }
  assert(reads >= 10, `${reads} reads are not enough to tell`);
});

const faults: [name: string, frame: string][] = [
  ["an error without an id", '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}'],
  ["a frame that is not JSON", '{"jsonrpc":"2.0","params\\'],
  ["a frame without an id", '{"i\\x":1}'],
];
for (const [name, frame] of faults) {
  Deno.test(`ReadSocket: after ${name}, open reads are repeated over HTTP; after three, all reads use HTTP`, () =>
    Scene.play(neverAnswers("eth_slow"), async (scene) => {
      const { perCaller } = OPEN_READ_LIMITS;
      for (const way of ["ws", "ws", "http"]) {
        const sent = scene.asked.length + perCaller;
        const reads = Array.from({ length: perCaller }, () => scene.read("eth_slow"));
        await scene.node.until(() => scene.asked.length === sent);
        scene.node.sendRaw(frame);
        assert.deepEqual(new Set(await Promise.all(reads)), new Set(["http"]));
        assert.equal(await scene.read(), way, "its slots are free");
      }
    }));
}

Deno.test("ReadSocket: when the node closes the socket, open and waiting reads are repeated over HTTP", () =>
  Scene.play(neverAnswers("eth_slow"), async (scene) => {
    const reads = Array.from({ length: 100 }, () => scene.read("eth_slow"));
    await scene.node.until(() => scene.node.requests.length === OPEN_READ_LIMITS.perCaller);
    scene.node.dropSockets(1009);
    assert.deepEqual(new Set(await Promise.all(reads)), new Set(["http"]));
    scene.clock.advance(100);
    await scene.connected();
    assert.equal(await scene.read(), "ws");
  }));

Deno.test("ReadSocket: a method that the node serves only over HTTP is repeated over HTTP", () =>
  Scene.play((text) => {
    const { id, method } = JSON.parse(text);
    if (method === "eth_a") return resultOf(text);
    return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
  }, async (scene) => {
    const ways = [await scene.read("eth_a"), await scene.read("eth_b")];
    assert.deepEqual(ways, ["ws", "http"]);
  }));

Deno.test("ReadSocket: callers take turns, and reads that wait long at a slow node use HTTP", () =>
  Scene.play(neverAnswers("eth_slow"), async (scene) => {
    const { perCaller } = OPEN_READ_LIMITS;
    const greedy = Array.from({ length: 300 }, () => scene.read("eth_slow", "greedy"));
    await scene.node.until(() => scene.node.requests.length === perCaller);
    assert.equal(
      await scene.read("eth_call", "honest"),
      "ws",
      "a place is free for another caller",
    );
    for (let tick = 0; tick < 3; tick += 1) {
      scene.clock.advance(TICK_INTERVAL_MS);
      await nextTurn();
    }
    const waited = await Promise.all(greedy.slice(perCaller));
    assert.deepEqual(new Set(waited), new Set(["http"]), "100 at a time");
    assert.equal(await scene.read("eth_call", "honest"), "ws");
    void Promise.allSettled(greedy);
  }));

Deno.test("ReadSocket: of reads that wait long, 100 of a caller and 512 of all callers use HTTP at a time", () =>
  Scene.play(neverAnswers("eth_slow"), async (scene) => {
    const { all, perCaller } = OVERFLOW_READS_MAX;
    const answer = scene.overHttp;
    const open: (() => void)[] = [];
    scene.overHttp = async (method) => {
      if (method === "eth_slow") await new Promise<void>((resolve) => open.push(resolve));
      return await answer(method);
    };
    const read = (caller: string) =>
      Array.from({ length: 2 * perCaller }, () => scene.read("eth_slow", caller));
    const greedy = read("greedy");
    scene.clock.advance(TICK_INTERVAL_MS);
    assert.equal(open.length, perCaller);
    for (const answer of open.splice(0)) answer();
    await Promise.race(greedy);
    await nextTurn();
    for (const caller of ["b", "c", "d", "e", "f"]) read(caller);
    scene.clock.advance(TICK_INTERVAL_MS);
    assert.equal(open.length, all, "those that were answered no longer count");
    for (const answer of open) answer();
  }));

Deno.test("ReadSocket: an answer over HTTP that comes after that of the socket frees no slot", () => {
  const { promise: late, resolve: answerLate } = Promise.withResolvers<void>();
  const answer = (text: string) => {
    const { method } = JSON.parse(text);
    if (method === "eth_late") return late.then(() => resultOf(text));
    return method === "eth_slow" ? new Promise<Response>(() => {}) : resultOf(text);
  };
  return Scene.play(answer, async (scene) => {
    const { promise: overHttp, resolve: answerOverHttp } = Promise.withResolvers<CallAnswer>();
    scene.overHttp = () => overHttp;
    const read = scene.read("eth_late");
    await scene.pass(ALSO_OVER_HTTP_AFTER_MS);
    answerLate();
    assert.equal(await read, "ws");
    answerOverHttp({ status: 200, text: '{"id":1,"result":"http"}', idSpan: { start: 6, end: 7 } });
    await overHttp;
    const { perCaller } = OPEN_READ_LIMITS;
    for (let count = 0; count < 2 * perCaller; count += 1) void scene.read("eth_slow");
    assert.equal(await scene.read("eth_call", "another"), "ws");
    assert.equal(scene.asked.filter((method) => method === "eth_slow").length, perCaller);
  });
});

Deno.test("ReadSocket: reads beyond the queue limit are refused", () =>
  Scene.play(neverAnswers("eth_slow"), async (scene) => {
    const greedy = Array.from({ length: 5_000 }, () => scene.read("eth_slow", "greedy"));
    const wait = Promise.race(greedy);
    assert.equal(await wait, 429);
    assert.equal(await scene.read("eth_call", "honest"), "ws");
    void Promise.allSettled(greedy);
  }));
