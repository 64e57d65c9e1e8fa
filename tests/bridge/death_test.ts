/** The bridge is killed at every statement that touches store or network: one deposit, one truth. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import {
  kill,
  type MortalService,
  playUntilDeath,
  postUntilRecorded,
  startMortal,
  tracePlaces,
} from "../support/death.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { FAULTY, HEALTHY, makeHealthy, type NodeMood } from "../support/node_moods.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";
import { bundledProgram } from "../support/process.ts";
import { withFolder } from "../support/files.ts";
import { signedRequest, startTestBridge, user } from "./support.ts";

const launch = await bundledProgram();

interface DepositView {
  state: string;
  txHash: string;
}

/** A bridge that has not finished a deposit by then never will. */
const FINAL_WITHIN_MS = 15_000;

/** What the bridge says of the deposit once it says something final; undefined where it has none. */
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
  mood: NodeMood,
  engine: Engine,
  test: (node: FakeNode, service: MortalService, database: string) => Promise<void>,
): Promise<void> {
  await using node = FakeNode.start();
  mood.set(node);
  const noLimits = ["--rate-limit", "0", "--rate-limit-total", "0"];
  const args = ["bridge", "--port", "0", "--rpc-url", node.url, ...noLimits];
  const env = { BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey };
  await engine((database) =>
    test(node, { args: [...args, "--database", database], env, launch }, database)
  );
}

async function dieAt(place: string, mood: NodeMood, engine: Engine): Promise<void> {
  await withNode(mood, engine, async (node, service, database) => {
    const request = signedRequest();
    const answer = await playUntilDeath(
      service,
      place,
      (url) => postUntilRecorded(`${url}/deposit`, request),
    );
    makeHealthy(node);

    // Only what dies needs a process of its own: what starts after it finds the same database.
    await using restarted = await startTestBridge(node.url, { database });
    const { url } = restarted;
    const first = await finalView(url);
    // Never recorded, never promised: the same request is still good.
    if (first === undefined) {
      assert.notEqual(answer?.status, 200);
      const retry = await post(`${url}/deposit`, request);
      assert.equal(retry.status, mood.commits ? 200 : 503);
    }
    const view = await finalView(url) ?? assert.fail("The deposit is recorded");
    assert.equal(view.state, mood.commits ? "committed" : "failed");
    if (answer?.status === 200) assert.equal(answer.body.txHash, view.txHash);
    await assertFailure(post(`${url}/deposit`, request), 409, view.txHash);
    assert.equal(node.credited.get(user.address), mood.commits ? 25_000_000n : undefined);
    assert.equal(node.committed.length, mood.commits ? 1 : 0);
    assert.equal(new Set(node.received).size, 1, "what is sent again is the same bytes");
  });
}

async function dieEverywhere(t: Deno.TestContext, mood: NodeMood, engine: Engine): Promise<void> {
  let places: string[] = [];
  await withNode(mood, engine, async (_node, service) => {
    const play = (url: string) => postUntilRecorded(`${url}/deposit`, signedRequest());
    places = await tracePlaces(service, play);
  });
  for (const needed of ["store.insert:after", "node.sendTransactionText:before"]) {
    assert.ok(places.includes(needed), `${needed} is passed`);
  }
  for (const place of places) {
    // Until the transaction has been sent all moods are the same.
    const early = places.indexOf(place) <= places.indexOf("node.sendTransactionText:before");
    if (early && mood !== HEALTHY) continue;
    await t.step(place, () => dieAt(place, mood, engine));
  }
}

for (const mood of [HEALTHY, ...FAULTY]) {
  Deno.test(
    `Bridge: killed at every step with the node ${mood.name}: one deposit, one truth`,
    { timeout: 180_000 },
    (t) => dieEverywhere(t, mood, onSqlite),
  );
}

Deno.test({
  name: `Bridge: killed at every step on PostgreSQL: one deposit, one truth${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  timeout: 180_000,
  fn: (t) => dieEverywhere(t, HEALTHY, withSchema),
});

Deno.test("Bridge: killed while the node works on the transaction: one deposit, one truth", async () => {
  await withNode(HEALTHY, onSqlite, async (node, service) => {
    const request = signedRequest();
    const started = await startMortal(service);
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
    const again = await startMortal(service);
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
