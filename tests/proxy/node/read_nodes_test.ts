import assert from "node:assert/strict";
import { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { ROUNDS_TO_CHANGE } from "../../../services/proxy/node/read_node.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { endpointsOf } from "../support.ts";

const ROUND_MS = 1_000;
const MAX_LAG = 3;

/** The head of a silent node is deleted after this. */
const HEAD_KEPT_ROUNDS = 30;

/** Nodes of a chain with a block a second. */
function scene(count: number) {
  const clock = new FakeClock();
  clock.setBy(3_600_000); // a clock for durations does not show the Unix time
  const moves: [leader: number, reason: string][] = [];
  const changes: [node: number, isOut: boolean][] = [];
  const nodes = new ReadNodes({
    endpoints: endpointsOf(...Array.from({ length: count }, (_, index) => `node${index}`)),
    maxLag: MAX_LAG,
    clock: clock.monotonic,
    unixClock: clock,
    random: () => 0,
    onLeaderChange: (leader, reason) => moves.push([leader.index, reason]),
    onMembershipChange: (node, reason) => changes.push([node.index, reason !== undefined]),
  });
  const at = (index: number) => nodes.all[index] ?? assert.fail(`There is no node ${index}`);
  let number = 1_000;
  /** Plays rounds with each node a number of blocks behind, undefined if it does not answer. */
  const play = (rounds: number, behind: (number | undefined)[]) => {
    for (let round = 0; round < rounds; round += 1) {
      clock.advance(ROUND_MS);
      number += 1;
      for (const [index, lag] of behind.entries()) {
        const node = at(index);
        if (!node.isProbeDue(clock.monotonic.now())) continue;
        if (lag === undefined) nodes.onProbeFailed(node, "no answer");
        else {
          const timestampS = clock.now() / 1000 - lag;
          nodes.onProbeAnswered(node, { number: number - lag, timestampS }, 1);
        }
      }
      nodes.endRound();
    }
  };
  const isOut = () => nodes.all.map(({ isUp }) => !isUp);
  return { at, clock, nodes, moves, changes, play, isOut, head: () => number };
}

Deno.test("ReadNodes: a leader that refuses connections is replaced at once, and returns after three rounds without lag", () => {
  const { at, nodes, moves, changes, play } = scene(3);
  play(5, [0, 0, 0]);
  nodes.onDied(at(0), "ECONNREFUSED");
  assert.deepEqual(moves, [[1, "ECONNREFUSED"]], "the first of the others leads");
  assert.deepEqual(changes, [[0, true]]);
  play(ROUNDS_TO_CHANGE - 1, [0, 0, 0]);
  assert.deepEqual(changes, [[0, true]]);
  play(1, [0, 0, 0]);
  assert.deepEqual(changes, [[0, true], [0, false]]);
  assert.equal(nodes.leader, at(1), "nobody moves back");
});

Deno.test("ReadNodes: a node is removed when its third probe in a row is not answered", () => {
  const { changes, play } = scene(2);
  for (const unanswered of [2, 2, 3]) {
    play(1, [0, 0]);
    assert.deepEqual(changes, []);
    play(unanswered, [undefined, 0]);
  }
  assert.deepEqual(changes, [[0, true]]);
});

Deno.test("ReadNodes: the last node stays leader until another one answers", () => {
  const { at, clock, nodes, moves, play, isOut, head } = scene(2);
  play(5, [0, 0]);
  nodes.onDied(at(1), "gone");
  nodes.onDied(at(0), "gone");
  assert.equal(nodes.leader, at(0));
  assert.deepEqual(isOut(), [true, true], "people see both");
  assert.equal(nodes.isAnyAlive, false);
  play(1, [undefined, undefined]);
  assert.equal(nodes.leader, at(0));
  for (let round = 0; nodes.leader === at(0); round += 1) {
    assert(round < 15);
    play(1, [undefined, 40]);
  }
  assert.deepEqual(moves, [[1, "it does not answer"]]);
  assert.equal(nodes.isAnyAlive, true);
  nodes.onProbeAnswered(at(0), { number: head(), timestampS: clock.now() / 1000 }, 1);
  assert.deepEqual(isOut(), [true, false], "one answer is not enough for the former leader");
});

Deno.test("ReadNodes: a node whose WebSocket is lost counts as dead only while another node serves; a single one always", () => {
  const { at, nodes, moves, play, isOut } = scene(2);
  play(5, [0, 0]);
  nodes.onSocketLost(at(0), "426");
  nodes.onSocketLost(at(1), "426");
  assert.deepEqual([moves, isOut()], [[[1, "426"]], [true, false]]);
  const block = 1_005;
  assert.equal(nodes.findNodeForBlocks([block]), at(1), "it still answers over HTTP");
  play(ROUNDS_TO_CHANGE, [0, 0]);
  nodes.onSocketLost(at(1), "426");
  assert.deepEqual(moves.slice(1), [[0, "426"]], "the other one may have its WebSocket back");
  const single = scene(1);
  single.nodes.onSocketLost(single.at(0), "426");
  assert(single.at(0).isDead);
});

Deno.test("ReadNodes: while all nodes refuse WebSockets, they lead in turn, ever more seldom; one that accepts one starts over", () => {
  const { at, nodes, moves, play } = scene(3);
  play(5, [0, 0, 0]);
  const leadersIn = (rounds: number) => {
    const known = moves.length;
    for (let round = 0; round < rounds; round += 1) {
      nodes.onSocketLost(nodes.leader, "426");
      play(1, [0, 0, 0]);
    }
    return moves.slice(known).map(([leader]) => leader);
  };
  assert.deepEqual(new Set(leadersIn(20)), new Set([0, 1, 2]));
  leadersIn(200);
  const later = leadersIn(120);
  assert.deepEqual([later.length <= 24, new Set(later).size], [true, 3], `${later}`);
  for (const node of [0, 1, 2]) nodes.onSocketOpened(at(node));
  assert(leadersIn(10).length >= 3);
});

Deno.test("ReadNodes: of the nodes that serve, one that refused its WebSocket again and again leads last", () => {
  const { at, nodes, moves, play } = scene(3);
  for (const lost of [[0], [1, 0], [2, 0], [1]]) {
    play(ROUNDS_TO_CHANGE, [0, 0, 0]);
    for (const node of lost) nodes.onSocketLost(at(node), "426");
  }
  assert.deepEqual(moves.map(([leader]) => leader), [1, 0, 2, 0, 1, 2]);
});

Deno.test("ReadNodes: a node that waits before its WebSocket is tried leads rather than one that is removed", () => {
  const { at, nodes, moves, changes, play } = scene(3);
  const behind = [0, 1, 0];
  play(5, behind);
  for (let loss = 0; loss < 5; loss += 1) {
    nodes.onSocketLost(at(1), "426");
    play(ROUNDS_TO_CHANGE, behind);
  }
  for (let round = 0; round < ROUNDS_TO_CHANGE; round += 1) {
    for (let n = 0; n < 10; n += 1) nodes.countRead(at(2), { isFailed: true });
    play(1, behind);
  }
  assert.deepEqual(changes.at(-1), [2, true], "although it is ahead of the other");
  nodes.onDied(at(0), "gone");
  assert.deepEqual(moves, [[1, "gone"]]);
});

Deno.test("ReadNodes: a node that fails half of its reads for three rounds is removed; if all do, the leader stays", () => {
  const { at, nodes, moves, play, isOut } = scene(3);
  play(5, [0, 0, 0]);
  const fail = (rounds: number, ...failing: number[]) => {
    for (let round = 0; round < rounds; round += 1) {
      for (const node of failing) {
        for (let n = 0; n < 10; n += 1) nodes.countRead(at(node), { isFailed: n % 2 === 0 });
      }
      play(1, [0, 0, 0]);
    }
    return isOut();
  };
  assert.deepEqual(fail(ROUNDS_TO_CHANGE - 1, 1), [false, false, false]);
  assert.deepEqual(fail(1, 1), [false, true, false]);
  assert.deepEqual(fail(ROUNDS_TO_CHANGE), [false, false, false]);
  assert.deepEqual(fail(ROUNDS_TO_CHANGE, 0, 1, 2), [false, true, true]);
  assert.deepEqual(moves, []);
});

Deno.test("ReadNodes: if no node is left that keeps up, the one furthest ahead of all that answer leads", () => {
  const { at, nodes, moves, play, isOut } = scene(3);
  play(10, [0, 30, 20]);
  assert.deepEqual(isOut(), [false, true, true]);
  nodes.onDied(at(0), "gone");
  assert.deepEqual(moves, [[2, "gone"]]);
  assert.deepEqual(isOut(), [true, true, false]);
});

Deno.test("ReadNodes: a read of a block is sent to a node that has it, and fails if that node is dead", () => {
  const { at, nodes, play, head } = scene(3);
  play(5, [2, 0, 1]);
  assert.equal(nodes.leader, at(0));
  assert.equal(nodes.findNodeForBlocks([head() - 2]), at(0));
  assert.equal(nodes.findNodeForBlocks([head() - 1]), at(1), "of two that have it, the first");
  assert.equal(nodes.findNodeForBlocks([head()]), at(1));
  assert.equal(
    nodes.findNodeForBlocks([head() + 1]),
    at(0),
    "nobody is known to have it: the leader may",
  );
  assert.equal(
    nodes.findNodeForBlocks([head() - 2, head() + 1, head()]),
    at(1),
    "of those that exist",
  );
  nodes.onDied(at(1), "gone");
  assert.equal(nodes.findNodeForBlocks([head()]), undefined);
  assert.equal(nodes.findNodeForBlocks([head() - 1]), at(2));
  const block = head();
  play(3, [3, undefined, 3]);
  assert.equal(nodes.findNodeForBlocks([block]), at(0), "the others have come as far");
  const lost = head() + 5;
  nodes.onHead(at(1), { number: lost, timestampS: 0 });
  assert.equal(nodes.findNodeForBlocks([lost]), undefined);
  play(HEAD_KEPT_ROUNDS - 1, [40, undefined, 40]);
  assert.equal(nodes.findNodeForBlocks([lost]), undefined);
  play(1, [40, undefined, 40]);
  assert.equal(nodes.findNodeForBlocks([lost]), at(0), "the node may never come back");
});

Deno.test("ReadNodes: blocks that only a node far above all others has do not exist yet", () => {
  const { at, nodes, play, isOut, head } = scene(3);
  play(40, [0, 0, -1_000]);
  assert.deepEqual(isOut(), [false, false, true]);
  assert.equal(nodes.findNodeForBlocks([head() + 1]), at(0), "as clients poll for the next block");
  assert.equal(nodes.findOtherNode(at(0), [head() + 1]), at(1));
  play(1, [0, 0, 0]);
  nodes.onHead(at(2), { number: head() + 1, timestampS: 0 });
  assert.equal(
    nodes.findNodeForBlocks([head() + 1]),
    undefined,
    "one that is plausible again does",
  );
});

Deno.test("ReadNodes: a block that clients may know is not read from nodes that stopped below it, also when they outvote the one that has it", () => {
  for (const isAnnounced of [true, false]) {
    const { at, nodes, play, isOut, head } = scene(3);
    play(5, [0, 0, 0]);
    const common = head();
    for (let behind = 1; !isOut()[0]; behind += 1) {
      if (isAnnounced) nodes.onHead(at(0), { number: head() + 1, timestampS: 0 });
      play(1, [behind === 33 ? undefined : 0, behind, behind]); // a missed probe changes nothing
      assert.equal(nodes.findOtherNode(at(0), [common + 1]), undefined, `${behind} behind`);
    }
    assert.equal(nodes.leader, at(1));
    assert.equal(nodes.findNodeForBlocks([common]), at(1));
    assert.equal(nodes.findNodeForBlocks([common + 1]), undefined);
    assert.equal(nodes.findNodeForBlocks([common - 1, common + 32]), undefined);
    assert.equal(nodes.findNodeForBlocks([head() + 1]), at(1), "nobody knows it");
  }
});

Deno.test("ReadNodes: a node that begins to show heads far above all others has no more blocks than before", () => {
  const { at, nodes, play, head } = scene(3);
  play(5, [0, 0, 0]);
  nodes.onProbeAnswered(at(2), { number: head() + 1_000, timestampS: 0 }, 1);
  assert.equal(nodes.findNodeForBlocks([head() + 1]), at(0), "as clients poll for the next block");
  nodes.onHead(at(0), { number: head() + 1, timestampS: 0 });
  nodes.onDied(at(0), "gone");
  assert.equal(nodes.findNodeForBlocks([head() + 1]), undefined);
  assert.equal(nodes.findNodeForBlocks([head()]), at(1));
});

Deno.test("ReadNodes: when the chain has gone far back on all nodes but one, reads of its next blocks are refused for half a minute at most", () => {
  const { at, nodes, play, isOut, head } = scene(3);
  play(5, [0, 0, 0]);
  play(HEAD_KEPT_ROUNDS - 1, [100, 100, 0]);
  assert.deepEqual(isOut(), [false, false, true]);
  assert.equal(nodes.findNodeForBlocks([head() - 99]), undefined);
  play(1, [100, 100, 0]);
  assert.equal(nodes.findNodeForBlocks([head() - 99]), at(0));
});

Deno.test("ReadNodes: a head announced during a probe counts, not the older one in its answer", () => {
  const { at, clock, nodes, play, head } = scene(2);
  play(5, [0, 0]);
  const timestampS = clock.now() / 1000;
  clock.advance(10);
  nodes.onHead(at(0), { number: head() + 1, timestampS });
  clock.advance(10);
  nodes.onProbeAnswered(at(0), { number: head(), timestampS }, 15);
  nodes.onDied(at(0), "gone");
  assert.equal(nodes.findNodeForBlocks([head() + 1]), undefined, "the other one lacks it");
  nodes.onProbeAnswered(at(0), { number: head(), timestampS }, 5);
  assert.equal(
    nodes.findNodeForBlocks([head() + 1]),
    at(1),
    "it was asked later: its chain went back",
  );
});

Deno.test("ReadNodes: heads that the leader announces after it answered a probe with a later one are late", () => {
  const { at, nodes, play, head } = scene(2);
  play(5, [0, 0]);
  nodes.onHead(at(0), { number: head() - 1, timestampS: 0 });
  assert.equal(nodes.findNodeForBlocks([head()]), at(0), "it has the block");
  nodes.onDied(at(1), "gone");
  play(1, [1, undefined]);
  assert.equal(at(0).head?.number, head() - 1);
});

Deno.test("ReadNodes: while a slow node makes a round long, heads of a fast chain do not look far too high", () => {
  const { at, clock, nodes, play, isOut, head } = scene(4);
  play(5, [0, 0, 0, 0]);
  for (let round = 0; round < ROUNDS_TO_CHANGE; round += 1) {
    const later = (blocks: number) => ({
      number: head() + 40 * round + blocks,
      timestampS: clock.now() / 1000,
    });
    for (const node of [0, 1, 2]) nodes.onProbeAnswered(at(node), later(20), 1);
    clock.advance(2_000);
    assert(nodes.onHead(at(0), later(40)));
    nodes.onProbeAnswered(at(3), later(40), 2_000);
    nodes.endRound();
  }
  assert.deepEqual(isOut(), [false, false, false, false]);
});

Deno.test("ReadNodes: the reported state of a node", () => {
  const { at, nodes } = scene(2);
  const state = (node: number) => {
    const { head, isUp, downReason, probeMs, totals } = at(node);
    return [head?.number, isUp, downReason, probeMs, ...Object.values(totals)];
  };
  assert.deepEqual(state(0), [undefined, true, undefined, undefined, 0, 0, 0]);
  nodes.onProbeAnswered(at(0), { number: 7, timestampS: 1 }, 100);
  nodes.onProbeAnswered(at(0), { number: 8, timestampS: 1 }, 200);
  nodes.countRead(at(0), { isFailed: false });
  nodes.countRead(at(0), { isFailed: true });
  nodes.onDied(at(1), "gone");
  assert.deepEqual(state(0), [8, true, undefined, 200, 2, 1, 0]);
  assert.deepEqual(state(1), [undefined, false, "gone", undefined, 0, 0, 1]);
  nodes.onDied(at(0), "gone as well");
  assert.deepEqual(state(0).slice(1, 3), [false, "it does not answer"], "the last stays in");
  nodes.onSocketOpened(at(0));
  assert(at(0).isDead, "of several, only a probe shows that one is back");
  assert.throws(() => scene(0), RangeError);
});

Deno.test("ReadNodes: a head far above all others is shown only while the others have been silent for a round", () => {
  const { at, nodes, play, head } = scene(3);
  const isShown = () => nodes.onHead(at(0), { number: head() + 65, timestampS: 0 });
  play(5, [0, 0, 0]);
  assert(!isShown());
  play(1, [0, undefined, undefined]);
  assert(isShown());
  play(1, [0, 0, 0]);
  assert(!isShown(), "they are back");
});

Deno.test("ReadNodes: heads announced again by another node are not shown to clients for two minutes", () => {
  const shown = (node: number, ...numbers: number[]) =>
    numbers.filter((number) => nodes.onHead(at(node), { number, timestampS: 0 }));
  const { at, nodes, clock } = scene(2);
  assert.deepEqual(shown(0, 10, 11, 12), [10, 11, 12]);
  assert.deepEqual(shown(1, 10, 11, 12, 13), [13], "it was behind");
  assert.deepEqual(shown(1, 12, 13), [12, 13], "it reorganises its chain");
  assert.equal(at(1).head?.number, 13, "what it has is known all the same");
  assert.deepEqual(shown(0, 1), []);
  clock.advance(2 * 60_000 - 1);
  assert.deepEqual(shown(0, 2), []);
  clock.advance(1);
  assert.deepEqual(shown(0, 3, 4), [3, 4], "its chain is another one");
});

Deno.test("ReadNodes: if all nodes start over at a lower head, the heads of the next leader are shown", () => {
  const { at, nodes, play, head } = scene(2);
  play(3, [0, 0]);
  assert(nodes.onHead(at(0), { number: head(), timestampS: 0 }));
  const lower = { number: head() - 900, timestampS: 0 };
  play(1, [undefined, 900]);
  assert(!nodes.onHead(at(1), lower), "the other one may still have the block");
  play(1, [900, 900]);
  assert(nodes.onHead(at(1), { number: head() - 900, timestampS: 0 }));
});

Deno.test("ReadNodes: heads do not go back while the node that had the last one is silent", () => {
  const { nodes, at, play, head } = scene(2);
  play(3, [0, 900]);
  assert(nodes.onHead(at(0), { number: head(), timestampS: 0 }));
  play(HEAD_KEPT_ROUNDS + 1, [undefined, 900]);
  assert.equal(at(0).head, undefined);
  assert(!nodes.onHead(at(1), { number: head() - 900, timestampS: 0 }));
});

Deno.test("ReadNodes: a single node serves every block, and is alive once it accepts a WebSocket or answers a read", () => {
  const { at, nodes } = scene(1);
  nodes.onHead(at(0), { number: 7, timestampS: 1 });
  nodes.onDied(at(0), "gone");
  assert.deepEqual([nodes.findNodeForBlocks([5]), nodes.findNodeForBlocks([9])], [at(0), at(0)]);
  assert.equal(nodes.isAnyAlive, false);
  nodes.onSocketOpened(at(0));
  assert(nodes.isAnyAlive);
  nodes.onDied(at(0), "its HTTP port is away");
  nodes.countRead(at(0), { isFailed: true });
  assert.equal(nodes.isAnyAlive, false);
  nodes.countRead(at(0), { isFailed: false });
  for (let n = 0; n < 5; n += 1) nodes.onProbeFailed(at(0), "it is slow");
  assert(nodes.isAnyAlive, "no other node is faster");
});

Deno.test("ReadNodes: a refused probe restarts the count of good rounds after which a node is added again", () => {
  const { at, nodes, changes, play } = scene(2);
  nodes.onDied(at(1), "gone");
  play(ROUNDS_TO_CHANGE - 1, [0, 0]);
  nodes.onProbeRefused(at(1), "gone");
  play(ROUNDS_TO_CHANGE - 1, [0, 0]);
  assert.deepEqual(changes, [[1, true]]);
  play(1, [0, 0]);
  assert.deepEqual(changes, [[1, true], [1, false]]);
});

Deno.test("ReadNodes: the waits between failed probes start over only after an answer", () => {
  const { at, nodes, clock } = scene(2);
  const waitMs = () => {
    nodes.onProbeRefused(at(1), "gone");
    let ms = 0;
    for (; !at(1).isProbeDue(clock.monotonic.now()); ms += 100) clock.advance(100);
    return ms;
  };
  const waits = [waitMs(), waitMs(), waitMs(), waitMs(), waitMs(), waitMs()];
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  nodes.onProbeRefused(at(1), "gone");
  nodes.onProbeAnswered(at(1), { number: 1, timestampS: 1 }, 1);
  assert(at(1).isProbeDue(clock.monotonic.now()));
  assert.equal(waitMs(), 500);
});

Deno.test("ReadNodes: a round without lag restarts the count of lagging rounds, and a removal that of good ones", () => {
  const { play, changes } = scene(3);
  play(1, [0, 0, 0]);
  for (let times = 0; times < 4; times += 1) {
    play(ROUNDS_TO_CHANGE - 1, [0, 9, 0]);
    play(1, [0, 0, 0]);
  }
  play(ROUNDS_TO_CHANGE - 1, [0, 9, 0]);
  play(1, [0, undefined, 0]);
  play(1, [0, 9, 0]);
  assert.deepEqual(changes, []);
  play(ROUNDS_TO_CHANGE - 1, [0, 9, 0]);
  play(ROUNDS_TO_CHANGE - 1, [0, 0, 0]);
  assert.deepEqual(changes, [[1, true]]);
});
