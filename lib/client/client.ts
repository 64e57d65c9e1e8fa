import { bytesToHex } from "@noble/hashes/utils";
import { callJson } from "../net/call_json.ts";
import type { Account } from "../protocol/account.ts";
import {
  depositAnswerSchema,
  executeAnswerSchema,
  quoteAnswerSchema,
  solverHealthSchema,
  type SolverInfo,
  solverInfoSchema,
} from "../protocol/answers.ts";
import { DEPOSIT_REQUEST_TYPE } from "../protocol/deposit.ts";
import { quoteToWire } from "../protocol/quote.ts";
import { type Address, hash32Schema, type Hex } from "../protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../protocol/thesis.ts";
import { typedDataSchema } from "../protocol/typed_data.ts";
import {
  type Bet,
  type Estimate,
  type Execution,
  pricedEstimateSchema,
  REQUEST_LIFE_MS,
  termsOf,
} from "./bet.ts";
import { ChainReader } from "./chain_reader.ts";
import { ChainError, ExecutionError, isRangemakerError, WalletError } from "./errors.ts";
import { checkOffer, checkTerms, type Offer, quoteTypedData } from "./offer.ts";
import {
  requireAddress,
  requireAmount,
  requireNonce,
  requireOffer,
  requireThesisId,
} from "./input.ts";
import { type ClientOptions, requireWebSocket, solverOf } from "./options.ts";
import { ThesisWatch, type WatchHandlers } from "./theses.ts";
import { typedDataOf } from "./typed_data.ts";
import { type ChainDescription, type Signing, signingOf } from "./wallet.ts";

const OPEN_TIMEOUT_MS = 10_000;

/** The part of the solver's health that counts here: who it is. */
const identitySchema = solverHealthSchema.pick({ solver: true });

const quoteWithHashSchema = quoteAnswerSchema.extend({ quoteHash: hash32Schema });

/**
 * The services as one user sees them. It trusts none of them: what the wallet signs is built here,
 * from the request and the chain id of the options, and a quote is checked before the user signs it.
 *
 * Every method throws an `InputError` if an argument does not fit, a `NetworkError` if a service is
 * down, and a `ServiceError` or `RpcError` with the service's own code if it refuses.
 *
 * @example
 * ```ts
 * const client = new RangemakerClient({ urls, chainId: 1337, wallet: window.ethereum });
 * const { thesisId } = await client.execute(await client.quote(bet));
 * ```
 */
export class RangemakerClient extends ChainReader {
  readonly #signing: Signing | undefined;
  readonly #solver: Address | undefined;
  readonly #termsOf = (bet: Bet) => termsOf(bet, this.clock.now(), this.markets);

  /**
   * @throws {InputError} Without the URLs of the services or the chain id.
   * @throws {WalletError} `UNSUPPORTED_WALLET` if the wallet has none of the known shapes.
   */
  constructor(options: ClientOptions) {
    super(options);
    this.#solver = solverOf(options);
    this.#signing = options.wallet === undefined ? undefined : signingOf(options.wallet);
  }

  /**
   * The wallet's account; a browser wallet may ask the user to connect.
   *
   * @throws {WalletError} Without a wallet, or if it shares no account.
   * @example
   * ```ts
   * const user = await client.address();
   * ```
   */
  address(): Promise<Address> {
    return this.#wallet.address();
  }

  /**
   * Asks a browser wallet to switch to the client's chain, and to add it if it is unknown there.
   *
   * @throws {ChainError} If the node, which the wallet would use, has another chain.
   * @throws {WalletError} `USER_REJECTED`, or `WRONG_CHAIN` if it did not switch.
   * @example
   * ```ts
   * await client.switchChain({ chainName: "My test chain" });
   * ```
   */
  async switchChain(chain: Partial<ChainDescription> = {}): Promise<void> {
    await this.requireChain();
    await this.#wallet.switchChain(this.ownChainId, {
      chainName: `rangemaker ${this.ownChainId}`,
      rpcUrls: [this.urls.proxy],
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, // wallets insist on 18
      ...chain,
    });
  }

  /**
   * Deposits USDC with 6 decimals.
   *
   * @param nonce A number never used before. After a lost answer, repeat the call with the same one.
   * @returns The hash of the deposit transaction.
   * @throws {ChainError} If node or bridge have another chain; nothing was signed.
   * @example
   * ```ts
   * const txHash = await client.deposit(25_000_000n); // 25 USDC
   * ```
   */
  async deposit(amount: bigint, nonce: bigint = randomNonce()): Promise<Hex> {
    requireAmount("amount", amount, 1n);
    requireNonce(nonce);
    const { bridge } = this.urls;
    const [user] = await Promise.all([
      this.address(),
      this.requireChain(),
      this.#requireChainOf("bridge"),
    ]);
    const deadline = this.clock.now() + REQUEST_LIFE_MS;
    const message = { user, amount, nonce, deadline: BigInt(deadline) };
    const typedData = typedDataOf(DEPOSIT_REQUEST_TYPE, this.ownChainId, message);
    const signature = await this.#wallet.sign(user, typedData);
    const body = { user, amount: amount.toString(), nonce: nonce.toString(), deadline, signature };
    return (await callJson(`${bridge}/deposit`, depositAnswerSchema, body)).txHash;
  }

  /**
   * What the solver says of itself: its address, balance, strategy and bounds.
   *
   * @param signal Ends the request early.
   * @example
   * ```ts
   * const { address, config } = await client.solverInfo();
   * console.log(`${address} takes bets from ${config.minBetAmount} on`);
   * ```
   */
  async solverInfo(signal?: AbortSignal): Promise<SolverInfo> {
    return await callJson(`${this.urls.solver}/info`, solverInfoSchema, undefined, { signal });
  }

  /**
   * What a bet would pay, without a signature.
   *
   * @param signal Ends the request, such as when the user has changed the bet.
   * @example
   * ```ts
   * const { payout, multiplier } = await client.estimate(bet);
   * ```
   */
  async estimate(bet: Bet, signal?: AbortSignal): Promise<Estimate> {
    const url = `${this.urls.solver}/estimate`;
    return await callJson(url, pricedEstimateSchema, this.#termsOf(bet), { signal });
  }

  /**
   * A quote that the solver signed; it can be executed until `quote.deadline`.
   *
   * @throws {ChainError} If node or solver have another chain.
   * @throws {QuoteError} If it is not what was asked for, or not signed by the solver.
   * @example
   * ```ts
   * const { quote } = await client.quote(bet);
   * console.log(quote.payout);
   * ```
   */
  async quote(bet: Bet): Promise<Offer> {
    const url = this.urls.solver;
    const terms = this.#termsOf(bet);
    const request = { user: await this.address(), ...terms };
    const [{ quote, quoteHash }, solver] = await Promise.all([
      callJson(`${url}/quote`, quoteWithHashSchema, request),
      this.#solver ?? callJson(`${url}/health`, identitySchema).then(({ solver }) => solver),
      this.requireChain(),
    ]);
    checkTerms(quote, request);
    try {
      checkOffer({ quote, quoteHash }, this.ownChainId, solver);
    } catch (thrown) {
      // A quote for another chain has another hash: the solver says which chain it signs for.
      if (isRangemakerError(thrown, "QUOTE_HASH_MISMATCH")) await this.#requireChainOf("solver");
      throw thrown;
    }
    return { quote, quoteHash };
  }

  /**
   * The user's signature of an offer, which {@link execute} takes. Store both before executing: after
   * a lost answer, the same pair gives the first result again without another prompt. `offerToJson`
   * makes text of an offer.
   *
   * @throws {ChainError} If the node has another chain.
   * @throws {QuoteError} If the offer is for another chain, was changed, or is not by the solver.
   * @throws {WalletError} `WRONG_CHAIN`, `USER_REJECTED` and others.
   * @example
   * ```ts
   * const signature = await client.sign(offer);
   * await client.execute(offer, signature);
   * ```
   */
  async sign(offer: Offer): Promise<Hex> {
    requireOffer(offer);
    const { quote } = offer;
    const wallet = this.#wallet;
    await this.requireChain();
    checkOffer(offer, this.ownChainId, this.#solver ?? quote.solver);
    return await wallet.sign(quote.user, quoteTypedData(quote, this.ownChainId));
  }

  /**
   * Has an offer executed; asks the wallet for a signature unless one is given.
   *
   * @throws {ExecutionError} If the chain refuses the bet, with the chain's code.
   * @example
   * ```ts
   * const { thesisId } = await client.execute(await client.quote(bet));
   * ```
   */
  async execute(offer: Offer, signature?: Hex): Promise<Execution> {
    requireOffer(offer);
    const userSignature = signature ?? await this.sign(offer);
    const body = { quote: quoteToWire(offer.quote), userSignature };
    const { result } = await callJson(`${this.urls.solver}/execute`, executeAnswerSchema, body);
    const { status, txHash, thesisId, error } = result;
    if (status === "committed" && thesisId !== undefined) return { thesisId, txHash };
    const message = `The chain refused the bet: ${error?.message ?? "no reason was given"}`;
    throw new ExecutionError(error?.code ?? "TRANSACTION_FAILED", message, { details: { txHash } });
  }

  /**
   * The theses of a user as they change, reconnecting after every loss. Close it after use.
   *
   * @param user The wallet's account by default.
   * @throws {WatchError} `NOT_CONNECTED` after 10 s.
   * @example
   * ```ts
   * const watch = await client.watch({ onThesis: ({ id, status }) => console.log(id, status) });
   * // later
   * watch.close();
   * ```
   */
  async watch(handlers: WatchHandlers = {}, user?: Address): Promise<ThesisWatch> {
    requireWebSocket(this.connect);
    requireAddress("user", user);
    const watch = new ThesisWatch({
      ...handlers,
      url: this.urls.proxyWs,
      node: this.node,
      user: user ?? await this.address(),
      clock: this.clock,
      random: Math.random,
      connect: this.connect,
    });
    try {
      await watch.open(OPEN_TIMEOUT_MS);
    } catch (thrown) {
      watch.close();
      throw thrown;
    }
    return watch;
  }

  /**
   * The outcome of one thesis of anybody, as soon as there is one.
   *
   * @throws {WatchError} `WATCH_TIMEOUT` if there is none within `timeoutMs`.
   * @example
   * ```ts
   * const { status } = await client.settled(thesisId, 60_000); // "won" or "lost"
   * ```
   */
  async settled(thesisId: number, timeoutMs: number): Promise<Thesis> {
    requireThesisId("thesisId", thesisId);
    const known = await this.thesis(thesisId);
    if (known !== null && !isUnsettled(known.status)) return known;
    // A thesis that was just executed may not have reached the node that answers yet.
    const watch = await this.watch({}, known?.user);
    try {
      return await watch.until(
        ({ id, status }) => id === thesisId && !isUnsettled(status),
        timeoutMs,
      );
    } finally {
      watch.close();
    }
  }

  /**
   * Balance and locked amount of an account, in USDC with 6 decimals.
   *
   * @param address The wallet's account by default.
   * @example
   * ```ts
   * const { balance, locked } = await client.account();
   * ```
   */
  async account(address?: Address): Promise<Account> {
    requireAddress("address", address);
    return await this.node.getAccount(address ?? await this.address());
  }

  /** @throws {ChainError} If a service checks signatures for another chain. */
  async #requireChainOf(service: "solver" | "bridge"): Promise<void> {
    const { domain } = await callJson(`${this.urls[service]}/typed-data`, typedDataSchema);
    if (domain.chainId === this.ownChainId) return;
    throw new ChainError(service, this.ownChainId, domain.chainId);
  }

  get #wallet(): Signing {
    if (this.#signing !== undefined) return this.#signing;
    throw new WalletError(
      "WALLET_REQUIRED",
      "RangemakerClient has no wallet: pass a viem account, or window.ethereum, as wallet " +
        "(a browser without a wallet has no window.ethereum)",
    );
  }
}

/** 128 random bits: two nonces of one user are never the same. */
function randomNonce(): bigint {
  return BigInt(`0x${bytesToHex(crypto.getRandomValues(new Uint8Array(16)))}`);
}
