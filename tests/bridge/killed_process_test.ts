/**
 * Kills the bridge at every statement that uses store or network: at most one credit, reported
 * truly.
 */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import {
  kill,
  playUntilKilled,
  postUntilRecorded,
  type ServiceProcess,
  startServiceProcess,
  traceFaultPoints,
} from "../support/killed_process.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import {
  FakeNode,
  FAULTY,
  HEALTHY,
  makeHealthy,
  type NodeBehaviour,
} from "../support/fake_node.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";
import { programWithFaultPoints } from "../support/process.ts";
import { withFolder } from "../support/files.ts";
import { signedRequest, startTestBridge, user } from "./support.ts";

const launch = await programWithFaultPoints();

interface DepositView {
  state: string;
  txHash: string;
}

/** A bridge that has not finished a deposit by then never will. */
const FINAL_WITHIN_MS = 15_000;

/** The final state that the bridge reports for the deposit; undefined if it has none. */
async function finalView(url: string): Promise<DepositView | undefined> {
  const { deposit } = await eventually("a final state of the deposit", async () => {
    const response = await fetch(`${url}/deposits/${user.address}/1`);
    const { deposit } = await response.json();
    if (response.status === 404) return { deposit: undefined };
    return deposit.state === "committed" || deposit.state === "failed" ? { deposit } : undefined;
  }, FINAL_WITHIN_MS);
  return deposit;
}

/** Gives a test an empty database. */
type Engine = (test: (database: string) => Promise<void>) => Promise<void>;

const onSqlite: Engine = (test) => withFolder((folder) => test(`${folder}/bridge.sqlite`));

async function withNode(
  behaviour: NodeBehaviour,
  engine: Engine,
  test: (node: FakeNode, service: ServiceProcess, database: string) => Promise<void>,
): Promise<void> {
  await using node = FakeNode.start();
  behaviour.set(node);
  const noLimits = ["--rate-limit", "0", "--rate-limit-total", "0"];
  const args = ["bridge", "--port", "0", "--rpc-url", node.url, ...noLimits];
  const env = { BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey };
  await engine((database) =>
    test(node, { args: [...args, "--database", database], env, launch }, database)
  );
}

async function killAt(point: string, behaviour: NodeBehaviour, engine: Engine): Promise<void> {
  await withNode(behaviour, engine, async (node, service, database) => {
    const request = signedRequest();
    const answer = await playUntilKilled(
      service,
      point,
      (url) => postUntilRecorded(`${url}/deposit`, request),
    );
    makeHealthy(node);

    // Only the killed service needs a process of its own: the restarted one uses the same database.
    await using restarted = await startTestBridge(node.url, { database });
    const { url } = restarted;
    const first = await finalView(url);
    // Never recorded, never promised: the same request is still good.
    if (first === undefined) {
      assert.notEqual(answer?.status, 200);
      const retry = await post(`${url}/deposit`, request);
      assert.equal(retry.status, behaviour.commits ? 200 : 503);
    }
    const view = await finalView(url) ?? assert.fail("The deposit is recorded");
    assert.equal(view.state, behaviour.commits ? "committed" : "failed");
    if (answer?.status === 200) assert.equal(answer.body.txHash, view.txHash);
    await assertFailure(post(`${url}/deposit`, request), 409, view.txHash);
    assert.equal(node.credited.get(user.address), behaviour.commits ? 25_000_000n : undefined);
    assert.equal(node.committed.length, behaviour.commits ? 1 : 0);
    assert.equal(new Set(node.received).size, 1, "what is sent again is the same transaction");
  });
}

async function killEverywhere(
  t: Deno.TestContext,
  behaviour: NodeBehaviour,
  engine: Engine,
): Promise<void> {
  let points: string[] = [];
  await withNode(behaviour, engine, async (_node, service) => {
    points = await traceFaultPoints(service, async (url) => {
      // Its regular check then has its points before the transaction is sent, in every run.
      await (await fetch(`${url}/ready`)).text();
      await postUntilRecorded(`${url}/deposit`, signedRequest());
    });
  });
  for (const needed of ["store.insert:after", "node.sendTransactionText:before"]) {
    assert.ok(points.includes(needed), `${needed} is passed`);
  }
  for (const point of points) {
    // Until the transaction has been sent all behaviours are the same.
    const early = points.indexOf(point) <= points.indexOf("node.sendTransactionText:before");
    if (early && behaviour !== HEALTHY) continue;
    await t.step(point, () => killAt(point, behaviour, engine));
  }
}

for (const behaviour of [HEALTHY, ...FAULTY]) {
  Deno.test(
    `Bridge: killed at every step with the node ${behaviour.name}: at most one credit, and the reported state is the chain's`,
    { timeout: 180_000 },
    (t) => killEverywhere(t, behaviour, onSqlite),
  );
}

Deno.test({
  name:
    `Bridge: killed at every step on PostgreSQL: at most one credit, and the reported state is the chain's${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  timeout: 180_000,
  fn: (t) => killEverywhere(t, HEALTHY, withSchema),
});

Deno.test("Bridge: killed while the node works on the transaction: one credit, and the reported state is the chain's", async () => {
  await withNode(HEALTHY, onSqlite, async (node, service) => {
    const request = signedRequest();
    const started = await startServiceProcess(service);
    let release = () => {};
    const killed = new Promise<void>((resolve) => release = resolve);
    node.behaviour = async (apply) => {
      await killed;
      return apply();
    };
    const arrived = node.nextTransaction();
    const answer = post(`${started.url}/deposit`, request).catch(() => undefined);
    await arrived;
    await kill(started);
    assert.equal(await answer, undefined);
    const again = await startServiceProcess(service);
    release();
    try {
      const view = await finalView(again.url);
      assert.equal(view?.state, "committed");
      assert.equal(node.credited.get(user.address), 25_000_000n);
    } finally {
      await kill(again);
    }
  });
});
