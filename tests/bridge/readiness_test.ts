import assert from "node:assert/strict";
import { systemClock } from "../../lib/clock.ts";
import type { RangemakerError } from "../../lib/errors.ts";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import { WrongChainError } from "../../lib/intents/chain_guard.ts";
import { StoreError } from "../../lib/intents/errors.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { createBridgeReadiness, type ReadinessOptions } from "../../services/bridge/readiness.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { relayer, withBridge } from "./support.ts";

type Probe = ReadinessOptions["node"];

function ports(overrides: Partial<Probe> = {}, problem?: RangemakerError): ReadinessOptions {
  return {
    findProblem: () => Promise.resolve(problem),
    node: {
      url: "http://user:SECRET@node/?key=SECRET",
      acceptsTransactions: () => Promise.resolve(true),
      getAccount: account({ permissions: ["relayer"] }),
      ...overrides,
    },
    relayer: relayer.address,
  };
}

function account(overrides: Partial<Account>): Probe["getAccount"] {
  return (address) =>
    Promise.resolve({ address, balance: 0n, locked: 0n, permissions: [], ...overrides });
}

const away = () => Promise.reject(new NodeUnreachableError("http://node", "test"));
const isAway = { getAccount: away };
const noRelayer = { getAccount: account({}) };
const readPort = { acceptsTransactions: () => Promise.resolve(false) };
const frozen = { getAccount: account({ permissions: ["relayer"], frozen: true }) };
const otherChain = new WrongChainError("CHAIN_MISMATCH", "Another chain", {});

type Case = [what: string, overrides: ReadinessOptions, missing: string[], problems: RegExp[]];

const cases: Case[] = [
  ["all that a deposit needs", ports(), [], []],
  ["the read port of a node", ports(readPort), ["node"], [/accepts no transactions/]],
  ["a node with another chain", ports({}, otherChain), ["node"], [/^Another chain$/]],
  ["a node that can store nothing", ports(frozen), ["node"], [/can store nothing/]],
  ["no permission", ports(noRelayer), ["relayer"], [/not grant 0x\w{40} the relayer permission/]],
  ["a store that fails", ports({}, new StoreError("Full")), ["store"], [/^Full$/]],
  [
    "another chain and no permission",
    ports(noRelayer, otherChain),
    ["node", "relayer"],
    [/^Another chain$/, /relayer permission/],
  ],
  ["a node that is away", ports(isAway), ["node", "relayer"], [/cannot be reached/]],
];

for (const [what, overrides, missing, expected] of cases) {
  Deno.test(`Readiness: with ${what}, ${missing.join(" and ") || "nothing"} is missing`, async () => {
    const { ready, problems, ...parts } = await createBridgeReadiness(systemClock, overrides)
      .check();
    const lacks = Object.entries(parts).filter(([, isThere]) => !isThere).map(([part]) => part);
    assert.deepEqual([ready, lacks, problems.length], [
      missing.length === 0,
      missing,
      expected.length,
    ]);
    for (const [index, problem] of problems.entries()) assert.match(problem, expected[index]!); // as many
    assert.doesNotMatch(problems.join(), /SECRET/);
  });
}

Deno.test("Readiness: deposits are refused while the node is a read port or denies the permission", async () => {
  const clock = new FakeClock();
  let [permissions, accepts]: [Account["permissions"], boolean] = [[], true];
  const readiness = createBridgeReadiness(
    clock,
    ports({
      getAccount: (address) => account({ permissions })(address),
      acceptsTransactions: () => Promise.resolve(accepts),
    }),
  );
  const refusal = async () => {
    clock.advance(NODE_ANSWER_CACHED_MS);
    return (await readiness.findRefusal())?.code;
  };
  assert.equal(await refusal(), undefined, "until the node says otherwise");
  await readiness.check();
  assert.equal(await refusal(), "PERMISSION_DENIED");
  accepts = false;
  assert.equal(await refusal(), "NODE_UNREACHABLE");
  permissions = ["relayer"];
  assert.equal(await refusal(), "NODE_UNREACHABLE");
  accepts = true;
  assert.equal(await refusal(), undefined);
});

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
    assert((node.calls.get("eth_chainId") ?? 0) <= 2 * seconds, "once for the chain, once for rpc");
    assert((node.calls.get("core_getAccount") ?? 0) <= seconds);
  }));

Deno.test("Bridge: without a node /health is healthy with rpc false", () =>
  withBridge(async ({ url }) => {
    const health = await (await fetch(`${url}/health`)).json();
    assert.equal(health.rpc, false);
    assert.equal(health.status, "healthy");
  }, { rpcUrl: "http://127.0.0.1:9" }));
