import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { ListenError } from "../../lib/http/listener.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { assertFailure, post, readSeries } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { ConnectionLost, FakeNode } from "../support/fake_node.ts";
import { CHAIN_ID, relayer, signedRequest, startTestBridge, user, withBridge } from "./support.ts";
import { withFolder } from "../support/files.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { signTransaction } from "../support/signing.ts";

/** The user's deposit with nonce 1, once it is final; a given clock goes on meanwhile. */
function finalDeposit(
  url: string,
  clock?: FakeClock,
): Promise<{ state: string; reason?: { code: string } }> {
  return eventually("the deposit is final", async () => {
    clock?.advance(1_000);
    const { deposit } = await (await fetch(`${url}/deposits/${user.address}/1`)).json();
    return deposit.state === "submitted" ? undefined : deposit;
  });
}

Deno.test("Bridge: after its database is replaced by a copy, health fails and no deposit is accepted", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlite`;
    const clock = new FakeClock(Date.now());
    await withBridge(async ({ url }, node) => {
      assert.equal((await post(`${url}/deposit`, signedRequest())).status, 200);
      await Deno.copyFile(database, `${folder}/copy`);
      await Deno.rename(`${folder}/copy`, database);
      const next = signedRequest({ nonce: 2n });
      const refused = post(`${url}/deposit`, next);
      await assertFailure(refused, 503, "moved or replaced: stop the service");
      assert.equal(node.received.length, 1, "only the first one was sent");
      clock.advance(5_000);
      const { status, code } = await (await fetch(`${url}/health`)).json();
      assert.deepEqual([status, code], ["failed", "STORE_UNAVAILABLE"]);
    }, { database, clock });
  }));

Deno.test("Bridge: if its port is in use the start fails and closes the database", () =>
  withFolder(async (directory) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const database = `${directory}/bridge.sqlite`;
    const { port } = taken.addr as Deno.NetAddr;
    await assert.rejects(startTestBridge("http://127.0.0.1:9", { port, database }), ListenError);
    const files = Array.from(Deno.readDirSync(directory), ({ name }) => name);
    assert.deepEqual(files, ["bridge.sqlite"], "SQLite deletes its journal when it is closed");
  }));

Deno.test("Bridge: what it lacks is logged once after the start, again if more is lacking, and the end of it", () =>
  withLogs("info", async (records) => {
    const clock = new FakeClock(Date.now());
    await withBridge(async (_bridge, node) => {
      const events = () => records.map(({ properties }) => properties["event"]);
      const untilLogged = (...expected: string[]) =>
        eventually("the log follows", () => {
          clock.advance(1_000);
          return isDeepStrictEqual(events(), ["listening", "started", ...expected]);
        });
      await untilLogged();
      node.permissions = [];
      await untilLogged("not_ready");
      assert.match(String(records[2]?.properties["problem"]), /the relayer permission/);
      node.down = true;
      await untilLogged("not_ready", "not_ready");
      assert.match(String(records[3]?.properties["problem"]), /cannot be reached/);
      const asked = node.calls.get("core_getAccount") ?? 0;
      await eventually("it asks again", () => {
        clock.advance(1_000);
        return (node.calls.get("core_getAccount") ?? 0) > asked + 1;
      });
      assert.deepEqual(events(), ["listening", "started", "not_ready", "not_ready"]);
      [node.down, node.permissions] = [false, ["relayer"]];
      await untilLogged("not_ready", "not_ready", "ready");
    }, { clock });
  }));

Deno.test("Bridge: without the relayer permission it refuses before the nonce is used, and its metric shows it", () => {
  const clock = new FakeClock(Date.now());
  return withBridge(async ({ url }, node) => {
    const untilShown = (isRelayer: number) =>
      eventually("the metric follows", async () => {
        clock.advance(1_000);
        return await readSeries(url, "bridge_relayer_permitted") === isRelayer;
      });
    await untilShown(1);
    node.permissions = [];
    await untilShown(0);
    const request = signedRequest();
    const { status, body } = await post(`${url}/deposit`, request);
    assert.deepEqual([status, body.code], [503, "PERMISSION_DENIED"]);
    assert.match(String(body.error), /does not grant 0x\w+ the relayer permission: nothing/);
    const recorded = await (await fetch(`${url}/deposits/${user.address}/1`)).json();
    assert.equal(recorded.code, "NOT_FOUND");
    assert.equal(node.received.length, 0);
    node.permissions = ["relayer"];
    clock.advance(1_000);
    assert.equal((await post(`${url}/deposit`, request)).status, 200);
    await untilShown(1);
  }, { clock });
});

const late: [number, string, (node: FakeNode) => unknown, string][] = [
  [9, "as before", () => {}, "DEADLINE_PASSED"],
  [11, "as before", () => {}, "DEADLINE_PASSED"],
  [
    11,
    "that denies the permission",
    (node) => node.refusal = "PERMISSION_DENIED",
    "RECEIPT_DROPPED",
  ],
  [9, "whose clock is 2 min behind", (node) => node.aheadMs -= 120_000, "DEADLINE_PASSED"],
  [11, "whose clock is 2 min behind", (node) => node.aheadMs -= 120_000, "RECEIPT_DROPPED"],
];
for (const [minutes, how, change, code] of late) {
  Deno.test(`Bridge: whatever its --retain, a deposit without an answer is ${code} after ${minutes} min, with a node ${how}`, () => {
    const clock = new FakeClock(Date.now());
    return withBridge(async ({ url }, node) => {
      node.loseTransactions({ down: true });
      await assertFailure(post(`${url}/deposit`, signedRequest()), 504, "is unknown");
      node.down = false;
      clock.jump(node.aheadMs = minutes * 60_000);
      change(node);
      const { reason } = await finalDeposit(url, clock);
      assert.equal(reason?.code, code);
    }, { retain: 2 * 3_600_000, clock });
  });
}

Deno.test("Bridge: a deposit that a lost transaction has credited is committed, also after its deadline", () => {
  const clock = new FakeClock(Date.now());
  return withBridge(async ({ url }, node) => {
    node.behaviour = async (_apply, { signature: _, ...unsigned }) => {
      node.behaviour = (apply) => apply();
      // As if the database was restored since, and this transaction was signed in place of its one.
      const { tx } = signTransaction({ ...unsigned, timestamp: Date.now() - 1 }, relayer, CHAIN_ID);
      await new CoreClient({ url: node.url }).sendTransaction(tx);
      node.down = true;
      throw new ConnectionLost();
    };
    await assertFailure(post(`${url}/deposit`, signedRequest()), 504, "is unknown");
    node.down = false;
    clock.jump(node.aheadMs = 9 * 60_000);
    const { state, reason } = await finalDeposit(url, clock);
    assert.deepEqual([state, reason?.code], ["committed", "DEPOSIT_ALREADY_PROCESSED"]);
    assert.equal(node.credited.get(user.address), 25_000_000n);
  }, { clock });
});

Deno.test("Bridge: stops within 5 s while the node does not answer, and the next start finishes the deposit", () =>
  withFolder(async (directory) => {
    await using node = FakeNode.start();
    const overrides = { database: `${directory}/bridge.sqlite` };
    let release = () => {};
    const released = new Promise<void>((resolve) => release = resolve);
    node.behaviour = async (apply) => {
      await released;
      return apply();
    };
    const first = await startTestBridge(node.url, overrides);
    const arrived = node.nextTransaction();
    const answer = post(`${first.url}/deposit`, signedRequest()).catch(() => undefined);
    await arrived;
    const startedAtMs = Date.now();
    await first.stop();
    assert.ok(Date.now() - startedAtMs < 5_000, "the stop takes less than 5 s");
    assert.notEqual((await answer)?.status, 200);
    release();
    await using second = await startTestBridge(node.url, overrides);
    assert.equal((await finalDeposit(second.url)).state, "committed");
    assert.equal(node.credited.get(user.address), 25_000_000n);
  }));

/** A key that replaces that of the bridge. */
const newKey = new LocalSigner(DEV_ACCOUNTS.admin.privateKey);

const cases = [
  ["is still a relayer", ["committed", undefined], 25_000_000n],
  ["is none any more", ["failed", "PERMISSION_DENIED"], undefined],
] as const;
for (const [permission, ending, credited] of cases) {
  Deno.test(`Bridge: after a change of keys an unfinished deposit is ${ending[0]} if the old key ${permission}`, () =>
    withFolder(async (directory) => {
      await using node = FakeNode.start();
      const database = `${directory}/bridge.sqlite`;
      const before = await startTestBridge(node.url, { database });
      node.loseTransactions({ down: true });
      await assertFailure(post(`${before.url}/deposit`, signedRequest()), 504, "is unknown");
      await before.stop();
      node.behaviour = (apply, tx) => {
        node.refusal = permission === "is none any more" && tx.from === relayer.address
          ? "PERMISSION_DENIED"
          : undefined;
        return apply();
      };
      node.down = false;
      await using after = await startTestBridge(node.url, { database, privateKey: newKey });
      const { state, reason } = await finalDeposit(after.url);
      assert.deepEqual([state, reason?.code], ending);
      assert.equal(node.credited.get(user.address), credited);
      const request = signedRequest({ deadline: Date.now() + 120_000 });
      await assertFailure(post(`${after.url}/deposit`, request), 409, `of 25 USDC is ${state}`);
    }));
}

Deno.test("Bridge: after the loss of its database it credits no deposit a second time, and reports the first", () =>
  withBridge(async (first, node) => {
    const made = signedRequest({ nonce: 7n });
    assert.equal((await post(`${first.url}/deposit`, made)).status, 200);
    await first.stop();
    const clock = new FakeClock(Date.now());
    await using second = await startTestBridge(node.url, {}, clock);
    const later = signedRequest({ nonce: 7n, deadline: made.deadline + 1 });
    const { status, body } = await post(`${second.url}/deposit`, later);
    assert.equal(status, 200, JSON.stringify(body));
    const { deposit } = await (await fetch(`${second.url}/deposits/${user.address}/7`)).json();
    assert.equal(deposit.reason.code, "DEPOSIT_ALREADY_PROCESSED");
    assert.equal(node.credited.get(user.address), 25_000_000n);
    clock.advance(3_000); // so it looks for the receipt
    const { body: next } = await post(`${second.url}/deposit`, signedRequest({ nonce: 8n }));
    assert.equal(next.success, true, `${next.error}`);
  }));

Deno.test("Bridge: two bridges with different keys on one database credit each deposit once", () =>
  withFolder(async (directory) => {
    await using node = FakeNode.start();
    const database = `${directory}/bridge.sqlite`;
    await using one = await startTestBridge(node.url, { database });
    await using two = await startTestBridge(node.url, { database, privateKey: newKey });
    const nonces = [1n, 2n, 3n, 4n, 5n];
    const answers = await Promise.all(nonces.flatMap((nonce) =>
      [one, two].map(({ url }, index) => {
        const deadline = Date.now() + 60_000 + index;
        return post(`${url}/deposit`, signedRequest({ nonce, deadline }));
      })
    ));
    const credited = answers.filter(({ status }) => status === 200);
    assert.deepEqual([credited.length, answers.length], [5, 10]);
    assert.ok(answers.every(({ status }) => status === 200 || status === 409));
    assert.equal(node.credited.get(user.address), 5n * 25_000_000n);
    for (const { url } of [one, two]) {
      const { status } = await (await fetch(`${url}/health`)).json();
      assert.equal(status, "healthy");
    }
  }));
