import assert from "node:assert/strict";
import {
  BEHIND_MS,
  type Block,
  FILL,
  HeadSequence,
} from "../../../services/proxy/hub/head_sequence.ts";
import type { HubSubscription } from "../../../services/proxy/hub/hub_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** HeadSequence uses no other member. */
const subscription = () => ({ publicId: "0xpublic" }) as HubSubscription;

/** A subscription whose clients have head 10, and a node that answers when the test says so. */
class Scene {
  readonly clock = new FakeClock();
  readonly got: string[] = [];
  readonly asked: {
    from: number;
    to: number;
    answer: PromiseWithResolvers<readonly Block[]>;
  }[] = [];
  readonly #sequence = new HeadSequence({
    clock: this.clock,
    blocks: (from, to) => {
      const answer = Promise.withResolvers<readonly Block[]>();
      this.asked.push({ from, to, answer });
      return answer.promise;
    },
  });
  readonly #subscription = subscription();

  constructor() {
    this.announce(10);
  }

  announce(...numbers: (number | undefined)[]): void {
    for (const number of numbers) {
      const head = number === undefined ? undefined : { number, timestampS: 0 };
      this.#sequence.forward(this.#subscription, head, `${number}`, (text) => this.got.push(text));
    }
  }

  resume(): void {
    this.#sequence.resumed(this.#subscription);
  }

  /** The node answers the oldest open request. @returns The range that it was asked for. */
  async answer(...blocks: Block[]): Promise<[from: number, to: number]> {
    const { from, to, answer } = this.asked.shift() ?? assert.fail("Nothing was asked for");
    answer.resolve(blocks);
    await settled();
    return [from, to];
  }

  /** What clients got since the last call: heads as numbers, fetched ones with an f. */
  news(): string[] {
    return this.got.splice(0).map((text) => {
      if (!text.startsWith("{")) return text;
      return `f${Number(JSON.parse(text).params.result.number)}`;
    });
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

const block = (number: number): Block => ({ number: `0x${number.toString(16)}` });
const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => block(from + index));

Deno.test("HeadSequence: on one connection every head passes, in any order", () => {
  const scene = new Scene();
  scene.announce(11, 15, 12, 12, undefined);
  assert.deepEqual(scene.news(), ["10", "11", "15", "12", "12", "undefined"]);
  assert.equal(scene.asked.length, 0);
});

Deno.test("HeadSequence: fetches nothing before the first head", () => {
  const scene = new Scene();
  const sequence = new HeadSequence({
    clock: scene.clock,
    blocks: () => assert.fail("Asked for blocks"),
  });
  sequence.resumed(subscription());
});

Deno.test("HeadSequence: after a reconnect, missed heads are fetched before new ones are sent", async () => {
  const scene = new Scene();
  scene.resume();
  scene.announce(12, 13, undefined);
  assert.deepEqual(scene.news(), ["10", "undefined"], "the others wait");
  assert.deepEqual(await scene.answer(...blocks(11, 12)), [11, 10 + FILL.blocks]);
  assert.deepEqual(scene.news(), ["f11", "f12", "13"]);
  assert.equal(scene.asked.length, 0);
  scene.resume();
  await scene.answer();
  scene.announce(14);
  assert.equal(scene.asked.length, 0, "nothing is missing");
  scene.announce(13, 12, 14);
  assert.deepEqual(scene.news(), ["14", "13", "12", "14"], "the node is ahead: it may reorganise");
});

Deno.test("HeadSequence: a fetched block is sent as a head, under the clients' id", async () => {
  const scene = new Scene();
  scene.resume();
  const head = { number: "0xb", hash: "0x1", parentHash: "0x0" };
  const body = {
    transactions: [],
    uncles: [],
    withdrawals: [],
    size: "0x1",
    totalDifficulty: "0x2",
  };
  await scene.answer({ ...head, ...body });
  assert.deepEqual(JSON.parse(scene.got.at(-1) ?? ""), {
    jsonrpc: "2.0",
    method: "eth_subscription",
    params: { subscription: "0xpublic", result: head },
  });
});

Deno.test("HeadSequence: drops fetched blocks out of sequence or without a number", async () => {
  const scene = new Scene();
  scene.resume();
  await scene.answer(block(10), { hash: "0x1" }, block(12), block(11), block(11), block(13));
  assert.deepEqual(scene.news(), ["10", "f11"]);
});

Deno.test("HeadSequence: requests further blocks after a full answer, at most 16 times", async () => {
  const scene = new Scene();
  scene.resume();
  let last = 10;
  for (let time = 0; time < FILL.times; time += 1) {
    const [from, to] = [last + 1, last + FILL.blocks];
    assert.deepEqual(await scene.answer(...blocks(from, to)), [from, to]);
    last = to;
  }
  assert.equal(scene.asked.length, 0);
  assert.equal(scene.news().length, 1 + last - 10);
});

Deno.test("HeadSequence: asks three times for a block that the node announced and does not have", async () => {
  for (const held of [[], [11], [12]]) {
    const scene = new Scene();
    scene.resume();
    scene.announce(...held);
    let requests = 0;
    for (; scene.asked.length > 0; requests += 1) await scene.answer();
    assert.equal(requests, held[0] === 12 ? FILL.shortTimes + 1 : 1);
    assert.deepEqual(scene.news(), ["10", ...held.map(String)], "the gap stays");
  }
});

Deno.test("HeadSequence: drops heads that clients have seen until the node is ahead, for two minutes", async () => {
  const scene = new Scene();
  scene.resume();
  await scene.answer();
  scene.clock.advance(BEHIND_MS - 1);
  scene.announce(9, 10);
  assert.deepEqual(scene.news(), ["10"]);
  scene.clock.advance(1);
  scene.announce(9, 8);
  assert.deepEqual(scene.news(), ["9", "8"], "its chain is another one");
});

Deno.test("HeadSequence: fills a gap before the first head of a node, not a later one", async () => {
  const scene = new Scene();
  scene.resume();
  await scene.answer();
  scene.announce(13);
  assert.deepEqual(scene.news(), ["10"]);
  assert.deepEqual(await scene.answer(...blocks(11, 12)), [11, 10 + FILL.blocks]);
  assert.deepEqual(scene.news(), ["f11", "f12", "13"]);
  scene.announce(20);
  assert.deepEqual(scene.news(), ["20"]);
  assert.equal(scene.asked.length, 0);
});

Deno.test("HeadSequence: if blocks cannot be read, waiting heads are sent without them", async () => {
  const scene = new Scene();
  scene.resume();
  scene.announce(13, 12);
  scene.asked.shift()?.answer.reject(new Error("away"));
  await settled();
  assert.deepEqual(scene.news(), ["10", "13", "12"]);
  assert.equal(scene.asked.length, 0);
});

Deno.test("HeadSequence: ignores answers and failures of an earlier connection", async () => {
  for (const fails of [false, true]) {
    const scene = new Scene();
    scene.resume();
    scene.resume();
    scene.announce(12);
    const { answer } = scene.asked.shift() ?? assert.fail();
    if (fails) answer.reject(new Error("gone"));
    else answer.resolve(blocks(11, 11));
    await settled();
    assert.deepEqual(scene.news(), ["10"]);
    await scene.answer(...blocks(11, 11));
    assert.deepEqual(scene.news(), ["f11", "12"]);
  }
});

Deno.test("HeadSequence: with 1,025 waiting heads the gap stays", async () => {
  const scene = new Scene();
  scene.resume();
  const heads = Array.from({ length: 1_025 }, (_, index) => 20 + index);
  scene.announce(...heads.slice(0, -1));
  assert.deepEqual(scene.news(), ["10"]);
  scene.announce(...heads.slice(-1));
  assert.deepEqual(scene.news(), heads.map(String));
  await scene.answer(...blocks(11, 19));
  assert.deepEqual(scene.news(), []);
});
