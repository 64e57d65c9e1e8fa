/** Clients that subscribe so as to harm others on the one socket to the read node. */
import assert from "node:assert/strict";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withProxy } from "../proxy/support.ts";
import { AddressedClient, HonestClient, metric } from "./honest_client.ts";

const MIB = 1024 * 1024;

/** A node that closes a socket on a frame over a MiB, and on the subscription `poison`. */
const touchyNode = {
  closeOn: (text: string) => text.length > MIB || text.includes('"poison"') ? 1009 : undefined,
};

function address(n: number): string {
  return `0x${n.toString(16).padStart(40, "0")}`;
}

Deno.test("Hostile: a subscribe with megabytes of parameters is refused and never reaches the node", () =>
  withProxy(async (scene) => {
    const honest = await HonestClient.open(scene);
    const attacker = await RpcSocket.open(scene.wsUrl);
    for (let id = 1; id <= 3; id += 1) {
      const answer = await attacker.call("eth_subscribe", ["logs", {
        x: "x".repeat(1.1 * MIB),
      }]);
      assert.equal(answer.error?.code, -32005);
    }
    await honest.work();
    assert.deepEqual(scene.read.closedOn, []);
    const refusals = 'proxy_refusals_total{limit="subscription_parameters"}';
    assert.equal(await metric(scene.url, refusals), 3);
    await Promise.all([attacker.close(), honest.close()]);
  }, { read: touchyNode }));

Deno.test("Hostile: 4 KiB of parameters pass, a byte more is refused", () =>
  withProxy(async ({ wsUrl, read }) => {
    const client = await RpcSocket.open(wsUrl);
    const fill = 4_096 - JSON.stringify(["logs", ""]).length;
    const fits = await client.call("eth_subscribe", ["logs", "x".repeat(fill)]);
    const over = await client.call("eth_subscribe", ["logs", "x".repeat(fill + 1)]);
    assert.deepEqual([typeof fits.result, over.error?.code], ["string", -32005]);
    assert.equal(read.calls.length, 1);
    await client.close();
  }));

Deno.test("Hostile: a subscription on which the node closes the socket fails, and is not asked for again", () =>
  withProxy(async (scene) => {
    const { read } = scene;
    const honest = await HonestClient.open(scene);
    const attacker = await RpcSocket.open(scene.wsUrl);
    assert.equal((await attacker.call("eth_subscribe", ["poison"])).error?.code, -32005);
    await read.until(() => read.subscriptions.length === 1); // the heads are back
    for (let id = 2; id <= 5; id += 1) {
      assert.equal((await attacker.call("eth_subscribe", ["poison"])).error?.code, -32005);
    }
    await honest.work();
    assert.equal(read.closedOn.length, 1);
    await Promise.all([attacker.close(), honest.close()]);
  }, { read: touchyNode }));

Deno.test("Hostile: a filter that a subscription does not use makes no other one at the node", () =>
  withProxy(async (scene) => {
    const { read, wsUrl, url } = scene;
    const honest = await HonestClient.open(scene);
    const attackers = await Promise.all(Array.from({ length: 18 }, () => RpcSocket.open(wsUrl)));
    for (let n = 0; n < 100; n += 1) {
      await Promise.all(attackers.map((attacker, index) => {
        return attacker.call("eth_subscribe", ["prices", { user: address(100 * index + n) }]);
      }));
    }
    // One client that asks again needs a second id, up to a bound.
    assert(read.subscriptions.length <= 17, `${read.subscriptions.length}`);
    const theses = (index: number, filter: object) =>
      attackers[index]?.call("eth_subscribe", ["theses", filter]);
    for (
      const filter of [{ user: address(0xa) }, {
        user: address(0xa).toUpperCase().replace("X", "x"),
        y: 1,
      }]
    ) {
      const index = "y" in filter ? 1 : 0;
      assert.equal(typeof (await theses(index, filter))?.result, "string");
    }
    assert.equal(read.subscriptions.filter((text) => text.includes("theses")).length, 1);
    await honest.work();
    assert.equal(await metric(url, "proxy_upstream_subscriptions"), read.subscriptions.length);
    await Promise.all([...attackers, honest].map((client) => client.close()));
  }));

Deno.test("Hostile: one address uses up its own share of the node's subscriptions and no more", () =>
  withProxy(async (scene) => {
    const { read, wsUrl, url } = scene;
    const honest = await HonestClient.open(scene);
    const attackers = [];
    for (let n = 0; n < 41; n += 1) {
      attackers.push(await AddressedClient.open(wsUrl, "198.51.100.1") ?? assert.fail());
    }
    let refused = 0;
    for (const [index, attacker] of attackers.entries()) {
      await Promise.all(Array.from({ length: 100 }, async (_, n) => {
        const filter = { user: address(1 + 100 * index + n) };
        const { error } = await attacker.call("eth_subscribe", ["theses", filter]);
        if (error === undefined) return;
        refused += 1;
        assert.equal(error.code, -32005);
      }));
    }
    assert.equal(refused, 41 * 100 - 128);
    assert.equal(read.subscriptions.length, 128 + 1);
    const other = await AddressedClient.open(wsUrl, "203.0.113.1") ?? assert.fail();
    const { result } = await other.call("eth_subscribe", ["theses", { user: address(9_999) }]);
    assert.equal(typeof result, "string");
    const refusals = 'proxy_refusals_total{limit="upstream_subscriptions_per_address"}';
    assert.equal(await metric(url, refusals), refused);
    await honest.work();
    // What ended is free again.
    await Promise.all(attackers.splice(0, 40).map((attacker) => attacker.close()));
    await read.until(() => read.subscriptions.length === 2);
    const again = await attackers[0]?.call("eth_subscribe", ["theses", { user: address(1) }]);
    assert.equal(typeof again?.result, "string");
    await Promise.all([...attackers, other, honest].map((client) => client.close()));
  }));

Deno.test("Hostile: a peer that invents addresses leaves room for others", () =>
  withProxy(async (scene) => {
    const { wsUrl } = scene;
    const honest = await HonestClient.open(scene);
    const attackers = [];
    for (let n = 0; n < 20; n += 1) {
      attackers.push(await AddressedClient.open(wsUrl, `198.51.100.${n}`) ?? assert.fail());
    }
    const granted = (await Promise.all(attackers.flatMap((attacker, index) =>
      Array.from({ length: 5 }, (_, n) =>
        attacker.call("eth_subscribe", ["theses", { user: address(5 * index + n) }]))
    ))).filter(({ error }) =>
      error === undefined
    ).length;
    // 90 % of 40; the last one is left for an address that has none.
    assert(granted === 35 || granted === 36, `${granted} are granted`);
    const client = await RpcSocket.open(wsUrl);
    assert.equal(typeof (await client.call("eth_subscribe", ["logs", {}])).result, "string");
    await honest.work();
    await Promise.all([...attackers, client, honest].map((each) =>
      each.close()
    ));
  }, { proxy: { maxUpstreamSubscriptions: 40 } }));

Deno.test("Hostile: parameters nested 100,000 levels deep are refused, and the client stays", () =>
  withProxy(async (scene) => {
    const honest = await HonestClient.open(scene);
    const attacker = await RpcSocket.open(scene.wsUrl);
    for (const [id, depth] of [100_000, 1_500, 17].entries()) {
      const params = "[".repeat(depth) + "]".repeat(depth);
      attacker.send(`{"jsonrpc":"2.0","id":${id},"method":"eth_subscribe","params":${params}}`);
      const { error } = await attacker.waitFor((frame) => frame.id === id);
      assert.equal(error?.code, -32005, `${depth} levels`);
    }
    await honest.work();
    assert.equal(scene.read.calls.length, 1);
    await Promise.all([attacker.close(), honest.close()]);
  }));
