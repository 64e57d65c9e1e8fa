import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import type { Transaction } from "../../lib/protocol/transaction.ts";
import type { RunningNode } from "../../services/node/mod.ts";
import { SUBSCRIPTIONS_PER_CLIENT_MAX } from "../../services/node/rpc/subscriptions.ts";
import { toWire } from "../../lib/protocol/wire.ts";
import { actors, deposit, hashOf, rfqSubmit } from "../node/support/actors.ts";
import { withSteppedNode } from "../node/support/stepped_node.ts";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { callOf, invalid, wrongMessages } from "./rpc_messages.ts";
import type { Expected, Refusals } from "./support.ts";

const user = actors.user.address;

/** A call of a method, and what its error has to say. */
type RefusedCall = [method: string, params: unknown[], expected: Omit<Expected, "status">];

/** Calls with parameters that do not fit, or that ask for what there is not. */
const WRONG_CALLS: RefusedCall[] = [
  ["core_nothing", [], { code: "-32601", names: "core_nothing", advice: "rpc.discover" }],
  ["core_sendTransaction", [], invalid("nothing", "Deposit, RfqSubmit or", "transaction: ")],
  ["core_sendTransaction", [{}], invalid("nothing", "Deposit, RfqSubmit or", "transaction.type")],
  ["core_simulateTransaction", [5], invalid("5", "Deposit, RfqSubmit or", "transaction: ")],
  ["core_settleThesis", ["x"], invalid('"x"', "Expected a number", "id: ")],
  ["core_settleThesis", [99], {
    ...{ code: "-32602 UNKNOWN_THESIS", names: "id 99", advice: "core_getTheses" },
  }],
  ["core_getAccount", [], invalid("nothing", "Expected an address", "address: ")],
  ["core_getAccount", ["me"], invalid('"me"', "Expected an address", "address: ")],
  ["core_getAccount", [user, 1], invalid("an array of 2", "Expected [address]")],
  ["core_getTransaction", ["0x"], invalid('"0x"', "Expected a hash", "hash: ")],
  ["core_getThesis", [0], invalid("0", "Expected the id of a thesis", "id: ")],
  [
    "core_getTheses",
    [{ status: "gone" }],
    invalid('"gone"', "one of open, needs", "filter.status"),
  ],
  ["core_getTheses", [{ limit: 5_000 }], invalid("5000", "Expected at most 1000", "filter.limit")],
  ["core_getTheses", [{ cursor: "x" }], invalid('"x"', "Expected the nextCursor", "filter.cursor")],
  ["core_getTheses", [{ solver: 5 }], invalid("5", "Expected an address", "filter.solver")],
  ["core_getPrices", [1], invalid("an array of 1", "Expected no parameters")],
  ["core_getLimits", [1], invalid("an array of 1", "Expected no parameters")],
  ["core_getOracleStatus", [1], invalid("an array of 1", "Expected no parameters")],
  ["core_getPriceHistory", [{}], invalid("nothing", "Expected an address", "query.base")],
  [
    "core_getPriceHistory",
    [{ base: user, quote: user, from: 1, to: 2 }],
    invalid(user, "core_getPrices lists the markets"),
  ],
  [
    "eth_getBlockByNumber",
    ["first"],
    invalid('"first"', "a block number as hex, or a tag", "block: "),
  ],
  ["eth_subscribe", ["x"], invalid('"x"', "Expected one of newHeads, theses", "kind: ")],
  ["eth_subscribe", ["newHeads"], {
    ...{ code: "-32601", names: "Subscriptions", received: "over HTTP", advice: "a WebSocket" },
  }],
  ["eth_unsubscribe", ["0x1"], {
    ...{ code: "-32601", names: "Subscriptions", received: "over HTTP", advice: "a WebSocket" },
  }],
  ["core_faucet", ["me", "1"], invalid('"me"', "Expected an address", "address: ")],
  ["core_faucet", [user, "0"], invalid('"0"', "Expected an amount of at least 1", "amount: ")],
  ["core_snapshot", [1], invalid("an array of 1", "Expected no parameters")],
  ["core_revert", ["x"], invalid('"x"', "Expected a number", "id: ")],
  ["core_revert", [9], {
    ...{ code: "-32602 UNKNOWN_SNAPSHOT", names: "id 9", advice: "core_snapshot takes one" },
  }],
  ["core_advance", [{}], invalid("nothing", "Expected a number", "jump.ms")],
  ["core_advance", [{ ms: 1, prices: { X: "1" } }], invalid("symbol X", "there are BTC/USDT")],
  [
    "core_advance",
    [{ ms: 1, prices: { "ETH/USDT": 1 } }],
    invalid("1", "Expected a price or a list", "jump.prices.ETH/USDT"),
  ],
];

/** Transactions that are no valid ones, and valid ones that the rules refuse. */
function wrongTransactions(now: number): [tx: Transaction, expected: Omit<Expected, "status">][] {
  const good = { timestamp: now, user, amount: 5n, externalTxHash: hashOf(2) };
  const bet = { timestamp: now };
  const rule = (code: string, names: string, advice: string) => ({ code, names, advice });
  const quote = { names: "signature", advice: "expected 0x" };
  return [
    [{ ...deposit(good), amount: 6n }, {
      ...{ code: "-32003 INVALID_SIGNATURE", names: "Transaction signature is by another key" },
      advice: `expected ${actors.relayer.address}`,
    }],
    [
      { ...deposit(good), signature: "0x12" as Hex },
      rule("-32003 INVALID_SIGNATURE", "Signature has 1 bytes", "expected 65"),
    ],
    [deposit({ ...good, timestamp: now - 70_000 }), {
      ...rule("-32003 TIMESTAMP_OUT_OF_RANGE", "Timestamp", "within 60 s of the node's clock"),
      received: `${now - 70_000}`,
    }],
    [
      deposit({ ...good, by: actors.stranger }),
      rule("PERMISSION_DENIED", actors.stranger.address, "--relayers and --admins grant it"),
    ],
    [
      deposit({ ...good, externalTxHash: hashOf(1) }),
      rule("DEPOSIT_ALREADY_PROCESSED", hashOf(1), "sign another nonce"),
    ],
    [rfqSubmit({ ...bet, base: user }), rule("UNSUPPORTED_PAIR", user, "core_getPrices lists")],
    [
      rfqSubmit({ ...bet, upperPrice: 1n }),
      rule("INVALID_PRICE_RANGE", "2850 and 0.000001", "has to be below upper price"),
    ],
    [
      rfqSubmit({ ...bet, startTime: now - 9_000, endTime: now - 8_000 }),
      rule("INVALID_TIME_RANGE", `from ${now - 9_000}`, "choose a later one"),
    ],
    [
      rfqSubmit({ ...bet, startTime: now + 9e7, endTime: now + 9e7 + 1_000 }),
      rule("INVALID_TIME_RANGE", `from ${now + 9e7}`, "choose an earlier one"),
    ],
    [rfqSubmit({ ...bet, deadline: 1 }), rule("QUOTE_EXPIRED", "at 1", "request a new quote")],
    [rfqSubmit({ ...bet, payout: 1_080_000n }), {
      ...{ code: "INSUFFICIENT_BALANCE", names: user, advice: "deposit more" },
    }],
    [rfqSubmit({ ...bet, solverSigner: actors.stranger }), {
      ...{ code: "QUOTE_SIGNER_MISMATCH", ...quote },
    }],
    [rfqSubmit({ ...bet, userSigner: actors.stranger }), {
      ...{ code: "USER_SIGNATURE_INVALID", ...quote },
    }],
    [
      rfqSubmit({ ...bet, lowerPrice: 1n, upperPrice: 2n, startTime: now - 200 }),
      rule("RANGE_BROKEN", "Price was 3000 ", "request a quote for a later start"),
    ],
  ];
}

/** Asserts that each method that looks at its parameters is among the wrong calls. */
async function requireAllAsked(url: string): Promise<void> {
  const body = JSON.stringify(callOf("rpc.discover", []));
  const { result } = await (await fetch(url, { method: "POST", body })).json();
  const methods: { name: string; params: unknown[] }[] = result.methods;
  const asked = new Set(WRONG_CALLS.map(([method]) => method));
  const taking = methods.filter(({ params }) => params.length > 0).map(({ name }) => name);
  assert(taking.length > 10);
  assert.deepEqual(taking.filter((name) => !asked.has(name)), []);
}

/** Everything that the node refuses. */
export async function refuseAtNode(refusals: Refusals): Promise<void> {
  const relayers = [actors.relayer.address, DEV_ACCOUNTS.relayer.address];
  await withSteppedNode(async ({ node, client, clock, stepped, oracle }) => {
    const { url, readUrl } = node;
    const ask = (method: string, params: unknown[], expected: Omit<Expected, "status">) =>
      refusals.ask(url, { path: "", body: callOf(method, params), status: 200, ...expected });
    for (const [method, params, expected] of WRONG_CALLS) await ask(method, params, expected);
    await requireAllAsked(url);
    for (const refused of wrongMessages(100)) await refusals.ask(url, refused);
    const limited = { path: "", code: "-32005", advice: "send" };
    const calls = Array.from({ length: 101 }, () => callOf("eth_chainId", []));
    await refusals.ask(url, {
      ...limited,
      body: calls,
      status: 400,
      names: "100",
      received: "101",
    });
    const long = "x".repeat(2 ** 20 + 1);
    await refusals.ask(url, {
      ...limited,
      body: long,
      status: 413,
      names: "Body may have 1048576",
    });
    const deep = { ...limited, body: "[".repeat(5_000), status: 400 };
    await refusals.ask(url, { ...deep, names: "5000 members and 64 levels" });
    await refusals.ask(readUrl, {
      ...{ path: "", body: callOf("core_faucet", []), status: 200, code: "-32601" },
      ...{ names: "core_faucet", advice: "send it to the write node" },
    });
    const simulate = (tx: Transaction, expected: Omit<Expected, "status">) =>
      ask("core_simulateTransaction", [toWire(tx)], expected);
    const timestamp = clock.now();
    await client.sendTransaction(
      deposit({ timestamp, user, amount: 1n, externalTxHash: hashOf(1) }),
    );
    for (const [tx, expected] of wrongTransactions(timestamp)) await simulate(tx, expected);
    const more = { timestamp, user, amount: 10n ** 9n, externalTxHash: hashOf(3) };
    await client.sendTransaction(deposit(more));
    const bet = rfqSubmit({ timestamp });
    const { thesisId } = await client.sendTransaction(bet);
    await simulate(rfqSubmit({ timestamp: timestamp + 1, ...quoteOf(bet) }), {
      ...{ code: "QUOTE_ALREADY_USED", names: "Quote 0x", advice: "request a new quote" },
    });
    await ask("core_settleThesis", [thesisId], {
      ...{ code: "-32010 NotEnded", names: `Thesis ${thesisId}`, advice: "settled by itself" },
    });
    await refuseTooMuch(refusals, node);
    oracle.answer = () => new Response(null, { status: 500 });
    await stepped.run(40);
    await simulate(rfqSubmit({ timestamp: clock.now() }), {
      ...{ code: "ORACLE_STALE", names: "ETH/USDT", advice: "until the oracle has a fresh one" },
    });
  }, { dev: true, relayers });
  await withSteppedNode(({ node: { url } }) =>
    refusals.ask(url, {
      ...{ path: "", body: callOf("core_faucet", [user, "1"]), status: 200 },
      ...{
        code: "-32601 DEVELOPMENT_ONLY",
        names: "core_faucet",
        advice: "start the node with --dev",
      },
    }).then(() => {})
  );
}

/** Calls of a batch: it divides the most subscriptions. */
const BATCH = 64;

/** Over the limits of a batch's answers and of one socket's subscriptions. */
async function refuseTooMuch(refusals: Refusals, node: RunningNode): Promise<void> {
  const body = JSON.stringify(Array.from({ length: 100 }, () => callOf("rpc.discover", [])));
  const answers = await (await fetch(node.url, { method: "POST", body })).json();
  const limited = { status: 200, advice: "in another batch", names: "Answers of the batch" };
  refusals.check(
    200,
    answers.at(-1),
    { ...limited, code: "-32005 BATCH_TOO_LONG" },
    "rpc.discover",
  );
  const socket = await RpcSocket.open(node.wsUrl);
  const subscribe = callOf("eth_subscribe", ["newHeads"]);
  const batches = SUBSCRIPTIONS_PER_CLIENT_MAX / BATCH;
  for (let sent = 0; sent < batches; sent++) {
    socket.send(Array.from({ length: BATCH }, () => subscribe));
  }
  await eventually("all subscriptions", () => socket.messages.length === batches || undefined);
  const answer = await socket.call("eth_subscribe", ["newHeads"], 2);
  const full = { ...limited, names: "4096 subscriptions", advice: "end some first" };
  refusals.check(200, answer, { ...full, code: "-32005 TOO_MANY_SUBSCRIPTIONS" }, "newHeads");
  await socket.close();
}

/** The terms of a bet whose quote is used again. */
function quoteOf({ startTime, endTime, deadline }: ReturnType<typeof rfqSubmit>) {
  return { startTime, endTime, deadline };
}
