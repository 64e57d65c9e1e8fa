import assert from "node:assert/strict";
import { once } from "node:events";
import { NetworkError } from "../../../../lib/client/mod.ts";
import { listen } from "../../../../lib/http/listener.ts";
import { request } from "../../../../lib/net/http_request.ts";
import { createSocketOpener } from "../../../../services/console/page/data/open_socket.ts";
import { eventually, nextTurn } from "../../../support/eventually.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { freePort } from "../../../support/ports.ts";

Deno.test("createSocketOpener: after a failed WebSocket, opens none until the proxy answers", async () => {
  const clock = new FakeClock();
  const port = freePort();
  const openSocket = createSocketOpener(() => request(`http://127.0.0.1:${port}`), clock);
  const open = () => openSocket(`ws://127.0.0.1:${port}/ws`);
  await once(open(), "error");
  for (let probes = 0; probes < 2; probes++) {
    await clock.untilScheduled();
    assert.throws(open, NetworkError);
    clock.advance(1_000);
  }
  await clock.untilScheduled();
  await using _proxy = listen("127.0.0.1", port, (received) => {
    return received.headers.has("upgrade")
      ? Deno.upgradeWebSocket(received).response
      : new Response("");
  });
  clock.advance(1_000);
  const socket = await eventually("a WebSocket", () => {
    try {
      return open();
    } catch {
      return undefined;
    }
  });
  await once(socket, "open");
  socket.close();
  await once(socket, "close");
  assert.equal(clock.pending, 0, "nothing more is requested");
});

Deno.test("createSocketOpener: an earlier request that fails later than the last one does not count", async () => {
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked: Promise<void>[] = [];
  const openSocket = createSocketOpener(() => {
    const { promise } = answers[asked.length] ?? Promise.withResolvers<void>();
    asked.push(promise);
    return promise;
  }, new FakeClock());
  const fail = () => once(openSocket(`ws://127.0.0.1:${freePort()}`), "error");
  for (let times = 0; times < 2; times++) await fail();
  answers[1]?.resolve();
  await nextTurn();
  answers[0]?.reject(new Error("late"));
  await nextTurn();
  await fail(); // so it was opened
  assert.equal(asked.length, 3);
});
