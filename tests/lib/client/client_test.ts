import assert from "node:assert/strict";
import { z } from "zod";
import { privateKeyToAccount } from "viem/accounts";
import {
  type ClientOptions,
  hasPriceMoved,
  InputError,
  isOutcomeUnknown,
  isRangemakerError,
  NetworkError,
  NodeTimeoutError,
  QuoteError,
  RangemakerClient,
  RpcError,
  ServiceError,
  WalletError,
  WatchError,
} from "../../../lib/client/mod.ts";
import type { ErrorAnswer } from "../../../lib/http/error_answers.ts";
import { type Clock, systemClock } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { quoteMessage, quoteToWire, type UnsignedQuote } from "../../../lib/protocol/quote.ts";
import { recoverSigner } from "../../../lib/protocol/signature.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { toWire } from "../../../lib/json.ts";
import { SOLVER_ERRORS } from "../../../services/solver/error_answers.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeNetwork, type FakeSocket } from "../../support/fake_socket.ts";
import { thesisOf } from "../../solver/support.ts";
import {
  bet,
  CHAIN_ID,
  clock,
  offerOn,
  type Routes,
  solver,
  startServices,
  terms,
} from "./fake_services.ts";

const wallet = privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey);
const txHash = `0x${"ab".repeat(32)}` as const;
const offer = offerOn(CHAIN_ID);
const { quote: { base, quote }, quoteHash } = offer;

/** A client whose services answer as the routes do, on the same chain; they end with it. */
function clientOf(routes: Routes, options: Partial<ClientOptions> = {}) {
  const { urls, ...services } = startServices(routes);
  const client = new RangemakerClient({ urls, chainId: CHAIN_ID, wallet, clock, ...options });
  return Object.assign(client, services);
}

/** The next socket of a network, which grants the subscription of a watch. */
async function subscribed({ sockets }: FakeNetwork, count = 1): Promise<FakeSocket> {
  const socket = await eventually("a socket", () => sockets[count - 1]);
  socket.grant();
  return socket;
}

const quoteRoutes: Routes = {
  "/solver/quote": () => ({ success: true, quote: quoteToWire(offer.quote), quoteHash }),
  "/solver/health": () => ({ solver: solver.address }),
};

/** A solver that signs these terms, whatever it was asked for. */
function quoting(terms: UnsignedQuote): Routes {
  const quoteHash = hashQuote(terms, CHAIN_ID);
  const quote = quoteToWire({ ...terms, signature: solver.sign(quoteHash) });
  return { ...quoteRoutes, "/solver/quote": () => ({ success: true, quote, quoteHash }) };
}

function executionOf(result: Record<string, unknown>): Routes {
  return { "/solver/execute": () => ({ success: true, result: { txHash, ...result } }) };
}

Deno.test("quote: requests a quote of the bet and returns a checked offer", async () => {
  let asked: Record<string, unknown> = {};
  const routes: Routes = {
    ...quoteRoutes,
    "/solver/quote": (body) => (asked = body, quoteRoutes["/solver/quote"]?.(body)),
  };
  await using client = clientOf(routes);
  assert.deepEqual(await client.quote(bet), offer);
  const { solver: _, payout: __, ...expected } = quoteMessage(terms);
  const asText = (record: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(record).map(([field, value]) => [field, String(value)]));
  assert.deepEqual(asText(asked), asText(expected));
});

Deno.test("quote: returns the solver's probability if it has a model, in an offer that can be signed", async () => {
  const priced = {
    ...quoteRoutes,
    "/solver/quote": (body: Record<string, unknown>) => ({
      ...quoteRoutes["/solver/quote"]?.(body) as Record<string, unknown>,
      pricing: { probability: 0.4, spot: "1" },
    }),
  };
  const executed = executionOf({ status: "committed", thesisId: 7 });
  await using client = clientOf({ ...priced, ...executed });
  const quoted = await client.quote(bet);
  assert.deepEqual(quoted, { ...offer, probability: 0.4 });
  assert.equal((await client.execute(quoted, await client.sign(quoted))).thesisId, 7);
});

const CHANGES: Partial<UnsignedQuote>[] = [
  { user: DEV_ACCOUNTS.relayer.address },
  { base: terms.quote },
  { quote: terms.base },
  { lowerPrice: terms.lowerPrice + 1n },
  { upperPrice: terms.upperPrice + 1n },
  { betAmount: terms.betAmount + 1n },
  { startTime: terms.startTime - 1 },
  { endTime: terms.endTime + 1 },
  { deadline: terms.deadline + 1 },
];

for (const change of CHANGES) {
  const [field] = Object.keys(change);
  Deno.test(`quote: a quote with another ${field} is refused, though the solver signed it`, async () => {
    await using client = clientOf(quoting({ ...terms, ...change }));
    await assert.rejects(client.quote(bet), (thrown) => {
      return thrown instanceof QuoteError && thrown.code === "QUOTE_TERMS_MISMATCH" &&
        thrown.details.field === field;
    });
  });
}

Deno.test("quote: the addresses of the client's markets may be in any case", async () => {
  const own = { ...terms, base: solver.address };
  const market = { symbol: bet.symbol, base: solver.address.toLowerCase() as Address, quote };
  await using client = clientOf(quoting(own), { markets: [market] });
  assert.equal((await client.quote(bet)).quoteHash, hashQuote(own, CHAIN_ID));
});

Deno.test("execute: sends the user's signature of the quote hash, and returns the thesis", async () => {
  let sent: Record<string, unknown> = {};
  const result = { txHash, status: "committed", thesisId: 7 };
  const routes: Routes = { "/solver/execute": (body) => (sent = body, { success: true, result }) };
  await using client = clientOf(routes);
  assert.deepEqual(await client.execute(offer), { thesisId: 7, txHash });
  assert.deepEqual(sent.quote, quoteToWire(offer.quote));
  const signature = await client.sign(offer);
  assert.equal(sent.userSignature, signature);
  assert.equal(recoverSigner(quoteHash, signature), wallet.address);
});

Deno.test("execute: a failed transaction throws with the chain's code, details and hash", async () => {
  const details = { symbol: "ETH/USDT" };
  const error = { code: "ORACLE_STALE", message: "The price is 4000 ms old", details };
  await using client = clientOf(executionOf({ status: "failed", error }));
  await assert.rejects(client.execute(offer), {
    name: "ExecutionError",
    code: "ORACLE_STALE",
    details: { ...details, txHash },
    retry: "new_quote",
    message: /The price is 4000 ms old$/,
  });
});

Deno.test("execute: a code that only another node has fails the bet for good", async () => {
  const error = { code: "constructor", message: "No bets today" };
  await using client = clientOf(executionOf({ status: "failed", error }));
  const expected = { name: "ExecutionError", code: "constructor", retry: "never" };
  await assert.rejects(client.execute(offer), expected);
});

Deno.test("execute: a failed bet without a reason throws TRANSACTION_FAILED", async () => {
  await using client = clientOf(executionOf({ status: "failed", thesisId: 7 }));
  await assert.rejects(client.execute(offer), { code: "TRANSACTION_FAILED" });
});

Deno.test("execute: a committed bet whose answer has no thesis id gets it from the receipt of its transaction", async () => {
  let receipt: Record<string, unknown> | null = null;
  const asked: unknown[] = [];
  const routes = {
    ...executionOf({ status: "committed" }),
    core_getTransaction: ({ params }: Record<string, unknown>) => (asked.push(params), receipt),
  };
  await using client = clientOf(routes);
  for (const unknown of [null, { txHash, blockNumber: 3, status: "committed" }]) {
    receipt = unknown;
    await assert.rejects(client.execute(offer), { code: "INVALID_ANSWER", retry: "same" });
  }
  receipt = { txHash, blockNumber: 3, status: "committed", thesisId: 9 };
  assert.deepEqual(await client.execute(offer), { thesisId: 9, txHash });
  assert.deepEqual(asked.at(-1), [txHash]);
});

Deno.test("execute: a committed bet whose thesis cannot be read counts as perhaps placed, not as refused", async () => {
  const answers = [() => "not a receipt", () => assert.fail("the node is away")];
  for (const core_getTransaction of answers) {
    const routes = { ...executionOf({ status: "committed" }), core_getTransaction };
    await using client = clientOf(routes);
    await assert.rejects(client.execute(offer), (thrown) => {
      assert(isRangemakerError(thrown, "INVALID_ANSWER"));
      return isOutcomeUnknown(thrown) && thrown.cause !== undefined;
    });
  }
});

Deno.test("estimate: returns the payout, with the solver's probability if it has a model", async () => {
  const estimate = { betAmount: "5", payout: "9", multiplier: "1.8000", solverCollateral: "4" };
  const read = { betAmount: 5n, payout: 9n, multiplier: "1.8000", solverCollateral: 4n };
  for (const pricing of [undefined, { probability: 0.4, spot: "1" }]) {
    const routes = { "/solver/estimate": () => ({ success: true, estimate, pricing }) };
    await using client = clientOf(routes);
    const expected = { ...read, probability: pricing?.probability };
    assert.deepEqual(await client.estimate(bet), expected);
  }
});

Deno.test("estimate, solverInfo: an aborted signal's reason is thrown, and nothing is sent", async () => {
  const sent = () => assert.fail("sent");
  await using client = clientOf({ "/solver/estimate": sent, "/solver/info": sent });
  const unwanted = AbortSignal.abort();
  const isReason = (thrown: unknown) => thrown === unwanted.reason;
  await assert.rejects(client.estimate(bet, unwanted), isReason);
  await assert.rejects(client.solverInfo(unwanted), isReason);
});

Deno.test("settled: returns the outcome of a thesis of the wallet's account, then stops watching", async () => {
  const network = new FakeNetwork();
  const asked: unknown[] = [];
  let reads = 0;
  const theses = [thesisOf(7), thesisOf(8, { status: "won" })].map(toWire);
  const routes: Routes = {
    core_getTheses: ({ params }) => (asked.push(params), { theses, nextCursor: null }),
    // The node that answers has it a moment later.
    core_getThesis: () => (reads += 1) < 3 ? null : toWire(thesisOf(7, { user: wallet.address })),
  };
  await using client = clientOf(routes, { connect: network.connect, clock: systemClock });
  const settled = client.settled(7, 60_000);
  const socket = await subscribed(network);
  await eventually("the theses are read", () => asked.length > 0);
  for (const status of ["needs_backfill", "lost"] as const) {
    socket.notify(thesisOf(7, { status }));
  }
  assert.equal((await settled).status, "lost");
  assert(socket.closed);
  for (const [index, party] of [undefined, { solver: solver.address }].entries()) {
    const watched = client.watch({}, party);
    await subscribed(network, 2 + index);
    (await watched).close();
  }
  const party = z.object({ user: z.string().optional(), solver: z.string().optional() });
  const parties = asked.map((params) => z.tuple([party]).parse(params));
  const own = { user: wallet.address };
  assert.deepEqual(parties.flat(), [own, own, { solver: solver.address }]);
});

Deno.test("settled: follows a thesis of another user, and returns a known outcome at once", async () => {
  const network = new FakeNetwork();
  const open = thesisOf(7, { user: solver.address });
  const asked: unknown[] = [];
  const routes: Routes = {
    core_getThesis: ({ params }) => {
      return toWire(String(params) === "7" ? open : { ...open, id: 8, status: "won" });
    },
    core_getTheses({ params }) {
      asked.push(params);
      return { theses: [toWire({ ...open, status: "lost" })], nextCursor: null };
    },
  };
  await using client = clientOf(routes, { connect: network.connect, wallet: undefined });
  assert.equal((await client.settled(8, 60_000)).status, "won");
  const settled = client.settled(7, 60_000);
  await subscribed(network);
  assert.equal((await settled).status, "lost");
  assert.match(JSON.stringify(asked), new RegExp(solver.address));
});

Deno.test("settled: another bet under the same id, of a chain that was restored meanwhile, is not its outcome", async () => {
  const network = new FakeNetwork();
  const open = thesisOf(7);
  const other = toWire(thesisOf(7, { status: "won", quoteHash: txHash }));
  let reads = 0;
  const routes: Routes = {
    core_getThesis: () => toWire(open),
    core_getTheses: () => (reads += 1, { theses: [other], nextCursor: null }),
  };
  await using client = clientOf(routes, { connect: network.connect, clock: systemClock });
  const settled = client.settled(7, 60_000);
  const socket = await subscribed(network);
  await eventually("the theses are read", () => reads > 0);
  socket.notify(thesisOf(7, { status: "lost" }));
  assert.equal((await settled).status, "lost");
});

Deno.test("settled: a thesis that does not appear within its timeout throws UNKNOWN_THESIS, however slow the answers", async () => {
  const clock = new FakeClock();
  let reads = 0;
  const routes: Routes = {
    core_getThesis() {
      reads += 1;
      clock.advance(60);
      return null;
    },
  };
  await using client = clientOf(routes, { clock });
  for (const [timeoutMs, count] of [[0, 1], [150, 2], [1_000, 7]] as const) {
    reads = 0;
    const settled = assert.rejects(client.settled(7, timeoutMs), {
      code: "UNKNOWN_THESIS",
      message: "The chain has no thesis 7",
      details: { thesisId: 7 },
      retry: "never",
    });
    for (let read = 1; read < count; read++) {
      await eventually("it waits", () => reads === read && clock.pending === 2);
      clock.advance(100);
    }
    await settled;
    assert.equal(reads, count);
  }
});

Deno.test("settled: after its timeout, the error says the status of the thesis", async () => {
  const network = new FakeNetwork();
  const time = new FakeClock();
  const delays: number[] = [];
  const clock: Clock = {
    now: () => time.now(),
    after: (delayMs, task) => (delays.push(delayMs), time.after(delayMs, task)),
  };
  const timeoutMs = 12_000; // longer than it may take to connect
  const open = toWire(thesisOf(7));
  const routes: Routes = {
    core_getThesis: () => open,
    core_getTheses: () => ({ theses: [open], nextCursor: null }),
  };
  await using client = clientOf(routes, { connect: network.connect, clock });
  const ended = assert.rejects(client.settled(7, timeoutMs), {
    code: "WATCH_TIMEOUT",
    message: "Thesis 7 is needs_backfill after 12000 ms: it waits until its missing prices are " +
      "filled in",
    details: { timeoutMs, thesisId: 7, status: "needs_backfill" },
    retry: "later",
  });
  const socket = await subscribed(network);
  await eventually("it waits for the outcome", () => delays.includes(timeoutMs));
  socket.notify(thesisOf(7, { status: "needs_backfill" }));
  time.advance(timeoutMs);
  await ended;
});

Deno.test("settled: without a connection it fails after its own timeout", async () => {
  const network = new FakeNetwork();
  const open = toWire(thesisOf(7, { user: wallet.address }));
  await using client = clientOf({ core_getThesis: () => open }, {
    connect: network.connect,
    clock: systemClock,
  });
  const timeoutMs = 50;
  const error = { code: "NOT_CONNECTED", details: { timeoutMs } };
  await assert.rejects(client.settled(7, timeoutMs), error);
});

Deno.test("watch, watchPrices: without a global WebSocket the option connect is required", async () => {
  const { WebSocket } = globalThis;
  Reflect.deleteProperty(globalThis, "WebSocket");
  try {
    await using client = clientOf({});
    await assert.rejects(client.watch(), { code: "NO_WEBSOCKET" });
    assert.throws(() => client.watchPrices({ onPrices() {} }), { code: "NO_WEBSOCKET" });
    const { connect } = new FakeNetwork();
    await using connecting = clientOf({}, { connect });
    connecting.watchPrices({ onPrices() {} }).close();
  } finally {
    Object.assign(globalThis, { WebSocket });
  }
});

Deno.test("clock: an object with now() is enough, also one with parts of milliseconds", async () => {
  const sent: Record<string, unknown>[] = [];
  const routes: Routes = {
    "/bridge/deposit": (body) => (sent.push(body), { success: true, txHash }),
  };
  const clock = { now: () => 5_000.7 }; // such as performance.timeOrigin + performance.now()
  await using client = clientOf(routes, { clock });
  await client.deposit(1n);
  assert.equal(sent[0]?.deadline, 65_000);
});

Deno.test("prices, watchPrices: report the prices of the deployment's markets, once or on every change", async () => {
  const entry = { base, quote, decimals: 6, lastUpdate: 900, ageMs: 100, state: "fresh" };
  const prices = { "ETH/EUR": { ...entry, price: "7" } };
  const network = new FakeNetwork();
  const market = { symbol: "ETH/EUR", base, quote };
  await using client = clientOf({ core_getPrices: () => prices }, {
    connect: network.connect,
    markets: [market],
  });
  assert.equal((await client.prices())["ETH/EUR"]?.price, 7n);
  const received: unknown[] = [];
  const watch = client.watchPrices({ onPrices: (prices) => received.push(prices) });
  network.newest.grant();
  assert.equal(watch.state, "live");
  network.newest.notify(prices);
  assert.deepEqual(received, [{ "ETH/EUR": { ...entry, price: 7n } }]);
  network.newest.end(); // without a listener for it
  assert.equal(watch.state, "connecting");
  watch.close();
  assert.equal(watch.state, "closed");
  await assert.rejects(client.history("ETH/USDT", 1, 2), InputError);
});

Deno.test("watchPrices: a connection without prices for 4 s is closed, and reopened within 5 s", async () => {
  const network = new FakeNetwork();
  const clock = new FakeClock();
  const states: string[] = [];
  await using client = clientOf({}, { connect: network.connect, clock });
  const watch = client.watchPrices({
    onPrices() {},
    onState: (state, reason = "") => states.push(`${state} ${reason}`),
  });
  network.newest.grant();
  assert.deepEqual(JSON.parse(network.newest.sent[0] ?? "{}").params, ["prices"]);
  clock.advance(4_100);
  assert.equal(watch.state, "connecting");
  clock.advance(900);
  assert.equal(network.sockets.length, 2);
  network.newest.grant();
  assert.deepEqual(states, ["live ", "connecting silent for 4000 ms", "live "]);
  watch.close();
});

Deno.test("deposit: the same nonce sends the same request again", async () => {
  const sent: unknown[] = [];
  const routes: Routes = {
    "/bridge/deposit": (body) => (sent.push(body), { success: true, txHash }),
  };
  await using client = clientOf(routes);
  for (const nonce of [5n, 5n]) assert.equal(await client.deposit(2n ** 63n, nonce), txHash);
  await client.deposit(1n);
  await client.deposit(1n);
  const [first, again, ...random] = sent as { nonce: string; amount: string; deadline: number }[]; // bodies as sent
  assert.deepEqual(first, again);
  const { amount, nonce, deadline } = first ?? assert.fail();
  assert.deepEqual([amount, nonce, deadline], [`${2n ** 63n}`, "5", clock.now() + 60_000]);
  assert.equal(new Set(random.map(({ nonce }) => nonce)).size, 2);
  for (const { nonce } of random) assert(BigInt(nonce) > 2n ** 64n, `${nonce} is one of few`);
});

Deno.test("history: joins all pages of a market, and missing spans that touch", async () => {
  const routes = {
    core_getPriceHistory({ params }: Record<string, unknown>) {
      const [{ cursor }] = params as [{ cursor?: string }]; // what the client sends
      return cursor === undefined
        ? {
          prices: [{ time: 100, price: "1" }],
          missing: [{ from: 200, to: 300 }],
          nextCursor: "3",
        }
        : {
          prices: [{ time: 400, price: "2" }],
          missing: [{ from: 300, to: 400 }, { from: 500, to: 600 }],
          nextCursor: null,
        };
    },
  };
  await using client = clientOf(routes);
  assert.deepEqual(await client.history("ETH/USDT", 100, 600), {
    prices: [{ time: 100, price: 1n }, { time: 400, price: 2n }],
    missing: [{ from: 200, to: 400 }, { from: 500, to: 600 }],
  });
});

Deno.test("theses: passes its filter to every page, and starts at a given cursor", async () => {
  const asked: unknown[] = [];
  const routes = {
    core_getTheses({ params }: Record<string, unknown>) {
      const [query] = params as [{ cursor?: string }]; // what the client sends
      asked.push(query);
      return { theses: [], nextCursor: query.cursor === "7" ? null : "7" };
    },
    core_getThesis: () => null,
  };
  await using client = clientOf(routes);
  const cursors = await Array.fromAsync(
    client.theses({ status: "open", limit: 5, cursor: "3" }),
    ({ nextCursor }) => nextCursor,
  );
  assert.deepEqual(cursors, ["7", null]);
  const filter = { status: "open", limit: 5 };
  assert.deepEqual(asked, [{ ...filter, cursor: "3" }, { ...filter, cursor: "7" }]);
  await client.theses().next();
  assert.deepEqual(asked.at(-1), {});
  assert.equal(await client.thesis(9), null);
});

Deno.test("genesisHash, solverInfo: return the chain's genesis hash and the solver's settings", async () => {
  const config = {
    basePayoutMultiplier: 1.5,
    maxPayoutRatio: 10,
    minDuration: 1_000,
    maxDuration: 2_000,
    minBetAmount: "1",
    maxBetAmount: "9",
  };
  const account = { address: solver.address, balance: "5", balanceTime: null };
  const info = { ...account, dryRun: false, pricing: "mock", config };
  const routes = { eth_getBlockByNumber: () => ({ hash: txHash }), "/solver/info": () => info };
  await using client = clientOf(routes);
  assert.equal(await client.genesisHash(), txHash);
  const { balance, config: { maxBetAmount } } = await client.solverInfo();
  assert.deepEqual([balance, maxBetAmount], [5n, 9n]);
  // The fields of the specification alone.
  const ofSpec = { address: solver.address, balance: "5", dryRun: false, config };
  await using plain = clientOf({ "/solver/info": () => ofSpec });
  assert.equal((await plain.solverInfo()).balance, 5n);
});

Deno.test("A client without a wallet can read, and refuses to sign with WALLET_REQUIRED", async () => {
  const account = { address: wallet.address, balance: "5", locked: "0", permissions: [] };
  await using client = clientOf({ core_getAccount: () => account }, { wallet: undefined });
  assert.equal((await client.account(wallet.address)).balance, 5n);
  const calls = [() => client.account(), () => client.quote(bet), () => client.deposit(1n)];
  for (const call of [...calls, () => client.sign(offer)]) {
    await assert.rejects(call, { code: "WALLET_REQUIRED" });
  }
});

Deno.test("switchChain: describes the node's chain to a wallet that does not know it", async () => {
  const asked: unknown[] = [];
  const provider = {
    request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
      asked.push([method, params]);
      const unknownChain = Object.assign(new Error("unknown"), { code: 4902 });
      return method === "wallet_switchEthereumChain"
        ? Promise.reject(unknownChain)
        : Promise.resolve(`0x${CHAIN_ID.toString(16)}`);
    },
  };
  await using client = clientOf({}, { wallet: provider });
  await client.switchChain({ chainName: "My test chain" });
  const [, [method, [chain]]] = asked as [unknown, [string, [Record<string, unknown>]]]; // as sent
  assert.equal(method, "wallet_addEthereumChain");
  assert.deepEqual([chain.chainId, chain.chainName], ["0x539", "My test chain"]);
  assert.deepEqual(chain.nativeCurrency, { name: "Ether", symbol: "ETH", decimals: 18 });
  assert.match(String(chain.rpcUrls), /^http:\/\/127\.0\.0\.1:\d+\/rpc$/);
});

Deno.test("watch: a watch that could not open does not reconnect", async () => {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const url = "http://127.0.0.1:2";
  const client = new RangemakerClient({
    urls: { solver: url, bridge: url, proxy: url, proxyWs: "ws://127.0.0.1:2" },
    chainId: CHAIN_ID,
    wallet,
    clock,
    connect: network.connect,
  });
  const watched = assert.rejects(client.watch(), { code: "NOT_CONNECTED" });
  while (clock.pending === 0) await Promise.resolve();
  network.newest.fail("refused");
  clock.advance(10_000);
  await watched;
  const { length } = network.sockets;
  clock.advance(60_000);
  assert.deepEqual([network.sockets.length, clock.pending], [length, 0]);
});

Deno.test("isRangemakerError: recognises errors by their shape, also from another copy of the package", () => {
  const own = new RangemakerError("X", "x");
  const copied = Object.assign(new Error("x"), { code: "X", retry: "never", details: {} });
  for (const error of [own, copied, new ServiceError("X", "x", { status: 400 })]) {
    assert(isRangemakerError(error) && isRangemakerError(error, "X"));
    assert(!isRangemakerError(error, "Y"));
  }
  assert(isRangemakerError(new RpcError(-32603, "x"), "RPC_-32603"));
  const { retry, details } = own;
  const others = [
    { code: "X", retry, details },
    ...[{}, { code: "X" }, { code: "X", retry }, { code: "X", details }, {
      code: 4001,
      retry,
      details,
    }].map((fields) => Object.assign(new Error("x"), fields)),
  ];
  for (const other of others) assert(!isRangemakerError(other));
  const codes = ["NO_WEBSOCKET", "NOT_CONNECTED", "WATCH_TIMEOUT", "WATCH_CLOSED"] as const;
  const retries = codes.map((code) => new WatchError(code, "x").retry);
  assert.deepEqual(retries, ["never", "later", "later", "never"]);
});

Deno.test("hasPriceMoved and isOutcomeUnknown: follow the service's answer, or without one its status", () => {
  const kindOf = (error: unknown) =>
    hasPriceMoved(error) ? "moved" : isOutcomeUnknown(error) ? "unknown" : "refused";
  for (const { status, retry } of Object.values<ErrorAnswer>(SOLVER_ERRORS)) {
    const isMoved = retry === "new_quote";
    const known = status === 504 ? "unknown" : "refused";
    assert.equal(kindOf(new ServiceError("X", "x", { status, retry })), isMoved ? "moved" : known);
    assert.equal(kindOf(new ServiceError("X", "x", { status })), known);
  }
  for (const code of ["SERVICE_UNREACHABLE", "SERVICE_TIMEOUT"]) {
    assert.equal(kindOf(new NetworkError(code, "x")), "unknown");
  }
  assert.equal(kindOf(new NodeTimeoutError("http://node", "x", 5)), "refused");
  assert.equal(kindOf(new ServiceError("INTERNAL_ERROR", "x", { status: 500 })), "unknown");
  assert.equal(kindOf(new Error("x")), "unknown");
  assert.equal(kindOf(new WalletError("USER_REJECTED", "x")), "refused");
});
