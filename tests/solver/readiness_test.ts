import assert from "node:assert/strict";
import { WrongChainError } from "../../lib/intents/chain_guard.ts";
import { StoreError } from "../../lib/intents/errors.ts";
import type { RangemakerError } from "../../lib/errors.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { checkReadiness, type ReadinessOptions } from "../../services/solver/readiness.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { accountOf, solver, withSolver } from "./support.ts";

function account(changes: Partial<Account> = {}): ReadinessOptions["account"] {
  return { read: () => Promise.resolve({ ...accountOf(solver.address, 1n), ...changes }) };
}

/** The service's health has this problem. */
function failing(problem: RangemakerError) {
  return { findProblem: () => Promise.resolve(problem) };
}

const NODE: ReadinessOptions["node"] = {
  url: "http://a:b@node",
  getChainId: () => Promise.resolve(1337),
  acceptsTransactions: () => Promise.resolve(true),
};

function readyWith(changes: Partial<ReadinessOptions>): ReadinessOptions {
  return {
    store: { requireWritable: () => Promise.resolve() },
    findProblem: () => Promise.resolve(undefined),
    node: NODE,
    account: account(),
    exposure: { isComplete: true },
    marketData: undefined,
    maxPriceAgeMs: 2_000,
    clock: new FakeClock(),
    chainId: 1337,
    wsUrl: "ws://node/key?secret=1",
    dryRun: false,
    ...changes,
  };
}

const penniless = account({ balance: 0n });
const readOnly = { requireWritable: () => Promise.reject(new Error("Full")) };
const rewound = new WrongChainError("CHAIN_REWOUND", "Older", {});
const otherId = { ...NODE, getChainId: () => Promise.resolve(5) };
const readPort = { ...NODE, acceptsTransactions: () => Promise.resolve(false) };
const noPrices = {
  symbolsWithoutPrice: () => ["BTC/USDT", "SOL/USDT"],
  symbolsWithoutHistory: () => [],
};
const noHistory = { symbolsWithoutPrice: () => [], symbolsWithoutHistory: () => ["SOL/USDT"] };

const MISSING: [string, Partial<ReadinessOptions>, RegExp][] = [
  ["store", failing(new StoreError("Full")), /^Full$/],
  ["store", { store: readOnly, dryRun: true }, /^Full$/],
  ["node", failing(rewound), /^Older$/],
  ["node", { account: account({ frozen: true }) }, /^Core node .* can store nothing: its disk/],
  [
    "node",
    { node: otherId, dryRun: true },
    /^Core node at http:\/\/…@node has chain id 5: expected 1337, so nothing/,
  ],
  [
    "node",
    { node: readPort },
    /^Core node at http:\/\/…@node accepts no transactions: it is a read/,
  ],
  ["balance", { account: penniless }, /^Solver 0x3C44.* has no balance: deposit USDC for it$/],
  [
    "feed",
    { exposure: { isComplete: false } },
    /^Open theses are not known: .*node\/key\?… is not/,
  ],
  ["prices", { marketData: noPrices }, /^No fresh price of BTC\/USDT, SOL\/USDT$/],
  [
    "prices",
    { marketData: noHistory },
    /^Prices of SOL\/USDT are not read up to now from core node at http:\/\/…@node$/,
  ],
];

for (const [name, changes, problem] of MISSING) {
  Deno.test(`Solver, readiness: reports only the missing ${name} (${problem.source})`, async () => {
    const { problems, ...found } = await checkReadiness(readyWith(changes));
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", problem);
    const all = { ready: true, store: true, node: true, balance: true, feed: true, prices: true };
    assert.deepEqual(found, { ...all, ready: false, [name]: false });
  });
}

Deno.test("Solver, readiness: a dry run needs no balance", async () => {
  assert.equal((await checkReadiness(readyWith({ account: penniless, dryRun: true }))).ready, true);
});

Deno.test("Solver: without a node, GET /info has a balance of 0 without a time", () =>
  withSolver(async ({ url }, node) => {
    node.paused = true;
    const response = await fetch(`${url}/info`);
    assert.equal(response.status, 200);
    const { address, balance, balanceTime, config } = await response.json();
    assert.deepEqual([address, config.minBetAmount], [solver.address, "1"]);
    assert.deepEqual([balance, balanceTime], ["0", null]);
  }));
