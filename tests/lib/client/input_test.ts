/** What callers pass wrongly, as plain JavaScript may: refused before anything is signed or sent. */
import assert from "node:assert/strict";
import { privateKeyToAccount } from "viem/accounts";
import { InputError, MARKETS, NetworkError, RangemakerClient } from "../../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { bet, clock } from "./fake_services.ts";

const url = "http://127.0.0.1:1";
const urls = { solver: url, bridge: url, proxy: url, proxyWs: url };
const now = clock.now();

/** A value as plain JavaScript passes it, without a type. */
const untyped = <T>(value: unknown) => value as T; // the point of these tests

const amount = /: Expected a bigint with 6 decimals \(1000000n is 1\) from \d to 2\^64 - 1/;
const address = /: Expected an address: 0x and 40 hex digits: received "me"$/;
const time = /: Expected Unix milliseconds as a whole number: received /;

type Call = (client: RangemakerClient) => Promise<unknown>;
const withBet = (change: Record<string, unknown>): Call[] => [
  (client) => client.quote({ ...bet, ...change }),
  (client) => client.estimate({ ...bet, ...change }),
];

const WRONG: [field: string, message: RegExp, calls: Call[]][] = [
  ["amount", /received -1n$/, [(client) => client.deposit(-1n)]],
  ["amount", amount, [
    (client) => client.deposit(0n),
    (client) => client.deposit(2n ** 64n),
    (client) => client.deposit(untyped(5)),
    (client) => client.deposit(untyped(undefined)),
  ]],
  ["nonce", /from 0 to 2\^256 - 1: received the number 1$/, [
    (client) => client.deposit(1n, untyped(1)),
  ]],
  ["nonce", /received -1n$/, [(client) => client.deposit(1n, -1n)]],
  ["nonce", /from 0 to/, [(client) => client.deposit(1n, 2n ** 256n)]],
  ["bet", /symbol, prices, amount and times: received nothing$/, [
    (client) => client.quote(untyped(undefined)),
  ]],
  ["symbol", /^No market undefined: expected one of BTC\/USDT/, withBet({ symbol: undefined })],
  ["symbol", /^No market DOGE\/USDT: .*ETH\/USDT/, withBet({ symbol: "DOGE/USDT" })],
  ["lowerPrice", /received the number 1$/, withBet({ lowerPrice: 1 })],
  ["lowerPrice", amount, withBet({ lowerPrice: -1n })],
  ["upperPrice", /received "3100"$/, withBet({ upperPrice: "3100" })],
  ["betAmount", amount, withBet({ betAmount: 2n ** 64n })],
  ["startTime", time, withBet({ startTime: new Date() })],
  ["endTime", time, withBet({ endTime: now + 0.5 })],
  ["deadline", time, withBet({ deadline: -1 })],
  ["from", time, [(client) => client.history("ETH/USDT", untyped(1n), now)]],
  ["to", time, [(client) => client.history("ETH/USDT", now, untyped("now"))]],
  ["from", /^from: Expected a time up to `to`, \d+: received the number \d+$/, [
    (client) => client.history("ETH/USDT", now + 1, now),
  ]],
  ["id", /a number from 1 on: received 1n$/, [(client) => client.thesis(untyped(1n))]],
  ["id", /a number from 1 on: received the number 0$/, [(client) => client.thesis(0)]],
  ["thesisId", /a number from 1 on: received nothing$/, [
    (client) => client.settled(untyped(undefined), 1_000),
  ]],
  ["timeoutMs", /: Expected milliseconds from 0 to 2147483647: received the number Infinity$/, [
    (client) => client.settled(7, Infinity),
  ]],
  ["timeoutMs", /: Expected milliseconds from 0 to 2147483647: received /, [
    (client) => client.settled(7, 2 ** 31),
    (client) => client.settled(7, Number.NaN),
    (client) => client.settled(7, untyped(undefined)),
  ]],
  ["offer", /^offer: Expected the result of quote or offerFromJson: received an object$/, [
    (client) => client.execute(untyped(Promise.resolve())),
    (client) => client.execute(untyped({ quote: { betAmount: "1000000" } }), "0x12"),
    (client) => client.sign(untyped({ quote: url, betAmount: 1n })),
    (client) => client.sign(untyped({ quote: {} })),
    (client) => client.sign(untyped({})),
  ]],
  ["offer", /: received nothing$/, [(client) => client.sign(untyped(undefined))]],
  ["offer", /: received null$/, [(client) => client.sign(untyped(null))]],
  ["address", address, [(client) => client.account(untyped("me"))]],
  ["user", address, [
    (client) => client.watch({}, untyped("me")),
    (client) => client.theses({ user: untyped("me") }).next(),
  ]],
  ["solver", address, [
    (client) => client.watch({}, { solver: untyped("me") }),
    (client) => client.theses({ solver: untyped("me") }).next(),
  ]],
  ["solver", /: Expected an address: 0x and 40 hex digits: received nothing$/, [
    (client) => client.watch({}, untyped({})),
    (client) => client.watch({}, untyped(null)),
  ]],
  ["status", /^status: Expected one of open, .*: received "x"$/, [
    (client) => client.theses({ status: untyped("x") }).next(),
  ]],
  ["limit", /^limit: Expected /, [
    (client) => client.theses({ limit: 0 }).next(),
    (client) => client.theses({ limit: 99_999 }).next(),
    (client) => client.theses({ limit: untyped("5") }).next(),
  ]],
  ["cursor", /^cursor: Expected the nextCursor of an answer: received "zz"$/, [
    (client) => client.theses({ cursor: "zz" }).next(),
  ]],
  ["usr", /^Unknown key usr: /, [(client) => client.theses(untyped({ usr: "me" })).next()]],
  ["filter", /received null$/, [(client) => client.theses(untyped(null)).next()]],
];

Deno.test("Client: wrong arguments are refused by name, before anything is signed or sent", async () => {
  let asked = 0;
  const wallet = {
    ...privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey),
    signTypedData: () => (asked += 1, Promise.reject(new Error("Not asked"))),
  };
  const client = new RangemakerClient({ urls, chainId: 1337, wallet });
  for (const [field, message, calls] of WRONG) {
    for (const call of calls) {
      const attempt = async () => void await call(client);
      await assert.rejects(attempt, (thrown) => {
        assert(thrown instanceof InputError, String(thrown));
        assert.equal(thrown.details.field, field);
        assert.equal(thrown.code, field === "symbol" ? "UNSUPPORTED_PAIR" : "INVALID_INPUT");
        assert.match(thrown.message, message);
        return thrown.retry === "never";
      });
    }
  }
  assert.equal(asked, 0);
});

Deno.test("Client: smallest and largest values are accepted, and addresses in any case", async () => {
  const wallet = privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey);
  const client = new RangemakerClient({ urls, chainId: 1337, wallet });
  const least = { lowerPrice: 0n, upperPrice: 0n, betAmount: 0n, startTime: 0, endTime: 0 };
  const user = untyped<`0x${string}`>(wallet.address.toLowerCase());
  const quote = { ...bet, ...least, solver: user };
  const calls: Call[] = [
    (client) => client.deposit(1n, 0n),
    (client) => client.deposit(2n ** 64n - 1n, 2n ** 256n - 1n),
    ...withBet({ ...least, deadline: 0 }),
    (client) => client.thesis(1),
    (client) => client.account(user),
    (client) => client.execute(untyped({ quote }), "0x12"),
  ];
  for (const call of calls) await assert.rejects(() => call(client), NetworkError);
});

Deno.test("Client: the error of a missing or wrong option names it", () => {
  const { proxy: _, ...withoutProxy } = urls;
  const httpUrl = "Expected a URL that begins with http:// or https://";
  const wsUrl = "Expected a URL that begins with ws:// or wss://";
  const cases: [options: unknown, message: string | RegExp][] = [
    [undefined, "options: Expected an object with urls and chainId: received nothing"],
    [{}, "urls: Expected an object with solver, bridge, proxy, proxyWs: received nothing"],
    [{ urls: {} }, `urls.solver: ${httpUrl}: received nothing`],
    [{ urls: withoutProxy }, `urls.proxy: ${httpUrl}: received nothing`],
    [{ urls: { ...urls, proxyWs: 5 } }, `urls.proxyWs: ${wsUrl}: received the number 5`],
    [
      { urls: { ...urls, solver: "localhost:3000" } },
      `urls.solver: ${httpUrl}: received "localhost:3000"`,
    ],
    [{ urls: { ...urls, bridge: "/bridge" } }, `urls.bridge: ${httpUrl}: received "/bridge"`],
    [{ urls: { ...urls, proxy: "ws://a.b" } }, `urls.proxy: ${httpUrl}: received "ws://a.b"`],
    [{ urls: { ...urls, proxyWs: "a.b/ws" } }, `urls.proxyWs: ${wsUrl}: received "a.b/ws"`],
    ...[undefined, 0, -1, 1.5, "1337", 1337n].map((chainId): [unknown, RegExp] => {
      return [
        { urls, chainId },
        /^chainId: Expected the id of the chain to sign for, such as 1337: /,
      ];
    }),
    [{ urls, chainId: 1337, solver: "me" }, address],
    ...[null, {}].map((clock): [unknown, RegExp] => {
      const message = /^clock: Expected an object with now\(\): Unix milliseconds/;
      return [{ urls, chainId: 1337, clock }, message];
    }),
    ...[null, [], [{ symbol: "ETH/USDT" }], [MARKETS[0], MARKETS[0]]].map((markets) => {
      const message =
        /^markets: Expected one market or more, each with symbol, base and quote, and none/;
      return [{ urls, chainId: 1337, markets }, message] satisfies [unknown, RegExp];
    }),
  ];
  for (const [options, message] of cases) {
    const make = () => new RangemakerClient(untyped(options));
    assert.throws(make, { name: "InputError", message });
  }
});

Deno.test("Client: a private key as text is refused as a wallet, and is not shown", () => {
  const wallet = untyped<undefined>(DEV_ACCOUNTS.admin.privateKey);
  assert.throws(() => new RangemakerClient({ urls, chainId: 1337, wallet }), {
    name: "WalletError",
    message: /^Not a wallet: expected a viem account [^x]*$/,
  });
});
