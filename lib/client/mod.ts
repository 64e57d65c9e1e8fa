/**
 * A typed client for users and front ends: deposit, quote, sign, execute, follow. It trusts no
 * service: what the wallet is given to sign is built here, from the request and the node's chain id.
 *
 * @module
 */
import type { z } from "zod";
import { callJson, ServiceError } from "../net/call_json.ts";
import { type Clock, systemClock } from "../clock.ts";
import { CoreClient } from "../net/core_client.ts";
import { RangemakerError } from "../errors.ts";
import {
  depositAnswerSchema,
  estimateAnswerSchema,
  executeAnswerSchema,
  type ExecuteResult,
  quoteAnswerSchema,
  solverHealthSchema,
} from "../protocol/answers.ts";
import { DEPOSIT_REQUEST_TYPE } from "../protocol/deposit.ts";
import { findMarketBySymbol } from "../protocol/markets.ts";
import { hashQuote } from "../protocol/hashes.ts";
import {
  type Quote,
  QUOTE_TYPE,
  quoteMessage,
  type QuoteTerms,
  quoteToWire,
} from "../protocol/quote.ts";
import type { Address, Hex } from "../protocol/scalars.ts";
import { requireSigner } from "../protocol/signature.ts";
import { isUnsettled, type Thesis } from "../protocol/thesis.ts";
import {
  describeTypedData,
  type FlatType,
  type TypedDataDescription,
} from "../protocol/typed_data.ts";
import { ThesisFeed } from "../net/thesis_feed.ts";

export { type ExecuteResult, ServiceError };

/** Base URLs of the services that a user talks to. */
export interface ClientUrls {
  solver: string;
  bridge: string;
  /** JSON-RPC over HTTP: the proxy, or a node. */
  proxy: string;
  /** JSON-RPC over WebSocket: the proxy's `/ws`, or a node. */
  proxyWs: string;
}

/** What signs for the user; viem's local accounts fit as they are. */
export interface Wallet {
  address: Address;
  signTypedData(
    typedData: TypedDataDescription & { message: Record<string, unknown> },
  ): Promise<Hex>;
}

/** A bet to ask for: prices and amount with 6 decimals, times in Unix milliseconds. */
export interface Bet {
  /** Such as `ETH/USDT`. */
  symbol: string;
  lowerPrice: bigint;
  upperPrice: bigint;
  betAmount: bigint;
  startTime: number;
  endTime: number;
  /** When the quote ends; a minute from now unless given. */
  deadline?: number;
}

/** A quote that says what was asked for and is signed by the solver. */
export interface Offer {
  quote: Quote;
  quoteHash: Hex;
}

const REQUEST_LIFE_MS = 60_000;
const FEED_TIMEOUT_MS = 10_000;

/** All that is asked of the solver's health here: who it is. */
const identitySchema = solverHealthSchema.pick({ solver: true });

/** What a preview says, amounts in USDC with 6 decimals (spec: quote solver, "Estimate"). */
export type Estimate = z.output<typeof estimateAnswerSchema>["estimate"];

/** The services as one user sees them. Every method throws {@link ServiceError} where one refuses. */
export class RangemakerClient {
  /** The node behind the proxy: balances, prices, theses. */
  readonly node: CoreClient;
  readonly #urls: ClientUrls;
  readonly #wallet: Wallet;
  readonly #clock: Clock;

  constructor(urls: ClientUrls, wallet: Wallet, clock: Clock = systemClock) {
    this.#urls = urls;
    this.#wallet = wallet;
    this.#clock = clock;
    this.node = new CoreClient({ url: urls.proxy });
  }

  /**
   * Deposits USDC with 6 decimals.
   *
   * @param nonce One never used before. To ask again after a lost answer, give the same one.
   * @returns The hash of the deposit transaction.
   */
  async deposit(amount: bigint, nonce: bigint = randomNonce()): Promise<Hex> {
    const user = this.#wallet.address;
    const deadline = this.#clock.now() + REQUEST_LIFE_MS;
    const message = { user, amount, nonce, deadline: BigInt(deadline) };
    const signature = await this.#sign(DEPOSIT_REQUEST_TYPE, message);
    const { txHash } = await callJson(`${this.#urls.bridge}/deposit`, depositAnswerSchema, {
      user,
      amount: amount.toString(),
      nonce: nonce.toString(),
      deadline,
      signature,
    });
    return txHash;
  }

  /** What a bet would pay, without a signature. */
  async estimate(bet: Bet): Promise<Estimate> {
    const url = `${this.#urls.solver}/estimate`;
    const { estimate } = await callJson(url, estimateAnswerSchema, this.#terms(bet));
    return estimate;
  }

  /**
   * A signed quote.
   *
   * @throws {ServiceError} Also if the quote says something else than was asked for.
   * @throws {SignatureError} If the quote is not signed by the solver.
   */
  async quote(bet: Bet): Promise<Offer> {
    const { solver: base } = this.#urls;
    const terms = this.#terms(bet);
    const request = { user: this.#wallet.address, ...terms };
    const { quote } = await callJson(`${base}/quote`, quoteAnswerSchema, request);
    requireSameTerms(`${base}/quote`, request, quote);
    const { solver } = await callJson(`${base}/health`, identitySchema);
    const quoteHash = hashQuote(quote, await this.node.chainId());
    requireSigner("Quote signature", quoteHash, quote.signature, solver);
    return { quote, quoteHash };
  }

  /** Signs an offer and has it executed. The same offer again gives the first result again. */
  async execute({ quote }: Offer): Promise<ExecuteResult> {
    const userSignature = await this.#sign(QUOTE_TYPE, quoteMessage(quote));
    const body = { quote: quoteToWire(quote), userSignature };
    return (await callJson(`${this.#urls.solver}/execute`, executeAnswerSchema, body)).result;
  }

  /** A live feed of the user's theses; to be closed by the caller. */
  async theses(): Promise<ThesisFeed> {
    const feed = new ThesisFeed({
      url: this.#urls.proxyWs,
      node: this.node,
      user: this.#wallet.address,
      clock: this.#clock,
      random: Math.random,
    });
    try {
      await feed.open(FEED_TIMEOUT_MS);
    } catch (thrown) {
      feed.close();
      throw thrown;
    }
    return feed;
  }

  /**
   * The outcome of a thesis, as soon as there is one.
   *
   * @throws {ThesisFeedError} If there is none within `timeoutMs`.
   */
  async settled(thesisId: number, timeoutMs: number): Promise<Thesis> {
    const feed = await this.theses();
    try {
      return await feed.until(
        ({ id, status }) => id === thesisId && !isUnsettled(status),
        timeoutMs,
      );
    } finally {
      feed.close();
    }
  }

  #terms(bet: Bet) {
    const market = findMarketBySymbol(bet.symbol);
    if (market === undefined) {
      throw new RangemakerError("UNSUPPORTED_PAIR", `No market: received ${bet.symbol}`);
    }
    return {
      thesisType: "box",
      base: market.base,
      quote: market.quote,
      lowerPrice: bet.lowerPrice.toString(),
      upperPrice: bet.upperPrice.toString(),
      betAmount: bet.betAmount.toString(),
      startTime: bet.startTime,
      endTime: bet.endTime,
      deadline: bet.deadline ?? this.#clock.now() + REQUEST_LIFE_MS,
    };
  }

  async #sign(type: FlatType, message: Record<string, unknown>): Promise<Hex> {
    const description = describeTypedData(type, await this.node.chainId());
    return await this.#wallet.signTypedData({ ...description, message });
  }
}

/** A nonce that no user will meet twice: 128 random bits. */
function randomNonce(): bigint {
  return BigInt(`0x${crypto.getRandomValues(new Uint8Array(16)).toHex()}`);
}

function requireSameTerms(url: string, request: Record<string, unknown>, quote: QuoteTerms): void {
  const offered = quoteMessage(quote);
  for (const [field, asked] of Object.entries(request)) {
    if (String(offered[field]) === String(asked)) continue;
    throw new ServiceError(url, 200, `Quote has ${field} ${offered[field]}: asked for ${asked}`);
  }
}
