/** Node and bridge as separate services: effects of a node's restart on the bridge's records. */
import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { signedRequest, startTestBridge, user } from "../bridge/support.ts";
import { withSolver } from "../solver/support.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { ConnectionLost, FakeNode } from "../support/fake_node.ts";
import { freePort, startAgain } from "../support/ports.ts";
import { withFolder } from "../support/files.ts";

function startTestNode(dataDir: string, port = freePort()) {
  const relayers = [DEV_ACCOUNTS.relayer.address];
  return startNode(withDefaults(nodeOptions, {
    port,
    readPort: 0,
    dataDir,
    relayers,
    oracleUrl: "http://127.0.0.1:9",
  }));
}

async function healthOf(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/health`);
  return { status: response.status, body: await response.json() };
}

Deno.test("Chain and store: after a restart, a node with --data-dir has the deposits that the bridge recorded", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlite`;
    let node = await startTestNode(`${folder}/node`);
    let bridge = await startTestBridge(node.url, { database });
    const port = Number(new URL(node.url).port);
    assert.equal((await post(`${bridge.url}/deposit`, signedRequest())).status, 200);
    await bridge.stop();
    await node.stop();
    node = await startAgain(() => startTestNode(`${folder}/node`, port));
    bridge = await startTestBridge(node.url, { database });
    try {
      await assertFailure(post(`${bridge.url}/deposit`, signedRequest()), 409, /is committed/);
      const account = () => new CoreClient({ url: node.url }).getAccount(user.address);
      assert.equal((await account()).balance, 25_000_000n);
      const second = signedRequest({ nonce: 2n });
      assert.equal((await post(`${bridge.url}/deposit`, second)).status, 200);
      assert.equal((await account()).balance, 50_000_000n);
    } finally {
      await bridge.stop();
      await node.stop();
    }
  }));

Deno.test("Chain and store: an unfinished deposit waits until its own chain is back", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlite`;
    await using node = FakeNode.start();
    const own = node.genesis;
    node.behaviour = () => {
      node.down = true;
      throw new ConnectionLost("Node dies");
    };
    const first = await startTestBridge(node.url, { database });
    await post(`${first.url}/deposit`, signedRequest()).catch(() => {});
    await first.stop();
    node.down = false;
    node.behaviour = (apply) => apply();
    node.genesis = `0x${"77".repeat(32)}`;
    const sent = node.received.length;
    await using bridge = await startTestBridge(node.url, { database });
    await eventually(
      "the bridge looks at the chain",
      () => (node.calls.get("eth_getBlockByNumber") ?? 0) > 2 || undefined,
    );
    await assertFailure(
      post(`${bridge.url}/deposit`, signedRequest({ nonce: 2n })),
      503,
      /chain/,
    );
    assert.equal(node.received.length, sent);
    node.genesis = own;
    await eventually("the deposit is made", () => node.committed.length === 1 || undefined);
  }));

Deno.test("Solver: health fails while the store cannot be written, and recovers afterwards", () =>
  withFolder(async (folder) => {
    const { DatabaseSync } = await import("node:sqlite");
    const database = `${folder}/solver.sqlite`;
    await withSolver(async (solver) => {
      assert.equal((await healthOf(solver.url)).body.status, "ok");
      const other = new DatabaseSync(database);
      other.exec("BEGIN IMMEDIATE");
      const failed = await eventually("the health says so", async () => {
        const answer = await healthOf(solver.url);
        return answer.status === 503 ? answer.body : undefined;
      });
      const reason = "Database failed: database is locked";
      assert.deepEqual([failed.status, failed.code, failed.reason], [
        "failed",
        "STORE_UNAVAILABLE",
        reason,
      ]);
      other.exec("ROLLBACK");
      other.close();
      await eventually(
        "it is well again",
        async () => (await healthOf(solver.url)).body.status === "ok" || undefined,
      );
    }, { database });
  }));
