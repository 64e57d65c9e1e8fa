import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { keccak256, toHex } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Clock, ShiftedClock } from "../clock.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import { toWire, tryParseJson } from "../json.ts";
import { CoreReader } from "../net/core_reader.ts";
import { NetworkError } from "../net/http_request.ts";
import { SLOT_MS } from "../protocol/constants.ts";
import { failureSchema } from "../protocol/answers.ts";
import { RpcCode, RpcError } from "../protocol/jsonrpc.ts";
import { SPEC_MARKETS } from "../protocol/markets.ts";
import { developmentMethods } from "../protocol/methods/development.ts";
import { type Address, addressSchema, type Hex } from "../protocol/scalars.ts";
import { describeInput } from "../protocol/describe_input.ts";
import { type Child, realClock, startChild } from "./child.ts";

/** Prices by symbol, with 6 decimals. */
export type SymbolPrices = Readonly<Record<string, bigint>>;

/** The methods of development chains (docs/protocol.md, "Development methods of the node"). */
class DevNode extends CoreReader {
  async faucet(address: Address, amount: bigint): Promise<void> {
    const params = { address, amount: amount.toString() };
    const { error } = await this.call(developmentMethods, "core_faucet", params);
    if (error !== undefined) throw new RangemakerError(error.code, error.message);
  }

  snapshot(): Promise<number> {
    return this.call(developmentMethods, "core_snapshot", {});
  }

  /** @returns The time of the chain. */
  async revert(id: number): Promise<number> {
    return (await this.call(developmentMethods, "core_revert", { id })).now;
  }

  /** @returns The time of the chain. */
  async advance(ms: number, prices: SymbolPrices): Promise<number> {
    const params = { jump: { ms, prices: toWire(prices) } };
    return (await this.call(developmentMethods, "core_advance", params)).now;
  }

  protected override async ask<S extends z.core.$ZodType>(
    ...request: [method: string, params: unknown[], schema: S]
  ): Promise<z.output<S>> {
    try {
      return await super.ask(...request);
    } catch (thrown) {
      const isInput = thrown instanceof RpcError && thrown.rpcCode === RpcCode.invalidParams;
      throw isInput ? new RangemakerError("INVALID_INPUT", thrown.message) : thrown;
    }
  }
}

/** Options of a new chain. */
export interface ChainOptions {
  /** How many funded wallets it has: 3 by default. */
  wallets?: number;
  /** Balance of each wallet, USDC with 6 decimals: 10,000 USDC by default. */
  balance?: bigint;
  /** Ends the chain, also while it starts. */
  signal?: AbortSignal;
}

const amountSchema = z.bigint({
  error: "Expected a bigint with 6 decimals, such as 3_000_000_000n",
});

const optionsSchema = z.strictObject({
  wallets: z.int().min(0).default(3),
  balance: amountSchema.default(10_000_000_000n),
  signal: z.custom<AbortSignal>().optional(),
});

const symbolSchema = z.enum(SPEC_MARKETS.symbols);

const pricesSchema = z.record(z.string(), amountSchema);

/** @throws {RangemakerError} `INVALID_INPUT`, with the rule and the value. */
function parse<S extends z.core.$ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  throw new RangemakerError("INVALID_INPUT", describeInput(parsed.error, value));
}

const urlsSchema = z.object({
  solver: z.url(),
  bridge: z.url(),
  proxy: z.url(),
  proxyWs: z.url(),
  oracle: z.url(),
  node: z.url(),
  nodeRead: z.url(),
  exchanges: z.url(),
});

/** The URLs of the services; the client needs the first four. */
export type ChainUrls = z.output<typeof urlsSchema>;

const startedSchema = z.object({
  urls: urlsSchema,
  chainId: z.number(),
  solver: addressSchema,
});

/** Timeout of a call: on a busy machine, a move by 24 hours takes longer than other calls may. */
const CALL_MS = 30_000;

/** How long prices may take to arrive, in milliseconds. */
const PRICES_MS = 10_000;
const NODE_POLL_MS = 20;

/**
 * Starts a chain with prices and funded wallets. Stop it after the test.
 *
 * @throws {RangemakerError} `CHAIN_NOT_STARTED`, with the last output of its program;
 *   `CHAIN_NOT_READY` without prices; `INVALID_INPUT`.
 * @example
 * ```ts
 * const chain = await startChain({ wallets: 1, balance: 50_000_000n }); // 50 USDC
 * // after the test
 * await chain.stop();
 * ```
 */
export async function startChain(options: ChainOptions = {}): Promise<TestChain> {
  const { wallets, balance, signal } = parse(optionsSchema, options);
  const child = await startChild(signal);
  try {
    const chain = new TestChain(
      child,
      Array.from({ length: wallets }, (_, index) => testWallet(index)),
    );
    await chain.ready();
    await Promise.all(chain.wallets.map(({ address }) => chain.faucet(address, balance)));
    return chain;
  } catch (thrown) {
    await child.stop();
    throw thrown;
  }
}

/** A running chain. Its times are Unix milliseconds; amounts and prices have 6 decimals. */
export class TestChain implements AsyncDisposable {
  /** The constructor options of a client of this chain; add `wallet`. */
  readonly options: { urls: ChainUrls; chainId: number; solver: Address; clock: Clock };
  readonly wallets: readonly TestWallet[];
  readonly #child: Child;
  readonly #node: DevNode;
  readonly #clock = new ShiftedClock(realClock);

  /** Made by {@link startChain}. */
  constructor(child: Child, wallets: readonly TestWallet[]) {
    this.#child = child;
    this.wallets = wallets;
    this.options = { ...startedSchema.parse(JSON.parse(child.line)), clock: this.#clock };
    this.#node = new DevNode({ url: this.urls.proxy, timeoutMs: CALL_MS });
  }

  get urls(): ChainUrls {
    return this.options.urls;
  }

  /** The time of the chain. */
  now(): number {
    return this.#clock.now();
  }

  /** Resolves when every market has a price. */
  ready(): Promise<void> {
    return this.#untilPrices(
      "price of every market",
      (prices) => SPEC_MARKETS.symbols.every((symbol) => prices[symbol]?.state === "fresh"),
    );
  }

  /**
   * Gives USDC to an account.
   *
   * @example
   * ```ts
   * await chain.faucet(address, 25_000_000n); // 25 USDC
   * ```
   */
  async faucet(address: Address, amount: bigint): Promise<void> {
    await this.#node.faucet(address, parse(amountSchema, amount));
  }

  /**
   * Saves balances, bets, prices and time. The newest 16 snapshots are kept.
   *
   * @returns Its id, for {@link revert}.
   * @example
   * ```ts
   * const id = await chain.snapshot();
   * await chain.revert(id);
   * ```
   */
  snapshot(): Promise<number> {
    return this.#node.snapshot();
  }

  /**
   * Goes back to a snapshot, as often as necessary; later snapshots are deleted.
   *
   * @returns The time of the chain; the clock of the clients went back to it too.
   * @example
   * ```ts
   * await chain.revert(id);
   * ```
   */
  async revert(id: number): Promise<number> {
    return await this.#setTime(await this.#node.revert(id));
  }

  /**
   * Moves the time forwards, for the chain and its clients, at most 24 hours. Bets that end on the
   * way are settled.
   *
   * @param prices The prices on the way, by default the present ones.
   * @returns The time of the chain; programs that read `Date` need it, as in
   * `vi.setSystemTime(await chain.advance(60_000))`.
   * @example
   * ```ts
   * await chain.advance(60_000, { "ETH/USDT": 3_100_000_000n });
   * ```
   */
  async advance(ms: number, prices: SymbolPrices = {}): Promise<number> {
    return await this.#setTime(await this.#node.advance(ms, parse(pricesSchema, prices)));
  }

  /**
   * Makes all exchanges trade a market at one price until further notice, and waits until the chain
   * has recorded it: a bet that starts now starts at that price. A snapshot does not include that.
   *
   * @param price Null goes back to the simulated prices.
   * @throws {RangemakerError} `INVALID_INPUT`; `CHAIN_NOT_READY` if it is not recorded within 10 s;
   *   `SERVICE_UNREACHABLE` after {@link stop}.
   * @example
   * ```ts
   * await chain.setPrice("ETH/USDT", 3_000_000_000n); // 3000 USDT
   * ```
   */
  async setPrice(symbol: string, price: bigint | null): Promise<void> {
    parse(symbolSchema, symbol);
    parse(amountSchema.nullable(), price);
    const pins = { [symbol]: price?.toString() ?? null };
    const { status, body } = await put(`${this.urls.exchanges}/prices`, pins);
    if (status !== 200) {
      const { data } = failureSchema.safeParse(tryParseJson(body));
      throw new RangemakerError("INVALID_INPUT", `No price was set: ${data?.error ?? body}`);
    }
    if (price === null) return;
    await this.#untilPrices(`${symbol} at ${price}`, async ({ [symbol]: market }) => {
      if (market?.price !== price) return false;
      const { base, quote } = market;
      const to = this.now() + 1;
      const { prices } = await this.#node.getPriceHistory({ base, quote, from: to - SLOT_MS, to });
      return prices.at(-1)?.price === price;
    });
  }

  /** Ends the chain; resolves when nothing of it runs any more. */
  stop(): Promise<void> {
    return this.#child.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** @returns The time once prices are fresh: a long jump on a slow machine lets them get old. */
  async #setTime(toMs: number): Promise<number> {
    this.#clock.shift(toMs - this.#clock.now());
    await this.ready();
    return this.now();
  }

  async #untilPrices(
    what: string,
    fits: (prices: Awaited<ReturnType<DevNode["getPrices"]>>) => boolean | Promise<boolean>,
  ): Promise<void> {
    const deadlineMs = realClock.now() + PRICES_MS;
    while (!await fits(await this.#node.getPrices())) {
      if (realClock.now() > deadlineMs) {
        throw new RangemakerError("CHAIN_NOT_READY", `No ${what} within ${PRICES_MS} ms`);
      }
      await new Promise<void>((resolve) => realClock.after(NODE_POLL_MS, resolve));
    }
  }
}

/**
 * Puts JSON to the exchanges, which refuse pages. Under happy-dom, `fetch` is that of a page.
 *
 * @throws {NetworkError} `SERVICE_UNREACHABLE`
 */
async function put(url: string, json: unknown) {
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(PRICES_MS);
  const options = { method: "PUT", headers, agent: false, signal };
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options, resolve).on("error", reject).end(JSON.stringify(json));
    });
    return { status: answer.statusCode, body: await text(answer) };
  } catch (cause) {
    const message = `${url} cannot be reached: ${messageOf(cause)}`;
    throw new NetworkError("SERVICE_UNREACHABLE", message, cause);
  }
}

/** An account of viem with its key, for wallets of other libraries. */
export type TestWallet = PrivateKeyAccount & { readonly privateKey: Hex };

/** A wallet with a key that is the same in every run, and so are its address and signatures. */
function testWallet(index: number): TestWallet {
  const privateKey = keccak256(toHex(`rangemaker test wallet ${index}`));
  return { ...privateKeyToAccount(privateKey), privateKey };
}
