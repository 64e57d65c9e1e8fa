import assert from "node:assert/strict";
import { SocketHealth } from "../../../services/proxy/read_socket/socket_health.ts";
import { nextTurn } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Checks of a socket that are slow, by default, while those over HTTP take no time. */
class Scene {
  readonly #clock = new FakeClock();
  http = Promise.withResolvers<void>();
  pauses = 0;
  readonly health = new SocketHealth({
    clock: this.#clock,
    askOverSocket() {},
    askOverHttp: () => this.http.promise,
    onPause: () => this.pauses += 1,
  });

  constructor() {
    this.http.resolve();
  }

  async check(socketMs = 100): Promise<void> {
    this.health.tick();
    await nextTurn();
    this.#clock.advance(socketMs);
    await this.health.onCheckAnswered(this.#clock.now());
  }

  async slowChecks(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) await this.check();
  }
}

Deno.test("SocketHealth: a check that fails over HTTP says nothing, and the count of slow ones goes on", async () => {
  const scene = new Scene();
  await scene.slowChecks(9);
  const { http } = scene;
  scene.http = Promise.withResolvers();
  scene.http.reject(new Error("away"));
  await scene.check();
  assert.equal(scene.pauses, 0);
  scene.http = http;
  await scene.check();
  assert.equal(scene.pauses, 1);
});

Deno.test("SocketHealth: one fast check restarts the count of ten slow ones", async () => {
  const scene = new Scene();
  await scene.slowChecks(9);
  await scene.check(5);
  await scene.slowChecks(9);
  assert.equal(scene.pauses, 0);
  await scene.check();
  assert.equal(scene.pauses, 1);
  for (let n = 0; n < 5; n += 1) scene.health.countFault("it is paused already");
  assert.equal(scene.pauses, 1);
});

Deno.test("SocketHealth: a check that went with a lost connection is not waited for", async () => {
  const scene = new Scene();
  scene.health.tick();
  for (let tick = 0; tick < 20; tick += 1) {
    await nextTurn();
    scene.health.onLost();
    scene.health.tick();
  }
  assert.equal(scene.pauses, 0);
  await nextTurn();
  for (let tick = 0; tick < 10; tick += 1) scene.health.tick();
  assert.equal(scene.pauses, 1, "one that is not answered counts at each tick");
});

Deno.test("SocketHealth: a node that answers over HTTP neither says nothing about its socket", async () => {
  const scene = new Scene();
  const http = scene.http = Promise.withResolvers<void>();
  for (let tick = 0; tick < 20; tick += 1) {
    scene.health.tick();
    await nextTurn();
  }
  assert.equal(scene.pauses, 0);
  http.resolve();
  await nextTurn();
  for (let tick = 0; tick < 10; tick += 1) scene.health.tick();
  assert.equal(scene.pauses, 1, "it does over HTTP, and not over its socket");
});

Deno.test("SocketHealth: while a check is unanswered over the socket, one that failed over HTTP is repeated there", async () => {
  const scene = new Scene();
  const { http } = scene;
  scene.http = Promise.withResolvers();
  scene.http.reject(new Error("away"));
  scene.health.tick();
  await nextTurn();
  scene.http = http;
  scene.health.tick();
  await nextTurn();
  assert.equal(scene.pauses, 0);
  for (let tick = 0; tick < 10; tick += 1) scene.health.tick();
  assert.equal(scene.pauses, 1);
});
