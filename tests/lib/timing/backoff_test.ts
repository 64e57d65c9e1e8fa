import assert from "node:assert/strict";
import { withDefaults } from "../../../lib/cli/options.ts";
import { Backoff } from "../../../lib/timing/backoff.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import { options as proxyOptions } from "../../../services/proxy/options.ts";
import { FEED_RECONNECT } from "../../../services/solver/node_follower.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeSocket } from "../../support/fake_socket.ts";
import { withSeed } from "../../support/random.ts";

Deno.test("Backoff: jitter keeps each wait between half and all of its value", () =>
  withSeed((random) => {
    const backoff = new Backoff({ initialMs: 100, maxMs: 10_000, random });
    for (let attempt = 0; attempt < 2_000; attempt += 1) {
      const fullMs = Math.min(10_000, 100 * 2 ** attempt);
      const waitMs = backoff.nextMs();
      assert(waitMs >= fullMs / 2 && waitMs <= fullMs, `attempt ${attempt} waits ${waitMs}`);
    }
  }));

const { reconnectInitialMs, reconnectMaxMs } = withDefaults(proxyOptions, {});

/** Who follows a node's WebSocket, and the waits between attempts. */
const FOLLOWERS = {
  proxy: { initialMs: reconnectInitialMs, maxMs: reconnectMaxMs },
  solver: FEED_RECONNECT,
};

/** A node that loses every connection after a second for a minute, is away for one, and is back. */
const FLAPS_UNTIL_MS = 60_000;
const BACK_AT_MS = 120_000;

/** @returns When the follower was connected for good, and how often it tried before. */
function follow(waits: { initialMs: number; maxMs: number }, random: () => number) {
  const clock = new FakeClock(0);
  let attempts = 0;
  let connectedAtMs: number | undefined;
  const connect = () => {
    attempts += 1;
    const socket = new FakeSocket("");
    const isUp = clock.now() < FLAPS_UNTIL_MS || clock.now() >= BACK_AT_MS;
    clock.after(1, () => {
      if (!isUp) return socket.fail("");
      socket.open();
      if (clock.now() >= BACK_AT_MS) connectedAtMs ??= clock.now();
      else clock.after(1_000, () => socket.end());
    });
    return socket;
  };
  const socket = new ReconnectingSocket({
    url: "ws://node",
    clock,
    backoff: new Backoff({ ...waits, random }),
    handlers: { onOpen() {}, onText() {} },
    connect,
  });
  socket.start();
  clock.advance(BACK_AT_MS + 30_000);
  socket.stop();
  return { backAfterMs: (connectedAtMs ?? Infinity) - BACK_AT_MS, attempts };
}

for (const [name, waits] of Object.entries(FOLLOWERS)) {
  Deno.test(`Recovery: the ${name} reconnects within 2 s after a flapping node is back, in few attempts`, () =>
    withSeed((random) => {
      for (let run = 0; run < 100; run += 1) {
        const { backAfterMs, attempts } = follow(waits, random);
        assert.ok(backAfterMs <= 2_010, `Back after ${backAfterMs} ms`);
        assert.ok(attempts <= 135, `${attempts} attempts in two minutes`);
      }
    }));
}
