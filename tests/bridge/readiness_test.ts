import assert from "node:assert/strict";
import { NodeUnreachableError } from "../../lib/core_client.ts";
import { StoreError } from "../../lib/store/intent.ts";
import { checkReadiness, type ReadinessPorts } from "../../services/bridge/readiness.ts";
import { relayer, withBridge } from "./support.ts";

function ports(given: Partial<ReadinessPorts["node"]> = {}): ReadinessPorts {
  return {
    store: { check: () => Promise.resolve() },
    node: {
      url: "http://node",
      chainId: () => Promise.resolve(1337),
      getAccount: (address) =>
        Promise.resolve({ address, balance: 0n, locked: 0n, permissions: ["relayer"] }),
      ...given,
    },
    relayer: relayer.address,
    chainId: 1337,
  };
}

Deno.test("Readiness: all that a deposit needs is there", async () => {
  assert.deepEqual(await checkReadiness(ports()), {
    ready: true,
    store: true,
    node: true,
    relayer: true,
    problems: [],
  });
});

Deno.test("Readiness: each thing that is missing is named", async () => {
  const getAccount = (address: `0x${string}`) =>
    Promise.resolve({ address, balance: 0n, locked: 0n, permissions: [] });
  assert.deepEqual(await checkReadiness(ports({ getAccount, chainId: () => Promise.resolve(1) })), {
    ready: false,
    store: true,
    node: false,
    relayer: false,
    problems: [
      "Core node at http://node has chain id 1: expected 1337",
      `Core node at http://node does not know ${relayer.address} as a relayer: deposits will fail`,
    ],
  });
  const broken = { ...ports(), store: { check: () => Promise.reject(new StoreError("Full")) } };
  const { ready, store, problems } = await checkReadiness(broken);
  assert.deepEqual({ ready, store, problems }, { ready: false, store: false, problems: ["Full"] });
});

Deno.test("Readiness: a node that is away is one problem, not two", async () => {
  const away = () => Promise.reject(new NodeUnreachableError("http://node", "test"));
  const { ready, problems } = await checkReadiness(ports({ chainId: away, getAccount: away }));
  assert.equal(ready, false);
  assert.equal(problems.length, 1);
});

Deno.test("Bridge: /ready is 200 with a node that knows the relayer, 503 with one that paused", () =>
  withBridge(async ({ url }, node) => {
    const good = await fetch(`${url}/ready`);
    assert.equal((await good.json()).ready, true);
    assert.equal(good.status, 200);
    node.paused = true;
    const bad = await fetch(`${url}/ready`);
    assert.deepEqual((await bad.json()).problems, ["Node has paused"]);
    assert.equal(bad.status, 503);
  }));
