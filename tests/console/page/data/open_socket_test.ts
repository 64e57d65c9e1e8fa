import assert from "node:assert/strict";
import { once } from "node:events";
import { NetworkError } from "../../../../lib/client/mod.ts";
import { listen } from "../../../../lib/http/listener.ts";
import { request } from "../../../../lib/net/http_request.ts";
import { createSocketOpener } from "../../../../services/console/page/data/open_socket.ts";
import { eventually } from "../../../support/eventually.ts";
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
