import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { toWire } from "../../lib/json.ts";
import type { Transaction } from "../../lib/protocol/transaction.ts";
import type { RunningNode } from "../../services/node/mod.ts";
import { actors, deposit, hashOf, rfqSubmit } from "../node/support/actors.ts";
import { withSteppedNode } from "../node/support/stepped_node.ts";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { callOf, type Expected, invalid, type Refusals, says, wrongMessages } from "./support.ts";

const user = actors.user.address;

const ADDRESS = "Expected an address";
const TRANSACTION = "Deposit, RfqSubmit or";
const NO_PARAMETERS: [string, string, string] = [
  "Invalid params",
  "an array of 1",
  "Expected no parameters",
];
const overHttp = says("200 -32601", "Subscriptions", "over HTTP", "a WebSocket");

const DEPOSIT = { timestamp: 1, user, amount: 1n, externalTxHash: hashOf(1) };

/** Fields of a deposit with a value of another type. */
const WRONG_DEPOSITS: [field: string, value: string, advice: string][] = [
  ["user", `0x${"0".repeat(40)}ff`, ADDRESS],
  ["amount", `${2n ** 64n}`, "at most 64 bits"],
  ["externalTxHash", "0x11", "Expected a hash"],
];

/** Calls with invalid parameters, or for things that do not exist. */
const WRONG_CALLS: [method: string, params: unknown[], expected: Expected][] = [
  ["core_nothing", [], says("200 -32601", "core_nothing", "rpc.discover")],
  ["core_sendTransaction", [], invalid("transaction: ", "nothing", TRANSACTION)],
  ["core_sendTransaction", [{}], invalid("transaction.type", "nothing", TRANSACTION)],
  ...WRONG_DEPOSITS.map(([field, value, advice]): (typeof WRONG_CALLS)[number] => [
    "core_sendTransaction",
    [{ ...toWire(deposit(DEPOSIT)), [field]: value }],
    invalid(`transaction.${field}`, `"${value}"`, advice),
  ]),
  ["core_simulateTransaction", [5], invalid("transaction: ", "5", TRANSACTION)],
  ["core_settleThesis", ["x"], invalid("id: ", '"x"', "Expected a number")],
  ["core_settleThesis", [99], says("200 -32602 UNKNOWN_THESIS", "id 99", "core_getTheses")],
  ["core_getAccount", [], invalid("address: ", "nothing", ADDRESS)],
  ["core_getAccount", ["me"], invalid("address: ", '"me"', ADDRESS)],
  ["core_getAccount", [user, 1], invalid("Invalid params", "an array of 2", "Expected [address]")],
  ["core_getTransaction", ["0x"], invalid("hash: ", '"0x"', "Expected a hash")],
  ["core_getThesis", [0], invalid("id: ", "0", "Expected the id of a thesis")],
  [
    "core_getTheses",
    [{ status: "gone" }],
    invalid("filter.status", '"gone"', "one of open, needs"),
  ],
  ["core_getTheses", [{ limit: 5_000 }], invalid("filter.limit", "5000", "Expected at most 1000")],
  ["core_getTheses", [{ cursor: "x" }], invalid("filter.cursor", '"x"', "Expected the nextCursor")],
  ["core_getTheses", [{ usr: user }], invalid("filter", "Unknown key usr", "an object")],
  ["core_getTheses", [{ solver: 5 }], invalid("filter.solver", "5", ADDRESS)],
  ["core_getPrices", [1], invalid(...NO_PARAMETERS)],
  ["core_getLimits", [1], invalid(...NO_PARAMETERS)],
  ["core_getOracleStatus", [1], invalid(...NO_PARAMETERS)],
  ["core_getPriceHistory", [{}], invalid("query.base", "nothing", ADDRESS)],
  [
    "core_getPriceHistory",
    [{ base: user, quote: user, from: 1, to: 2 }],
    invalid("Invalid params", user, "core_getPrices lists the markets"),
  ],
  ["eth_getBlockByNumber", ["first"], invalid("block: ", '"first"', "a block number as hex")],
  ["eth_subscribe", ["x"], invalid("kind: ", '"x"', "Expected one of newHeads, theses")],
  ["eth_subscribe", ["theses", { usr: user }], invalid("filter", "Unknown key usr", "an object")],
  ["eth_subscribe", ["newHeads"], overHttp],
  ["eth_unsubscribe", ["0x1"], overHttp],
  ["core_faucet", ["me", "1"], invalid("address: ", '"me"', ADDRESS)],
  ["core_faucet", [user, "0"], invalid("amount: ", '"0"', "Expected an amount of at least 1")],
  ["core_snapshot", [1], invalid(...NO_PARAMETERS)],
  ["core_revert", ["x"], invalid("id: ", '"x"', "Expected a number")],
  ["core_revert", [9], says("200 -32602 UNKNOWN_SNAPSHOT", "id 9", "core_snapshot takes one")],
  ["core_advance", [{}], invalid("jump.ms", "nothing", "Expected a number")],
  ["core_advance", [{ ms: 0 }], invalid("jump.ms", "0", "Expected at least 1")],
  ["core_advance", [{ ms: 86_400_001 }], invalid("jump.ms", "86400001", "at most 86400000")],
  ["core_advance", [{ ms: 100, price: {} }], invalid("jump", "Unknown key price", "an object")],
  [
    "core_advance",
    [{ ms: 100, prices: { "ETH/USDT": "0" } }],
    invalid("jump.prices.ETH/USDT", '"0"', "Expected a price"),
  ],
  [
    "core_advance",
    [{ ms: 1, prices: { X: "1" } }],
    invalid("Invalid params", "symbol X", "there are BTC/USDT"),
  ],
  [
    "core_advance",
    [{ ms: 1, prices: { "ETH/USDT": 1 } }],
    invalid("jump.prices.ETH/USDT", "1", "Expected a decimal integer"),
  ],
];

/** Transactions that are no valid ones, and valid ones that the rules refuse. */
function wrongTransactions(now: number): [tx: Transaction, expected: Expected][] {
  const good = { timestamp: now, user, amount: 5n, externalTxHash: hashOf(2) };
  const bet = { timestamp: now };
  const rule = (code: string, names: string, advice: string) => says(`200 ${code}`, names, advice);
  const relayer = `expected ${actors.relayer.address}`;
  const stale = deposit({ ...good, timestamp: now - 70_000 });
  const past = { startTime: now - 9_000, endTime: now - 8_000 };
  const far = { startTime: now + 9e7, endTime: now + 9e7 + 1_000 };
  const broken = { lowerPrice: 1n, upperPrice: 2n, startTime: now - 200 };
  return [
    [{ ...deposit(good), amount: 6n }, rule("-32003 INVALID_SIGNATURE", "another key", relayer)],
    [
      { ...deposit(good), signature: "0x12" as Hex },
      rule("-32003 INVALID_SIGNATURE", "Signature has 1 byte:", "expected 65"),
    ],
    [stale, rule("-32003 TIMESTAMP_OUT_OF_RANGE", `${now - 70_000}`, "within 60 s of the node's")],
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
      rule("INVALID_PRICE_RANGE", "2850 is not below upper price 0.000001", "raise the upper one"),
    ],
    [
      rfqSubmit({ ...bet, ...past }),
      rule("INVALID_TIME_RANGE", `from ${past.startTime}`, "choose a later one"),
    ],
    [
      rfqSubmit({ ...bet, ...far }),
      rule("INVALID_TIME_RANGE", `from ${far.startTime}`, "choose an earlier one"),
    ],
    [rfqSubmit({ ...bet, deadline: 1 }), rule("QUOTE_EXPIRED", "at 1", "request a new quote")],
    [
      rfqSubmit({ ...bet, payout: 1_080_000n }),
      rule("INSUFFICIENT_BALANCE", user, "deposit more"),
    ],
    [
      rfqSubmit({ ...bet, solverSigner: actors.stranger }),
      rule("QUOTE_SIGNER_MISMATCH", "signature", "expected 0x"),
    ],
    [
      rfqSubmit({ ...bet, userSigner: actors.stranger }),
      rule("USER_SIGNATURE_INVALID", "signature", "expected 0x"),
    ],
    [
      rfqSubmit({ ...bet, ...broken }),
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

export async function refuseAtNode(refusals: Refusals): Promise<void> {
  const relayers = [actors.relayer.address, DEV_ACCOUNTS.relayer.address];
  await withSteppedNode(async ({ node, client, clock, stepped, oracle }) => {
    const { url, readUrl } = node;
    const ask = (body: unknown, expected: Expected, at = url) =>
      refusals.ask(at, { path: "", body, ...expected });
    for (const [method, params, expected] of WRONG_CALLS) {
      await ask(callOf(method, params), expected);
    }
    await requireAllAsked(url);
    for (const refused of wrongMessages(100)) await refusals.ask(url, refused);
    const calls = Array(101).fill(callOf("eth_chainId", []));
    await ask(calls, says("400 -32005", "100", "101", "send"));
    await ask("x".repeat(2 ** 20 + 1), says("413 -32005", "Body may have 1048576", "send"));
    await ask("[".repeat(5_000), says("400 -32005", "5000 values, nested 64 deep", "send"));
    const onWriteNode = says("200 -32601", "core_faucet", "send it to the write node");
    await ask(callOf("core_faucet", []), onWriteNode, readUrl);
    const simulate = (tx: Transaction, expected: Expected) =>
      ask(callOf("core_simulateTransaction", [toWire(tx)]), expected);
    const timestamp = clock.now();
    await client.sendTransaction(
      deposit({ timestamp, user, amount: 1n, externalTxHash: hashOf(1) }),
    );
    for (const [tx, expected] of wrongTransactions(timestamp)) await simulate(tx, expected);
    const more = { timestamp, user, amount: 10n ** 9n, externalTxHash: hashOf(3) };
    await client.sendTransaction(deposit(more));
    const bet = rfqSubmit({ timestamp });
    const { thesisId } = await client.sendTransaction(bet);
    await simulate(
      rfqSubmit({ timestamp: timestamp + 1, ...quoteOf(bet) }),
      says("200 QUOTE_ALREADY_USED", "Quote 0x", "request a new quote"),
    );
    const open = says("200 -32010 NotEnded", `Thesis ${thesisId}`, "the node settles it");
    await ask(callOf("core_settleThesis", [thesisId]), open);
    await refuseTooMuch(refusals, node);
    oracle.answer = () => new Response(null, { status: 500 });
    await stepped.run(40);
    await simulate(
      rfqSubmit({ timestamp: clock.now() }),
      says("200 ORACLE_STALE", "ETH/USDT", "until the oracle has a fresh one"),
    );
  }, { dev: true, relayers });
}

/** Calls of a batch: it divides the most subscriptions. */
const BATCH = 64;

/** Over the limits of a batch's answers and of one socket's subscriptions. */
async function refuseTooMuch(refusals: Refusals, node: RunningNode): Promise<void> {
  const body = JSON.stringify(Array.from({ length: 100 }, () => callOf("rpc.discover", [])));
  const answers = await (await fetch(node.url, { method: "POST", body })).json();
  const tooLong = says("200 -32005 BATCH_TOO_LONG", "Answers of the batch", "in another batch");
  refusals.check(answers.at(-1), tooLong, "rpc.discover");
  await using socket = await RpcSocket.open(node.wsUrl);
  const subscribe = callOf("eth_subscribe", ["newHeads"]);
  const batches = 4_096 / BATCH;
  for (let sent = 0; sent < batches; sent++) {
    socket.send(Array.from({ length: BATCH }, () => subscribe));
  }
  await eventually("all subscriptions", () => socket.messages.length === batches);
  const answer = await socket.call("eth_subscribe", ["newHeads"], 2);
  const full = says("200 -32005 TOO_MANY_SUBSCRIPTIONS", "4096 subscriptions", "end some first");
  refusals.check(answer, full, "newHeads");
}

function quoteOf({ startTime, endTime, deadline }: ReturnType<typeof rfqSubmit>) {
  return { startTime, endTime, deadline };
}
