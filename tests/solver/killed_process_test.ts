/**
 * The solver is killed at every statement that touches store, node or hedge: a quote has one
 * outcome.
 */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import {
  playUntilKilled,
  postUntilRecorded,
  type ServiceProcess,
  traceFaultPoints,
} from "../support/killed_process.ts";
import { withFolder } from "../support/files.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import {
  FakeNode,
  FAULTY,
  HEALTHY,
  makeHealthy,
  type NodeBehaviour,
} from "../support/fake_node.ts";
import { programWithFaultPoints } from "../support/process.ts";
import {
  executeBody,
  solver,
  SOLVER_BALANCE,
  startTestSolver,
  termsAt,
  user,
  USER_BALANCE,
} from "./support.ts";

const launch = await programWithFaultPoints();

/** Nothing listens here: the solver has no feed. */
const NO_FEED = "ws://127.0.0.1:9";

/** The last point before the node hears of the transaction. */
const FIRST_SEND = "node.sendTransactionText:before";

/** A body of `POST /execute` that the solver accepts. */
function freshBody() {
  const prices = { lowerPrice: 1_600_000_000n, upperPrice: 1_700_000_000n };
  return executeBody(
    termsAt(Date.now(), { ...prices, betAmount: 10_000_000n, payout: 10_700_000n }),
  );
}

async function withNode(
  behaviour: NodeBehaviour,
  test: (node: FakeNode, service: ServiceProcess, database: string) => Promise<void>,
): Promise<void> {
  await using node = FakeNode.start();
  node.credited.set(solver.address, SOLVER_BALANCE);
  node.credited.set(user.address, USER_BALANCE);
  behaviour.set(node);
  await withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    const args = [
      ...["solver", "--port", "0", "--rpc-url", node.url, "--ws-url", NO_FEED],
      ...["--hedge-delay-ms", "1", "--database", database],
    ];
    const env = { SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey };
    await test(node, { args, env, launch }, database);
  });
}

async function killAt(point: string, behaviour: NodeBehaviour): Promise<void> {
  await withNode(behaviour, async (node, service, database) => {
    const body = freshBody();
    const answer = await playUntilKilled(
      service,
      point,
      (url) => postUntilRecorded(`${url}/execute`, body),
    );
    makeHealthy(node);
    // Only the killed service needs a process of its own: the restarted one uses the same database.
    await using restarted = await startTestSolver({ url: node.url, wsUrl: NO_FEED }, { database });
    const url = `${restarted.url}/execute`;
    const result = await post(url, body);
    const isFinal = answer?.status === 200 || answer?.body.code === "NODE_REFUSED";
    if (isFinal) assert.deepEqual(result, answer);
    assert.deepEqual(await post(url, body), result, "the same quote has one result");
    if (behaviour.commits) {
      const [receipt] = node.committed;
      const { txHash, thesisId } = receipt ?? assert.fail("There is a thesis");
      assert.deepEqual(result.body, {
        success: true,
        result: { txHash, status: "committed", thesisId },
      });
    } else if (result.status !== 200) {
      await assertFailure(Promise.resolve(result), 503, "Core node refused the transaction");
    } else assert.match(JSON.stringify(result.body), /"status":"failed".*PERMISSION_DENIED/);
    assert.equal(node.committed.length, behaviour.commits ? 1 : 0);
    assert.equal(new Set(node.received).size, 1, "what is sent again is the same transaction");
  });
}

// What a slow or repeating node does to the shared submitter is shown by the bridge's test.
const behaviours = FAULTY.filter(({ name }) => name !== "slow" && name !== "answering twice");

for (const behaviour of [HEALTHY, ...behaviours]) {
  const name =
    `Solver: killed at every step with the node ${behaviour.name}, a quote has one outcome`;
  Deno.test(name, { timeout: 180_000 }, async (t) => {
    let points: string[] = [];
    await withNode(behaviour, async (_node, service) => {
      points = await traceFaultPoints(
        service,
        (url) => postUntilRecorded(`${url}/execute`, freshBody()),
      );
    });
    for (const needed of ["store.insert:after", "hedge.cover:after", FIRST_SEND]) {
      assert.ok(points.includes(needed), `${needed} is passed`);
    }
    for (const point of points) {
      // Until the transaction has been sent all behaviours are the same.
      const early = points.indexOf(point) <= points.indexOf(FIRST_SEND);
      if (early && behaviour !== HEALTHY) continue;
      await t.step(point, () => killAt(point, behaviour));
    }
  });
}
