import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import { toWire } from "../../lib/json.ts";
import { decodeBet } from "../../services/solver/execution/execution.ts";
import { createNodeFollower } from "../../services/solver/node_follower.ts";
import { MarketData } from "../../services/solver/market/market_data.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { subscriptionNotice } from "../support/fake_feed.ts";
import { FakeNetwork } from "../support/fake_socket.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { market, publishPrice, solver, SPOT, thesisOf } from "./support.ts";

Deno.test("createNodeFollower: exposure, theses and prices follow the node until the connection is lost", async () => {
  await using stack = new AsyncDisposableStack();
  const node = stack.use(FakeNode.start());
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  node.methods.set("core_getLimits", () => ({ minBetAmount: "7", maxStartAheadMs: 9 }));
  const exposure = new ExposureBook(undefined, decodeBet);
  const limits: unknown[] = [];
  const marketData = new MarketData(
    { volatilityFloor: 0.1, volatilityHistoryMs: 1_000 },
    SPEC_MARKETS,
  );
  const theses: number[] = [];
  let reconciled = 0;
  const reports: number[] = [];
  const { start, stop } = createNodeFollower({
    wsUrl: node.wsUrl,
    chainId: 1337,
    solver: solver.address,
    node: new CoreClient({ url: node.url }),
    clock: systemClock,
    exposure,
    quoter: { setChainLimits: (given) => void limits.push(given) },
    releaser: {
      onThesisChanged: ({ id }) => Promise.resolve(void theses.push(id)),
      reconcileOrLog() {
        assert.ok(exposure.isComplete);
        reconciled += 1;
        return Promise.resolve();
      },
    },
    exposureLimit: { report: () => void reports.push(reconciled) },
    marketData,
  });
  stack.defer(stop);
  assert.equal(node.feed.count("prices"), 0, "it waits for its start");
  start();
  await eventually("all open theses", () => exposure.isComplete);
  assert.deepEqual(limits, [{ minBetAmount: 7n, maxStartAheadMs: 9 }]);
  node.feed.publish("theses", toWire(thesisOf(7)));
  publishPrice(node);
  await eventually("a price", () => marketData.stateOf(market).spot);
  assert.deepEqual([marketData.stateOf(market).spot?.price, theses], [BigInt(SPOT), [7]]);
  node.paused = true;
  await node.feed.disconnect();
  await eventually("the loss", () => exposure.isComplete ? undefined : true);
  node.methods.delete("core_getLimits"); // as an older node
  node.paused = false;
  await eventually("all open theses again", () => exposure.isComplete);
  assert.deepEqual(reports, [1, 2], "after each reading, by the reservations");
  assert.deepEqual(limits.slice(1), [{ minBetAmount: 0n, maxStartAheadMs: Infinity }]);
  await stop();
  await eventually("the end", () => node.feed.count("prices") === 0);
});

/** A follower of a node whose WebSocket the test controls. */
function followFake(overrides: Partial<Parameters<typeof createNodeFollower>[0]["node"]> = {}) {
  const [network, clock, exposure] = [
    new FakeNetwork(),
    new FakeClock(),
    new ExposureBook(undefined, decodeBet),
  ];
  const { start, stop } = createNodeFollower({
    wsUrl: "ws://node",
    chainId: 1337,
    solver: solver.address,
    node: {
      url: "http://node",
      getChainId: () => Promise.resolve(1337),
      getLimits: () => Promise.resolve({ minBetAmount: 1n, maxStartAheadMs: 0 }),
      getTheses: () => Promise.resolve({ theses: [], nextCursor: null }),
      ...overrides,
    },
    clock,
    exposure,
    exposureLimit: { report() {} },
    quoter: { setChainLimits() {} },
    releaser: undefined,
    marketData: undefined,
    connect: network.connect,
  });
  start();
  /** The node accepts both subscriptions, and missed changes are read. */
  const accept = async () => {
    network.newest.open();
    network.newest.deliver('{"jsonrpc":"2.0","id":1,"result":"0xa"}');
    network.newest.deliver('{"jsonrpc":"2.0","id":2,"result":"0xb"}');
    await setImmediate();
  };
  return { network, clock, exposure, accept, stop };
}

Deno.test("createNodeFollower: start and end of each outage are logged once, and waits are at most 2 s", () =>
  withLogs("info", async (records) => {
    const { network, clock, accept, stop } = followFake();
    await accept();
    const [theses, prices] = network.newest.sent.map((text) => JSON.parse(text).params);
    assert.deepEqual([theses, prices], [["theses", { solver: solver.address }], ["prices"]]);
    for (let outage = 0; outage < 2; outage++) {
      clock.advance(5_000);
      for (let attempt = 0; attempt < 5; attempt++) {
        network.newest.end();
        const { length } = network.sockets;
        clock.advance(2_000);
        assert.equal(network.sockets.length, length + 1);
      }
      await accept();
    }
    const logged = records.map(({ category, level, properties: { event, url } }) =>
      [category[1], level, event, url].join(" ")
    );
    const outage = ["solver warning node_lost ws://node", "solver info node_back ws://node"];
    assert.deepEqual(logged, [...outage, ...outage]);
    await stop();
    assert.equal(clock.pending, 0);
  }));

Deno.test("createNodeFollower: silence for 10 s, or a thesis of another shape, ends the connection", async () => {
  const { network, clock, exposure, accept } = followFake();
  await accept();
  clock.advance(9_999);
  assert.equal(exposure.isComplete, true);
  clock.advance(1);
  assert.equal(exposure.isComplete, false);
  clock.advance(2_000);
  await accept();
  assert.equal(exposure.isComplete, true);
  network.newest.deliver(subscriptionNotice("0xa", { id: 1 }));
  assert.equal(exposure.isComplete, false);
});

Deno.test("createNodeFollower: reads open theses and those without prices, page by page", async () => {
  const theses = [
    ...[1, 2, 3, 4, 5].map((id) => thesisOf(id)),
    thesisOf(6, { status: "needs_backfill" }),
    thesisOf(7, { status: "won" }),
  ];
  const asked: unknown[] = [];
  const { exposure, accept } = followFake({
    getTheses({ solver, limit, status, cursor = "0" }) {
      asked.push([solver, limit, status]);
      const rest = theses.filter((one) => one.status === status && one.id > Number(cursor));
      const page = rest.slice(0, 2);
      const nextCursor = rest.length > 2 ? String(page.at(-1)?.id) : null;
      return Promise.resolve({ theses: page, nextCursor });
    },
  });
  await accept();
  assert.deepEqual(exposure.openTheses.map(({ id }) => id), [1, 2, 3, 4, 5, 6]);
  assert.equal(exposure.isComplete, true);
  const [open, waiting] = ["open", "needs_backfill"].map((one) => [solver.address, 1_000, one]);
  assert.deepEqual(asked, [open, open, open, waiting]);
});

Deno.test("createNodeFollower: the newest settled theses are read after each loss, and forgotten with it", async () => {
  const settled = [1, 2, 1_003].map((id) => thesisOf(id, { status: id === 2 ? "lost" : "won" }));
  let reads = 0;
  const { network, clock, exposure, accept } = followFake({
    getTheses({ status, cursor = "0" }) {
      reads += 1;
      const theses = settled.filter(({ id }) => status === undefined && id > Number(cursor));
      return Promise.resolve({ theses, nextCursor: null, lastId: 1_001 });
    },
  });
  await accept();
  const known = () => settled.map(({ quoteHash }) => exposure.thesisOf(quoteHash)?.status);
  assert.deepEqual(known(), [undefined, "lost", "won"]);
  assert.deepEqual([exposure.total, reads], [0n, 3]);
  network.newest.deliver(subscriptionNotice("0xa", toWire(thesisOf(1, { status: "lost" }))));
  assert.deepEqual(known(), ["lost", "lost", "won"]);
  network.newest.end();
  assert.deepEqual(known(), [undefined, undefined, undefined]);
  clock.advance(2_000);
  await accept();
  assert.deepEqual(known(), [undefined, "lost", "won"]);
});

const problems: Record<string, [() => Promise<number>, RegExp]> = {
  "is away": [() => Promise.reject(new NodeUnreachableError("http://node", "away")), /away/],
  "has another chain": [() => Promise.resolve(5), /chain id 5: expected 1337/],
};

Deno.test("createNodeFollower: answers of a lost connection are ignored", async () => {
  const gate = Promise.withResolvers<void>();
  const { network, exposure, accept } = followFake({
    async getTheses() {
      await gate.promise;
      return { theses: [thesisOf(1)], nextCursor: null };
    },
  });
  await accept();
  network.newest.end();
  gate.resolve();
  await setImmediate();
  assert.deepEqual([exposure.isComplete, exposure.openTheses], [false, []]);
});

for (const [problem, [answer, reason]] of Object.entries(problems)) {
  Deno.test(`createNodeFollower: while the node ${problem}, no theses are known, and one line is logged`, () =>
    withLogs("warning", async (records) => {
      let chainId = answer;
      const { clock, exposure, accept, stop } = followFake({ getChainId: () => chainId() });
      await accept();
      for (const waitMs of [250, 500]) {
        clock.advance(waitMs);
        await setImmediate();
      }
      assert.equal(exposure.isComplete, false);
      assert.equal(records.length, 1);
      assert.equal(records[0]?.properties.event, "exposure_unknown");
      assert.match(String(records[0]?.properties.reason), reason);
      chainId = () => Promise.resolve(1337);
      clock.advance(1_000);
      await setImmediate();
      assert.equal(exposure.isComplete, true);
      await stop();
      assert.equal(clock.pending, 0);
    }));
}
