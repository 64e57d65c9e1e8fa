import assert from "node:assert/strict";
import { ByteBudget, CallerBytes, LARGE_SHARE } from "../../../services/proxy/shared/limits.ts";
import { ProxyError } from "../../../services/proxy/shared/failures.ts";
import {
  BYTES_PER_S,
  FIRST_BYTES,
  FIRST_BYTES_MS,
  RequestBodies,
  RUNTIME_BYTES_MAX,
} from "../../../services/proxy/clients/request_bodies.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { nextTurn } from "../../support/eventually.ts";
import { address } from "../hub/hub_scene.ts";

const MAX_BYTES = 4 * FIRST_BYTES;

class Scene {
  readonly clock = new FakeClock();
  readonly budget: ByteBudget;
  readonly refusals: string[] = [];
  /** Bytes that the caller of the last body has to remove from the budget. */
  countedBytes = 0;
  readonly #bodies: RequestBodies;
  #callers = 0;

  constructor(budgetBytes = Infinity) {
    this.budget = new ByteBudget(budgetBytes);
    this.#bodies = new RequestBodies({
      maxBytes: MAX_BYTES,
      callerBytes: new CallerBytes(this.budget),
      metrics: { countRefusal: (limit) => this.refusals.push(limit) },
      clock: this.clock,
    });
  }

  async read(request: Request): Promise<string> {
    const caller = address(`192.0.2.${this.#callers += 1}`);
    const { text, countedBytes } = await this.#bodies.read(request, caller, this.clock.now());
    this.countedBytes = countedBytes;
    return text;
  }

  /** Reads a body that must be refused. @returns Its status. */
  async refused(request: Request): Promise<number> {
    const thrown = await this.read(request).then(() => undefined, (error) => error);
    assert(thrown instanceof ProxyError && thrown.rpcCode === -32005, String(thrown));
    return thrown.status;
  }

  stop(): void {
    this.#bodies.stop();
    assert.equal(this.clock.pending, 0, "a timer was left behind");
  }
}

/** A body whose bytes the test sends. */
class SlowBody {
  isCancelled = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly request: Request;

  constructor(declaredBytes?: number) {
    const body = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.isCancelled = true),
    });
    const headers: HeadersInit = declaredBytes === undefined
      ? {}
      : { "content-length": String(declaredBytes) };
    this.request = new Request("http://x/", { method: "POST", body, headers });
  }

  async send(bytes: number): Promise<void> {
    this.#controller.enqueue(new Uint8Array(bytes).fill(0x78));
    await nextTurn();
  }

  end(): void {
    this.#controller.close();
  }
}

function request(bytes: number, isDeclared: boolean): Request {
  const headers: HeadersInit = isDeclared ? { "content-length": String(bytes) } : {};
  const body = new Blob(["x".repeat(bytes)]).stream();
  return new Request("http://x/", { method: "POST", body, headers });
}

Deno.test("RequestBodies: a body of the maximum size is read, a byte more is refused with 413", async () => {
  for (const isDeclared of [true, false]) {
    const scene = new Scene();
    for (const bytes of [0, 1, RUNTIME_BYTES_MAX, RUNTIME_BYTES_MAX + 1, MAX_BYTES]) {
      assert.equal((await scene.read(request(bytes, isDeclared))).length, bytes);
    }
    assert.equal(await scene.refused(request(MAX_BYTES + 1, isDeclared)), 413);
    const inPieces = new SlowBody();
    const refused = scene.refused(inPieces.request);
    for (const bytes of [MAX_BYTES, 1]) await inPieces.send(bytes);
    if (!inPieces.isCancelled) inPieces.end();
    assert.equal(await refused, 413);
    scene.clock.advance(FIRST_BYTES_MS);
    assert.deepEqual(scene.refusals, [], "none was slow");
    scene.stop();
  }
  const scene = new Scene();
  assert.equal(await scene.read(new Request("http://x/", { method: "POST" })), "");
  const headers = { "content-length": "3, 3" }; // the server accepts equal ones
  const repeated = new Request("http://x/", { method: "POST", body: "abc", headers });
  assert.equal(await scene.read(repeated), "abc");
  scene.stop();
});

Deno.test("RequestBodies: bytes use the budget as they arrive, except in declared bodies up to 8 KiB", async () => {
  const scene = new Scene();
  await scene.read(request(RUNTIME_BYTES_MAX, true));
  assert.deepEqual([scene.budget.used, scene.countedBytes], [0, 0]);
  const body = new SlowBody(FIRST_BYTES);
  const read = scene.read(body.request);
  await body.send(1_000);
  assert.equal(scene.budget.used, 1_000, "what arrived, no more");
  await body.send(500);
  body.end();
  assert.equal((await read).length, 1_500);
  assert.deepEqual([scene.budget.used, scene.countedBytes], [1_500, 1_500]);
  scene.stop();
});

Deno.test("RequestBodies: keeps no chunk: the runtime's have 64 KiB each, also those of one byte", async () => {
  const scene = new Scene();
  const buffer = new Uint8Array(65_536);
  const written = "é€";
  const bytes = new TextEncoder().encode(written);
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (sent === bytes.length) return controller.close();
      buffer.fill(bytes[sent] ?? 0);
      controller.enqueue(buffer.subarray(sent, sent += 1)); // a kept chunk would change with it
    },
  }, { highWaterMark: 0 });
  assert.equal(await scene.read(new Request("http://x/", { method: "POST", body })), written);
  scene.stop();
});

Deno.test("RequestBodies: without room in the budget a body is refused with 429, at once if its length is declared", async () => {
  const scene = new Scene(200_000 / LARGE_SHARE); // half of it for one caller
  const declared = new SlowBody(100_001);
  assert.equal(await scene.refused(declared.request), 429);
  const body = new SlowBody();
  const refused = scene.refused(body.request);
  await body.send(100_000);
  assert.equal(scene.budget.used, 100_000);
  await body.send(1);
  assert.deepEqual([await refused, body.isCancelled, scene.budget.used], [429, true, 0]);
  const [first, second, third] = [new SlowBody(), new SlowBody(), new SlowBody()];
  const outcomes = [first, second].map(({ request }) => scene.refused(request));
  await first.send(100_000);
  await second.send(100_000);
  const last = scene.refused(third.request);
  await third.send(1);
  assert.deepEqual([await last, scene.budget.used], [429, 200_000]);
  await first.send(1);
  await second.send(1);
  assert.deepEqual([...await Promise.all(outcomes), scene.budget.used], [429, 429, 0]);
  assert.deepEqual(scene.refusals, new Array(5).fill("buffered_bytes"));
  scene.stop();
});

Deno.test("RequestBodies: the first 64 KiB may take five seconds, the rest needs 128 KiB a second", async () => {
  for (const declared of [100, RUNTIME_BYTES_MAX, FIRST_BYTES, MAX_BYTES, undefined]) {
    const scene = new Scene();
    const body = new SlowBody(declared);
    const outcome = scene.refused(body.request);
    await body.send(90);
    scene.clock.advance(FIRST_BYTES_MS - 1);
    assert.deepEqual(scene.refusals, []);
    scene.clock.advance(1);
    assert.equal(await outcome, 408);
    assert.deepEqual(scene.refusals, ["slow_body"]);
    assert.equal(body.isCancelled, declared !== 100 && declared !== RUNTIME_BYTES_MAX);
    scene.stop();
  }
  for (const isSlower of [false, true]) {
    const scene = new Scene();
    const body = new SlowBody(MAX_BYTES);
    const read = scene.read(body.request).catch(({ status }) => status);
    await body.send(FIRST_BYTES + BYTES_PER_S - (isSlower ? 1 : 0));
    scene.clock.advance(FIRST_BYTES_MS);
    assert.deepEqual(scene.refusals, []);
    scene.clock.advance(1_000 - 1);
    if (isSlower) scene.clock.advance(1);
    else body.end();
    const outcome = await read;
    assert.equal(outcome.length ?? outcome, isSlower ? 408 : FIRST_BYTES + BYTES_PER_S);
    scene.stop();
  }
});

Deno.test("RequestBodies: a body that comes byte by byte is refused, one in usual pieces is not", async () => {
  const scene = new Scene();
  const bodyOf = (pieces: number, bytes: number) => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(bytes).fill(0x20));
        if ((sent += 1) === pieces) controller.close();
      },
    });
    return new Request("http://x/", { method: "POST", body });
  };
  assert.equal(await scene.refused(bodyOf(1_000, 1)), 413);
  assert.deepEqual(scene.refusals, ["slow_body"]);
  assert.equal((await scene.read(bodyOf(500, 1))).length, 500);
  assert.equal((await scene.read(bodyOf(800, 300))).length, 240_000);
  scene.stop();
});

Deno.test("RequestBodies: others are served while many bodies come in pieces", async () => {
  const scene = new Scene();
  let pieces = 0;
  const body = () => {
    let sent = 0;
    return new ReadableStream({
      pull(controller) {
        pieces += 1;
        controller.enqueue(Uint8Array.of(0x20));
        if ((sent += 1) === 200) controller.close();
      },
    });
  };
  const bodies = Array.from(
    { length: 10 },
    () => scene.read(new Request("http://x/", { method: "POST", body: body() })),
  );
  let [before, most] = [0, 0];
  const served = setInterval(() => {
    most = Math.max(most, pieces - before);
    before = pieces;
  }, 0);
  for (const text of await Promise.all(bodies)) assert.equal(text.length, 200);
  clearInterval(served);
  assert(0 < most && most < 200, `${most} of 2,000 pieces were read in one turn`);
  scene.stop();
});
