import assert from "node:assert/strict";
import { SocketHealth } from "../../../services/proxy/node/socket_health.ts";
import { nextTurn } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("SocketHealth: a check that fails over HTTP says nothing, and the count of slow ones goes on", async () => {
  const clock = new FakeClock();
  let isHttpAway = false;
  let pauses = 0;
  const health = new SocketHealth({
    clock,
    askOverSocket() {},
    askOverHttp: () => isHttpAway ? Promise.reject(new Error("away")) : Promise.resolve(),
    onPause: () => pauses += 1,
  });
  const check = async () => {
    health.tick();
    await nextTurn();
    clock.advance(100);
    await health.onCheckAnswered(clock.now());
  };
  for (let n = 0; n < 9; n += 1) await check();
  isHttpAway = true;
  await check();
  assert.equal(pauses, 0);
  isHttpAway = false;
  await check();
  assert.equal(pauses, 1);
});
