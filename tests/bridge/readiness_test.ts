import assert from "node:assert/strict";
import { NodeUnreachableError } from "../../lib/net/core_client.ts";
import { WrongChainError } from "../../lib/intents/chain_guard.ts";
import { StoreError } from "../../lib/intents/intent.ts";
import { checkReadiness, type ReadinessPorts } from "../../services/bridge/readiness.ts";
import { eventually } from "../support/eventually.ts";
import { relayer, withBridge } from "./support.ts";

function ports(given: Partial<ReadinessPorts["intents"]["probe"]> = {}): ReadinessPorts {
  return {
    intents: {
      problem: () => Promise.resolve(undefined),
      probe: {
        url: "http://node",
        chainId: () => Promise.resolve(1337),
        getAccount: (address) =>
          Promise.resolve({ address, balance: 0n, locked: 0n, permissions: ["relayer"] }),
        ...given,
      },
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
      `Core node at http://node does not give ${relayer.address} the relayer permission: deposits will fail`,
    ],
  });
  const secret = "http://user:hunter2@node/v3/0123456789abcdef0123456789abcdef?key=hunter2";
  const readiness = await checkReadiness(
    ports({ getAccount, chainId: () => Promise.resolve(1), url: secret }),
  );
  assert.equal(readiness.problems.length, 2);
  assert(!/hunter2|0123456789abcdef/.test(readiness.problems.join()), readiness.problems.join());
  const { node, relayer: isRelayer, ...rest } = await checkReadiness(ports({ getAccount }));
  assert.deepEqual([rest.ready, node, isRelayer], [false, true, false], "the relayer alone");
  // A node with the expected id may still have another chain than the store.
  const problem = () => Promise.resolve(new WrongChainError("CHAIN_MISMATCH", "Another chain", {}));
  for (const [chainId, expected] of [[1337, /^Another chain$/], [1, /expected 1337$/]] as const) {
    const given = ports({ chainId: () => Promise.resolve(chainId) });
    const intents = { ...given.intents, problem };
    const other = await checkReadiness({ ...given, intents });
    assert.deepEqual([other.node, other.problems.length], [false, 1]);
    assert.match(other.problems[0]!, expected); // the only one
  }
  const full = () => Promise.resolve(new StoreError("Full"));
  const broken = { ...ports(), intents: { ...ports().intents, problem: full } };
  const { ready, store, problems } = await checkReadiness(broken);
  assert.deepEqual({ ready, store, problems }, { ready: false, store: false, problems: ["Full"] });
});

Deno.test("Readiness: a node that can store nothing is not ready for deposits", async () => {
  const getAccount = (address: `0x${string}`) =>
    Promise.resolve({
      address,
      balance: 0n,
      locked: 0n,
      permissions: ["relayer" as const],
      frozen: true,
    });
  const { ready, node, problems } = await checkReadiness(ports({ getAccount }));
  assert.deepEqual({ ready, node, problems }, {
    ready: false,
    node: false,
    problems: ["Core node at http://node can store nothing: its disk is full or broken"],
  });
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
    const problems = await eventually("the bridge sees that its node has paused", async () => {
      const answer = await fetch(`${url}/ready`);
      const readiness = await answer.json();
      return answer.status === 503 ? readiness.problems : undefined;
    });
    assert.deepEqual(problems, ["Node has paused"]);
  }));

Deno.test("Bridge: a flood of /health and /ready asks the node once a second", () =>
  withBridge(async ({ url }, node) => {
    await (await fetch(`${url}/ready`)).body?.cancel(); // what the start asks is asked by then
    node.calls.clear();
    const startMs = Date.now();
    const paths = Array.from({ length: 100 }, (_, n) => n % 2 === 0 ? "/health" : "/ready");
    for (const answer of await Promise.all(paths.map((path) => fetch(`${url}${path}`)))) {
      await answer.body?.cancel();
      assert.equal(answer.status, 200);
    }
    const seconds = 1 + Math.floor((Date.now() - startMs) / 1_000);
    assert((node.calls.get("eth_chainId") ?? 0) <= 2 * seconds, "once for each route");
    assert((node.calls.get("core_getAccount") ?? 0) <= seconds);
  }));
