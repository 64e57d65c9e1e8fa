import { toWire } from "../../../lib/protocol/wire.ts";
import assert from "node:assert/strict";
import { systemClock } from "../../../lib/clock.ts";
import type { Thesis, ThesisStatus } from "../../../lib/protocol/thesis.ts";
import { ThesisFeed, ThesisFeedError } from "../../../lib/net/thesis_feed.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const user = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

function thesis(id: number, status: ThesisStatus): Thesis {
  const settled = status === "won" || status === "lost";
  return {
    id,
    user,
    solver: DEV_ACCOUNTS.solver.address,
    thesisType: "box",
    base: "0x0000000000000000000000000000000000000002",
    quote: "0x0000000000000000000000000000000000000100",
    lowerPrice: 1n,
    upperPrice: 2n,
    betAmount: 100n,
    payout: 107n,
    startTime: 0,
    endTime: 1,
    createdAt: 0,
    quoteHash: `0x${"11".repeat(32)}`,
    txHash: `0x${"22".repeat(32)}`,
    status,
    ...(settled && { settledAt: 1 }),
  };
}

/** A node's WebSocket that grants every subscription, and what it would answer to a read. */
function fakeNode() {
  const sockets: WebSocket[] = [];
  const state = { theses: [] as Thesis[], subscriptions: [] as unknown[] };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => {
      const { id, params } = JSON.parse(data);
      state.subscriptions.push(params);
      sockets.push(socket);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: "0xab" }));
    };
    return response;
  });
  return {
    state,
    url: `ws://127.0.0.1:${server.addr.port}`,
    node: { getTheses: () => Promise.resolve({ theses: state.theses, nextCursor: null }) },
    tell(thesis: Thesis) {
      const params = { subscription: "0xab", result: toWire(thesis) };
      sockets.at(-1)?.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
    },
    dropClient: () => sockets.at(-1)?.close(1012),
    async stop() {
      await server.shutdown();
    },
  };
}

const is = (id: number, ...statuses: ThesisStatus[]) => (thesis: Thesis) =>
  thesis.id === id && statuses.includes(thesis.status);

Deno.test("ThesisFeed: tells the theses of its user as they change", async () => {
  const { node, url, tell, stop, state } = fakeNode();
  const feed = new ThesisFeed({ url, node, user, clock: systemClock, random: () => 0 });
  await feed.open(5_000);
  assert.deepEqual(state.subscriptions, [["theses", { user }]]);
  const created = feed.until(is(1, "open"), 5_000);
  const settled = feed.until(is(1, "won", "lost"), 5_000);
  tell(thesis(1, "open"));
  tell(thesis(1, "won"));
  assert.equal((await created).status, "open");
  assert.equal((await settled).status, "won");
  feed.close();
  await stop();
});

Deno.test("ThesisFeed: what happened while the connection was away is read on return", async () => {
  const { node, url, dropClient, stop, state } = fakeNode();
  const feed = new ThesisFeed({ url, node, user, clock: systemClock, random: () => 0 });
  state.theses = [thesis(1, "open")];
  await feed.open(5_000);
  assert.equal((await feed.until(is(1, "open"), 0)).id, 1);
  const settled = feed.until(is(1, "lost"), 5_000);
  state.theses = [thesis(1, "lost")];
  dropClient();
  assert.equal((await settled).status, "lost");
  assert.equal(state.subscriptions.length, 2);
  feed.close();
  await stop();
});

Deno.test("ThesisFeed: a read that is older than a notification does not undo it", async () => {
  const { node, url, tell, dropClient, stop, state } = fakeNode();
  const feed = new ThesisFeed({ url, node, user, clock: systemClock, random: () => 0 });
  await feed.open(5_000);
  tell(thesis(1, "won"));
  await feed.until(is(1, "won"), 5_000);
  state.theses = [thesis(1, "open"), thesis(2, "open")];
  dropClient();
  await feed.until(is(2, "open"), 5_000);
  assert.equal((await feed.until(({ id }) => id === 1, 0)).status, "won");
  feed.close();
  await stop();
});

Deno.test("ThesisFeed: waits end at their deadline and at its close", async () => {
  const clock = new FakeClock();
  const url = "ws://127.0.0.1:1";
  const node = { getTheses: () => Promise.resolve({ theses: [], nextCursor: null }) };
  const feed = new ThesisFeed({ url, node, user, clock, random: () => 0 });
  const late = assert.rejects(feed.until(is(1, "won"), 1_000), /within 1000 ms/);
  clock.advance(1_000);
  await late;
  const closed = assert.rejects(feed.until(is(1, "won"), 1_000), ThesisFeedError);
  feed.close();
  await closed;
  assert.equal(clock.pending, 0);
});
