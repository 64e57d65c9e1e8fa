import assert from "node:assert/strict";
import type { Thesis, ThesisStatus } from "../../../lib/client/mod.ts";
import { ThesisWatch, type WatchHandlers } from "../../../lib/client/theses.ts";
import { NodeUnreachableError, type ThesisFilter } from "../../../lib/net/core_reader.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeNetwork } from "../../support/fake_socket.ts";
import { thesisOf } from "../../solver/support.ts";
import { nextTurn } from "../../support/eventually.ts";

const user = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

const thesis = (id: number, status: ThesisStatus) => thesisOf(id, { status });

class FakeTheses {
  theses: Thesis[] = [];
  pageSize = 100;
  isAway = false;
  /** What was read, as the filter of all or as the id of a single one. */
  readonly reads: unknown[] = [];
  readonly cursors: (string | undefined)[] = [];
  gate: Promise<void> = Promise.resolve();

  async getTheses({ cursor, ...filter }: ThesisFilter) {
    this.reads.push(filter);
    this.cursors.push(cursor);
    const { status } = filter;
    const fitting = this.theses.filter((thesis) =>
      status === undefined || thesis.status === status
    );
    const rest = fitting.filter(({ id }) => id > Number(cursor ?? 0));
    await this.gate;
    if (this.isAway) throw new NodeUnreachableError("http://node", "away");
    const theses = rest.slice(0, this.pageSize);
    const isLast = theses.length === rest.length;
    const lastId = this.theses.at(-1)?.id ?? 0;
    return { theses, nextCursor: isLast ? null : String(theses.at(-1)?.id), lastId };
  }

  getThesis(id: number) {
    this.reads.push(id);
    return Promise.resolve(this.theses.find((thesis) => thesis.id === id) ?? null);
  }
}

function setUp(handlers: WatchHandlers = {}) {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const node = new FakeTheses();
  const events: string[] = [];
  const urls = { proxyWs: "ws://proxy/ws" };
  const watch = new ThesisWatch({ urls, node, clock, random: () => 1, connect: network.connect }, {
    onThesis: ({ id, status }) => events.push(`${id} ${status}`),
    onState: (state, reason) => events.push(reason === undefined ? state : `${state}: ${reason}`),
    ...handlers,
  }, { user });
  const accept = async () => {
    network.newest.grant();
    await nextTurn();
  };
  const open = async () => {
    const opened = watch.open(5_000);
    await accept();
    await opened;
  };
  /** The connection is lost, the node has other theses meanwhile, and the watch reconnects. */
  const reconnect = async (theses: Thesis[], afterMs: number) => {
    network.newest.end(1012, "restart");
    node.theses = theses;
    clock.advance(afterMs);
    await accept();
  };
  const publish = (thesis: Thesis) => network.newest.notify(thesis);
  const beat = () => network.newest.deliver('{"jsonrpc":"2.0","id":0,"result":"0x539"}');
  return { clock, network, node, events, watch, accept, open, reconnect, publish, beat };
}

/** Declares a test with a watch of its own. */
const test = (name: string, run: (scene: ReturnType<typeof setUp>) => Promise<void>) =>
  Deno.test(`ThesisWatch: ${name}`, () => run(setUp()));

const is = (id: number, ...statuses: ThesisStatus[]) => (thesis: Thesis) =>
  thesis.id === id && statuses.includes(thesis.status);

test("opens once it has subscribed and read every page, then reports changes", async ({ network, node, events, watch, open, publish }) => {
  node.theses = [thesis(1, "lost"), thesis(2, "open"), thesis(3, "open")];
  node.pageSize = 2;
  await open();
  assert.deepEqual(JSON.parse(network.newest.sent[0] ?? "").params, ["theses", { user }]);
  publish(thesis(2, "needs_backfill"));
  publish(thesis(2, "won"));
  publish(thesis(5, "open"));
  publish(thesis(4, "open"));
  assert.deepEqual(events, [
    "1 lost",
    "2 open",
    "3 open",
    "live",
    "2 needs_backfill",
    "2 won",
    "5 open",
    "4 open",
  ]);
  assert.deepEqual(watch.theses.map(({ id, status }) => [id, status]), [
    [1, "lost"],
    [2, "won"],
    [3, "open"],
    [4, "open"],
    [5, "open"],
  ]);
  assert.equal((await watch.until(is(2, "won"), 0)).id, 2, "it is known already");
  await watch.open(0);
});

test("after a reconnect it reads the changes it missed", async ({ clock, network, node, events, watch, accept, open }) => {
  node.theses = [thesis(1, "open")];
  await open();
  const outcome = watch.until(is(1, "won", "lost"), 60_000);
  const missing = assert.rejects(watch.until(is(9, "won"), 60_000), { code: "WATCH_CLOSED" });
  network.newest.end(1012, "restart");
  assert.equal(watch.state, "connecting");
  node.theses = [thesis(1, "lost"), thesis(2, "won")];
  clock.advance(100);
  await accept();
  assert.equal((await outcome).status, "lost");
  assert.deepEqual(events, [
    "1 open",
    "live",
    "connecting: closed with 1012 restart",
    "1 lost",
    "2 won",
    "live",
  ]);
  watch.close();
  await missing;
  assert.equal(clock.pending, 0);
});

test("remembers all unsettled theses and the newest settled ones, and reports each once", async ({ node, events, watch, open, reconnect }) => {
  const count = 25_000;
  node.pageSize = count;
  node.theses = Array.from({ length: count }, (_, index) => thesis(index + 1, "lost"));
  node.theses[0] = thesis(1, "open");
  await open();
  const ids = watch.theses.map(({ id }) => id);
  assert.ok(ids.length > 10_000 && ids.length <= 20_001, `${ids.length} are remembered`);
  assert.deepEqual([ids[0], ids.at(-10_000), ids.at(-1)], [1, count - 9_999, count]);
  await reconnect(node.theses.with(0, thesis(1, "won")), 100);
  assert.deepEqual([events.length, events.at(-2), watch.state], [count + 4, "1 won", "live"]);
});

test("reports each state once, and a slow read never undoes a notification", async ({ node, events, watch, accept, publish }) => {
  const gate = Promise.withResolvers<void>();
  node.gate = gate.promise;
  node.theses = [thesis(1, "open")];
  const opened = watch.open(5_000);
  await accept();
  publish(thesis(1, "won"));
  gate.resolve();
  await opened;
  publish(thesis(1, "won"));
  assert.deepEqual(events, ["1 won", "live"]);
});

test("a settled thesis that a revert opened again is open, until its next outcome", async ({ events, watch, open, publish }) => {
  await open();
  publish(thesis(1, "won"));
  publish(thesis(1, "open"));
  const outcome = watch.until(is(1, "won", "lost"), 60_000);
  publish(thesis(1, "lost"));
  assert.equal((await outcome).status, "lost");
  assert.deepEqual(events, ["live", "1 won", "1 open", "1 lost"]);
});

test("a thesis of a chain that was restored while disconnected is open again", async ({ clock, network, node, events, accept, open, reconnect }) => {
  node.theses = [thesis(1, "won"), thesis(2, "won")];
  await open();
  const restored = [thesis(1, "open"), thesis(2, "lost")];
  await reconnect(restored, 10_000);
  assert.deepEqual(
    events.slice(2),
    ["live", "connecting: closed with 1012 restart", "live"],
    "the answer may be a late one",
  );
  await reconnect(restored, 5_000);
  assert.deepEqual(events.slice(5), [
    "connecting: closed with 1012 restart",
    "1 open",
    "2 lost",
    "live",
  ]);
  network.newest.end(1012, "restart");
  node.theses = [thesis(1, "open"), thesis(2, "open")];
  clock.setBy(-3_600_000); // with the chain's time
  clock.advance(5_000);
  await accept();
  assert.deepEqual(events.slice(10), ["2 open", "live"]);
});

test("drops theses that a restored chain lacks, ten seconds after they were reported", async ({ clock, node, watch, open, reconnect }) => {
  node.theses = [thesis(1, "open"), thesis(2, "open"), thesis(3, "won")];
  await open();
  await reconnect([thesis(1, "open")], 5_000);
  assert.deepEqual(watch.theses.map(({ id }) => id), [1, 2, 3]);
  clock.advance(10_000);
  await watch.refresh();
  assert.deepEqual(watch.theses.map(({ id }) => id), [1]);
});

test("after a page that failed it reads all again, also what changed meanwhile", async ({ clock, node, events, watch, accept }) => {
  node.theses = [thesis(1, "open"), thesis(2, "lost")];
  node.pageSize = 1;
  const getTheses = node.getTheses.bind(node);
  let isLost = true;
  node.getTheses = (filter) => {
    if (!isLost || filter.cursor === undefined) return getTheses(filter);
    isLost = false;
    node.theses = [thesis(1, "won"), thesis(2, "lost")];
    return Promise.reject(new NodeUnreachableError("http://node", "away"));
  };
  const opened = watch.open(5_000);
  await accept();
  clock.advance(1_000);
  await opened;
  assert.deepEqual(events, ["1 open", "1 won", "2 lost", "live"]);
});

Deno.test("ThesisWatch: reports nothing more once it is closed, also by its own handler", async () => {
  const reported: number[] = [];
  const { node, watch, accept } = setUp({
    onThesis({ id }) {
      reported.push(id);
      watch.close();
    },
  });
  node.theses = [thesis(1, "open"), thesis(2, "open"), thesis(3, "open")];
  const opened = assert.rejects(watch.open(5_000), { code: "WATCH_CLOSED" });
  await accept();
  await opened;
  assert.deepEqual(reported, [1]);
});

test("the same id with another quote hash is a thesis of a new chain", async ({ events, open, publish }) => {
  await open();
  publish(thesis(1, "won"));
  publish({ ...thesis(1, "won"), quoteHash: `0x${"99".repeat(32)}` });
  assert.deepEqual(events.slice(1), ["1 won", "1 won"]);
});

test("every 30 s it reads open theses, new ones, and the outcome of missing ones, in case of lost notifications", async ({ clock, node, events, open, beat }) => {
  node.theses = [thesis(1, "won"), thesis(2, "open"), thesis(3, "open")];
  await open();
  node.theses = [2, 5].map((id) => thesis(id, "lost")).concat(
    [1, 6].map((id) => thesis(id, "won")),
    [3, 4].map((id) => thesis(id, "open")),
  ).toSorted((a, b) => a.id - b.id);
  clock.advance(20_000);
  beat();
  clock.advance(10_000);
  await nextTurn();
  const all = { user, limit: 100 };
  assert.deepEqual(node.reads, [all, { ...all, status: "open" }, all, 2]);
  assert.deepEqual(events.slice(4), ["4 open", "5 lost", "6 won", "2 lost"]);
});

Deno.test("ThesisWatch: every 30 s it reads what can have changed: from its oldest open thesis on", async () => {
  const cases = [["open", [undefined, "2", "4"]], ["won", [undefined, "4"]]] as const;
  for (const [status, cursors] of cases) {
    const { clock, node, events, open, publish, beat } = setUp();
    node.theses = [thesis(1, "won"), thesis(2, "needs_backfill"), thesis(3, status)];
    node.theses.push(thesis(4, "lost"));
    await open();
    node.theses.push(thesis(5, "lost"), thesis(6, "won"));
    publish(thesis(6, "won")); // those of 5 were lost
    clock.advance(20_000);
    beat();
    clock.advance(10_000);
    await nextTurn();
    assert.deepEqual(node.cursors, cursors);
    assert.equal(node.reads.at(-1), 2);
    assert.deepEqual(events.slice(-2), ["6 won", "5 lost"]);
  }
});

test("a refresh reports what changed without a notification, or fails", async ({ node, events, watch, open }) => {
  node.theses = [thesis(1, "open"), thesis(2, "lost")];
  await open();
  node.theses = [thesis(1, "won"), thesis(2, "lost"), thesis(3, "open")];
  await watch.refresh();
  assert.deepEqual(events.slice(3), ["3 open", "1 won"]);
  node.isAway = true;
  await assert.rejects(watch.refresh(), { code: "NODE_UNREACHABLE" });
  assert.equal(watch.state, "live");
  node.isAway = false;
  const gate = Promise.withResolvers<void>();
  node.gate = gate.promise;
  const closed = assert.rejects(watch.refresh(), { code: "WATCH_CLOSED" });
  node.theses.push(thesis(4, "open"));
  watch.close();
  gate.resolve();
  await closed;
  await assert.rejects(watch.refresh(), { code: "WATCH_CLOSED" });
  assert.equal(events.length, 5);
});

Deno.test("ThesisWatch: the error of a watch that did not open says that the node is away", async () => {
  const { clock, node, watch, accept } = setUp({ onThesis: undefined, onState: undefined });
  node.isAway = true;
  const opened = assert.rejects(watch.open(300), { message: /within 300 ms: .*node.*away$/ });
  await accept();
  clock.advance(300);
  await opened;
  node.isAway = false;
  node.theses = [thesis(1, "open")];
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
    clock.advance(1_000);
  }
  await nextTurn();
  assert.equal(watch.state, "live", "it went on, though nobody listens");
});

Deno.test("ThesisWatch: opens however many pages there are, unless none arrives in time", async () => {
  for (const pages of [4, 2]) {
    const { clock, node, watch, accept } = setUp();
    node.theses = [1, 2, 3, 4].map((id) => thesis(id, "open"));
    node.pageSize = 1;
    let gate = Promise.withResolvers<void>();
    node.gate = gate.promise;
    const opened = watch.open(5_000).then(() => "live", ({ code }) => code);
    await accept();
    for (let page = 0; page < pages; page++) {
      clock.advance(4_000);
      const { resolve } = gate;
      gate = Promise.withResolvers();
      node.gate = gate.promise;
      resolve();
      await nextTurn();
    }
    for (let waited = 0; waited < 2; waited++) {
      clock.advance(5_000);
      await nextTurn();
    }
    assert.equal(await opened, pages === 4 ? "live" : "NOT_CONNECTED");
  }
});

test("until rejects at its deadline, when the watch is closed, and at once after that", async ({ clock, watch }) => {
  const late = assert.rejects(watch.until(is(1, "won"), 1_000), { code: "WATCH_TIMEOUT" });
  clock.advance(1_000);
  await late;
  const closed = assert.rejects(watch.until(is(1, "won"), 1_000), { code: "WATCH_CLOSED" });
  watch.close();
  await closed;
  assert.equal(watch.state, "closed");
  await assert.rejects(watch.until(() => true, 1_000), { code: "WATCH_CLOSED", retry: "never" });
  assert.equal(clock.pending, 0);
});
