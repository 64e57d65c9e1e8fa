import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { ShiftedClock, systemClock } from "../../lib/clock.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { externalHashOf } from "../../lib/protocol/hashes.ts";
import { depositKey, encodeDeposit } from "../../services/bridge/depositor.ts";
import { runHere } from "../support/command_context.ts";
import { post } from "../support/http_answers.ts";
import { FakeNode, makeHealthy } from "../support/fake_node.ts";
import { withFolder } from "../support/files.ts";
import { CHAIN_ID, signedRequest, startTestBridge, user } from "./support.ts";

const { privateKey } = DEV_ACCOUNTS.relayer;

const FAILED = "0 sent again, 0 already present, 1 failed";

interface Lost {
  node: FakeNode;
  replay: (...more: string[]) => ReturnType<typeof runHere>;
  database: string;
}

/**
 * Declares a test with a committed deposit of 25 USDC, and a node that was restored from a backup
 * without it, after the deadline of the deposit.
 */
const test = (name: string, run: (lost: Lost) => Promise<void>) =>
  Deno.test(`bridge replay: ${name}`, () =>
    withFolder(async (folder) => {
      await using node = FakeNode.start();
      const database = `${folder}/bridge.sqlite`;
      const bridge = await startTestBridge(node.url, { database });
      const request = signedRequest({ deadline: Date.now() + 20_000 });
      assert.equal((await post(`${bridge.url}/deposit`, request)).status, 200);
      await bridge.stop();
      node.rewind();
      const options = ["--rpc-url", node.url, "--database", database, "--private-key", privateKey];
      const clock = new ShiftedClock(systemClock);
      clock.shift(30_000);
      const replay = (...more: string[]) =>
        runHere(["bridge", "replay", ...options, ...more], {}, clock);
      await run({ node, replay, database });
    }));

async function highestBlockIn(database: string): Promise<number> {
  await using store = await openIntentStore(database, "bridge");
  return (await store.records.read()).highestBlock;
}

/** The node gets the lost transaction again, and its rules refuse it. */
async function sendRefused(node: FakeNode): Promise<void> {
  node.refusal = "PERMISSION_DENIED";
  const [text = ""] = node.received;
  const params = [JSON.parse(text)];
  const call = { jsonrpc: "2.0", id: 1, method: "core_sendTransaction", params };
  const answer = await fetch(node.url, { method: "POST", body: JSON.stringify(call) });
  assert.equal((await answer.json()).result.status, "failed");
  node.refusal = undefined;
}

test("sends a deposit again after its deadline, also if the node has a failed receipt of it", async ({ node, replay }) => {
  await sendRefused(node);
  const { code, stdout } = await replay();
  assert.equal(stdout.split("\n").at(-1), "1 sent again, 0 already present, 0 failed");
  assert.equal(code, 0);
  assert.equal(node.credited.get(user.address), 25_000_000n);
});

test("with another key and a database from before, a deposit that was sent again is present", async ({ node, replay, database }) => {
  const before = `${database}.before`;
  await Deno.copyFile(database, before);
  assert.match((await replay()).stdout, /1 sent again/);
  const key = DEV_ACCOUNTS.admin.privateKey;
  const options = ["--rpc-url", node.url, "--database", before, "--private-key", key];
  for (const [more, words] of [[["--dry-run"], "missing"], [[], "sent again"]] as const) {
    const { code, stdout } = await runHere(["bridge", "replay", ...options, ...more]);
    assert.deepEqual([code, stdout], [0, `0 ${words}, 1 already present, 0 failed`]);
  }
  assert.equal(node.credited.get(user.address), 25_000_000n);
});

Deno.test("bridge replay: sends a deposit that was recorded and not finished, until its deadline, and none that failed", () =>
  withFolder(async (folder) => {
    await using node = FakeNode.start();
    const database = `${folder}/bridge.sqlite`;
    const options = ["--rpc-url", node.url, "--database", database, "--private-key", privateKey];
    const clock = new ShiftedClock(systemClock);
    const replay = () => runHere(["bridge", "replay", ...options], {}, clock);
    const bridge = await startTestBridge(node.url, { database });
    node.refusal = "PERMISSION_DENIED";
    assert.equal((await post(`${bridge.url}/deposit`, signedRequest({ nonce: 3n }))).status, 503);
    node.refusal = undefined;
    node.loseTransactions();
    for (const [nonce, lifeMs] of [[1n, 60_000], [2n, 10_000]] as const) {
      const request = signedRequest({ nonce, deadline: Date.now() + lifeMs });
      assert.equal((await post(`${bridge.url}/deposit`, request)).status, 504);
    }
    await bridge.stop();
    makeHealthy(node);
    clock.shift(30_000);
    const first = await replay();
    assert.deepEqual([first.code, first.stdout.split("\n")], [0, [
      `Sent again: 25 USDC for ${user.address}, nonce 1`,
      `Not sent, its deadline has passed: 25 USDC for ${user.address}, nonce 2`,
      "1 sent again, 0 already present, 0 failed, 1 unfinished",
    ]]);
    assert.equal(node.credited.get(user.address), 25_000_000n);
    assert.match((await replay()).stdout, /\n0 sent again, 1 already present, .* 1 unfinished$/);
  }));

test("a dry run that finds missing deposits exits with 1 and sends nothing", async ({ node, replay }) => {
  const dry = await replay("--dry-run");
  const lines = [
    `Missing: 25 USDC for ${user.address}, nonce 1`,
    "1 missing, 0 already present, 0 failed",
  ];
  assert.deepEqual([dry.code, dry.stdout.split("\n")], [1, lines]);
  assert.equal(node.credited.get(user.address), undefined);
  assert.match((await replay()).stdout, /1 sent again/);
  assert.equal((await replay("--dry-run")).code, 0);
});

test("a dry run writes no record of the chain into a database without one", async ({ replay, database }) => {
  const db = new DatabaseSync(database);
  db.exec("DELETE FROM services");
  assert.equal((await replay("--dry-run")).code, 1);
  assert.deepEqual(db.prepare("SELECT * FROM services").all(), []);
  db.close();
});

test("reports a deposit that the node refuses, exit code 1", async ({ node, replay }) => {
  node.refusal = "PERMISSION_DENIED";
  const { code, stdout } = await replay();
  const line = `${user.address}:1 failed: Refused by the test: do as it says`;
  assert.deepEqual([code, stdout], [1, `${line}\n${FAILED}`]);
});

test("the store accepts the node's older state once no deposit failed", async ({ node, replay, database }) => {
  const before = await highestBlockIn(database);
  node.blockNumber = before - 1;
  node.refusal = "PERMISSION_DENIED";
  assert.equal((await replay()).code, 1);
  assert.equal(await highestBlockIn(database), before);
  node.refusal = undefined;
  assert.equal((await replay()).code, 0);
  assert.equal(await highestBlockIn(database), before - 1);
});

test("if the node gets another chain meanwhile, the store does not accept its state", async ({ node, replay, database }) => {
  const before = await highestBlockIn(database);
  node.blockNumber = before - 1;
  node.behaviour = (apply) => {
    node.genesis = `0x${"9".repeat(64)}`;
    return apply();
  };
  const { code, stdout } = await replay();
  assert.deepEqual([code, stdout], [1, `Sent again: 25 USDC for ${user.address}, nonce 1`]);
  assert.equal(await highestBlockIn(database), before);
});

test("with a node of another chain it sends nothing", async ({ node, replay }) => {
  node.genesis = `0x${"9".repeat(64)}`;
  const { code, stdout } = await replay();
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(node.credited.get(user.address), undefined);
});

test("a damaged row counts as failed", async ({ replay, database }) => {
  const db = new DatabaseSync(database);
  db.exec("UPDATE intents SET payload = 'damaged'");
  db.close();
  const { code, stdout } = await replay();
  assert.equal(code, 1);
  assert.equal(stdout.split("\n").at(-1), FAILED);
});

test("a deposit that another process changes meanwhile is reported as failed", async ({ node, replay, database }) => {
  node.behaviour = (apply) => {
    const other = new DatabaseSync(database);
    other.exec("UPDATE intents SET tx_hash = '0x'");
    other.close();
    return apply();
  };
  const { code, stdout } = await replay();
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^${user.address}:1 was changed by another .*\n${FAILED}$`));
});

Deno.test("bridge replay: refuses an empty database, and does not create the file", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlte`;
    const options = ["--database", database, "--private-key", privateKey];
    const { code, stderr } = await runHere(["bridge", "replay", ...options]);
    assert.equal(code, 2);
    assert.match(stderr, /bridge\.sqlte is empty/);
    await assert.rejects(Deno.stat(database));
  }));

test("sends more deposits again than a page of the database has", async ({ node, replay, database }) => {
  const count = 500;
  const store = await openIntentStore(database, "bridge");
  await Promise.all(Array.from({ length: count }, (_, index) => {
    const deadline = Date.now() + 3_600_000;
    const signed = signedRequest({ nonce: BigInt(index + 2), deadline });
    const request = depositRequestSchema.parse(signed);
    return store.insert({
      key: depositKey(user.address, request.nonce),
      user: user.address,
      payload: encodeDeposit(request, externalHashOf(request, CHAIN_ID)),
      transaction: null,
      expiresAtMs: deadline,
      createdAtMs: Date.now(),
    });
  }));
  await store.close();
  const { code, stdout } = await replay();
  assert.equal(stdout.split("\n").at(-1), `${count + 1} sent again, 0 already present, 0 failed`);
  assert.equal(code, 0);
  assert.equal(node.credited.get(user.address), BigInt(count + 1) * 25_000_000n);
});
