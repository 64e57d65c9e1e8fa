import * as z from "zod/mini";
import { toWire } from "../json.ts";
import { callJson, ServiceError } from "../net/call_json.ts";
import type { Account } from "../protocol/account.ts";
import {
  anySolverInfoSchema,
  depositAnswerSchema,
  executeAnswerSchema,
  quoteAnswerSchema,
  solverHealthSchema,
  type SolverInfo,
} from "../protocol/answers.ts";
import { DEPOSIT_REQUEST_TYPE, randomNonce } from "../protocol/deposit.ts";
import { quoteToWire } from "../protocol/quote.ts";
import { retryOfFailure } from "../protocol/receipt.ts";
import { type Address, hash32Schema, type Hex } from "../protocol/scalars.ts";
import {
  type Bet,
  type Estimate,
  pricedEstimateSchema,
  pricingSchema,
  REQUEST_LIFE_MS,
  requireRequest,
} from "./bet.ts";
import { ChainReader } from "./chain_reader.ts";
import { requireNodeChain, requireServiceChain, requireWallet } from "./context.ts";
import { ExecutionError, isRangemakerError } from "./errors.ts";
import {
  requireAddress,
  requireAmount,
  requireNonce,
  requireOffer,
  requireOptionalAddress,
} from "./input.ts";
import { type Offer, quoteTypedData, requireGenuine, requireRequested } from "./offer.ts";
import { openWatch } from "./open_watch.ts";
import type { ThesisWatch, WatchHandlers } from "./theses.ts";
import { typedDataOf } from "../protocol/typed_data.ts";
import type { ChainDescription } from "./wallet.ts";

/** A bet that the chain accepted. */
export interface PlacedBet {
  thesisId: number;
  txHash: Hex;
}

/** The only part of the solver's health that is used here: its address. */
const identitySchema = z.pick(solverHealthSchema, { solver: true });

const quoteWithHashSchema = z.extend(quoteAnswerSchema, {
  quoteHash: hash32Schema,
  pricing: pricingSchema,
});

/**
 * A client of all services for one user. It trusts none of them: it builds what the wallet signs
 * from the request and the chain id of the options, and checks a quote before the user signs it.
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
    return requireWallet(this.context).address();
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
    const { chainId, urls } = this.context;
    await requireNodeChain(this.context);
    await requireWallet(this.context).switchChain(chainId, {
      chainName: `rangemaker ${chainId}`,
      rpcUrls: [urls.proxy],
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, // wallets insist on 18
      ...chain,
    });
  }

  /**
   * Deposits USDC with 6 decimals.
   *
   * @param nonce A number that this user never used before. After a lost answer, repeat the call
   *   with the same nonce: it is never made twice. If the bridge knows it, the call fails with
   *   `NONCE_USED`, with its `state` and `txHash` in `details`.
   * @returns The hash of the deposit transaction.
   * @throws {ChainError} If node or bridge has another chain; nothing was signed.
   * @example
   * ```ts
   * const txHash = await client.deposit(25_000_000n); // 25 USDC
   * ```
   */
  async deposit(amount: bigint, nonce: bigint = randomNonce()): Promise<Hex> {
    requireAmount("amount", amount, 1n);
    requireNonce(nonce);
    const { urls, chainId, clock } = this.context;
    const wallet = requireWallet(this.context);
    const [user] = await Promise.all([
      wallet.address(),
      requireNodeChain(this.context),
      requireServiceChain(this.context, "bridge"),
    ]);
    const deadline = clock.now() + REQUEST_LIFE_MS;
    const message = { user, amount, nonce, deadline: BigInt(deadline) };
    const signature = await wallet.sign(user, typedDataOf(DEPOSIT_REQUEST_TYPE, chainId, message));
    const body = toWire({ user, amount, nonce, deadline, signature });
    return (await callJson(`${urls.bridge}/deposit`, depositAnswerSchema, body)).txHash;
  }

  /**
   * The solver's address, balance, strategy and bounds, as it reports them.
   *
   * @param signal Ends the request early: its reason is thrown, an `AbortError` by default.
   * @example
   * ```ts
   * const { address, config } = await client.solverInfo();
   * console.log(`${address} takes bets from ${config.minBetAmount} on`);
   * ```
   */
  async solverInfo(signal?: AbortSignal): Promise<SolverInfo> {
    return await callJson(`${this.context.urls.solver}/info`, anySolverInfoSchema, undefined, {
      signal,
    });
  }

  /**
   * The payout of a bet, without a signed quote.
   *
   * @param signal Ends the request, such as when the user has changed the bet: its reason is
   *   thrown, an `AbortError` by default.
   * @example
   * ```ts
   * const { payout, multiplier } = await client.estimate(bet);
   * ```
   */
  async estimate(bet: Bet, signal?: AbortSignal): Promise<Estimate> {
    const { urls, clock, markets } = this.context;
    const request = requireRequest(bet, clock.now(), markets);
    return await callJson(`${urls.solver}/estimate`, pricedEstimateSchema, request, { signal });
  }

  /**
   * A quote that the solver signed; it can be executed until `quote.deadline`.
   *
   * @throws {ChainError} If node or solver has another chain.
   * @throws {QuoteError} If the quote differs from the request or is not signed by the solver.
   * @example
   * ```ts
   * const { quote } = await client.quote(bet);
   * console.log(quote.payout);
   * ```
   */
  async quote(bet: Bet): Promise<Offer> {
    const { urls: { solver: url }, chainId, clock, markets } = this.context;
    const asked = requireRequest(bet, clock.now(), markets);
    const request = { user: await this.address(), ...asked };
    const isRightChain = requireNodeChain(this.context);
    const [{ quote, quoteHash, pricing }, solver] = await Promise.all([
      // Another chain may be the reason for a refusal.
      callJson(`${url}/quote`, quoteWithHashSchema, request)
        .catch((refusal) => isRightChain.then(() => Promise.reject(refusal))),
      this.context.solver ?? callJson(`${url}/health`, identitySchema).then(({ solver }) => solver),
      isRightChain,
    ]);
    requireRequested(quote, request);
    try {
      requireGenuine({ quote, quoteHash }, chainId, solver);
    } catch (thrown) {
      // A quote for another chain has another hash: check the solver's chain first.
      if (isRangemakerError(thrown, "QUOTE_HASH_MISMATCH")) {
        await requireServiceChain(this.context, "solver");
      }
      throw thrown;
    }
    return { quote, quoteHash, ...(pricing && { probability: pricing.probability }) };
  }

  /**
   * Asks the user to sign an offer, for {@link execute}. Store offer and signature before
   * executing: after a lost answer, the same pair returns the first result without another prompt.
   * `offerToJson` converts an offer for storage.
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
    const { chainId, solver = quote.solver } = this.context;
    const wallet = requireWallet(this.context);
    await requireNodeChain(this.context);
    requireGenuine(offer, chainId, solver);
    return await wallet.sign(quote.user, quoteTypedData(quote, chainId));
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
  async execute(offer: Offer, signature?: Hex): Promise<PlacedBet> {
    requireOffer(offer);
    const userSignature = signature ?? await this.sign(offer);
    const url = `${this.context.urls.solver}/execute`;
    const body = { quote: quoteToWire(offer.quote), userSignature };
    const { status, txHash, thesisId, error } =
      (await callJson(url, executeAnswerSchema, body)).result;
    if (status === "committed") {
      return { thesisId: thesisId ?? await this.#readThesisId(txHash), txHash };
    }
    const message = `The chain refused the bet: ${error?.message ?? "no reason was given"}`;
    throw new ExecutionError(error?.code ?? "TRANSACTION_FAILED", message, {
      details: { ...error?.details, txHash },
      ...(error && { retry: retryOfFailure(error.code) }),
    });
  }

  /**
   * The thesis of a committed bet, from its receipt: solvers may leave out the id (spec: quote solver,
   * "Execute result").
   */
  async #readThesisId(txHash: Hex): Promise<number> {
    let cause: unknown;
    try {
      const receipt = await this.context.node.getTransaction(txHash);
      if (receipt?.thesisId !== undefined) return receipt.thesisId;
    } catch (thrown) {
      cause = thrown; // as it is, it would say that nothing was placed
    }
    const message =
      "The bet was placed, but neither the solver nor the node names its thesis yet: " +
      "execute it again, which places nothing twice";
    throw new ServiceError("INVALID_ANSWER", message, { status: 200, retry: "same", cause });
  }

  /**
   * Theses as they change, reconnecting after every loss. Close it after use.
   *
   * @param party The user of the theses, by default the wallet's account; or their solver.
   * @throws {WatchError} `NOT_CONNECTED` after 10 s without another page of theses.
   * @example
   * ```ts
   * const watch = await client.watch({ onThesis: ({ id, status }) => console.log(id, status) });
   * // later
   * watch.close();
   * ```
   */
  async watch(
    handlers: WatchHandlers = {},
    party?: Address | { solver: Address },
  ): Promise<ThesisWatch> {
    if (typeof party !== "object") {
      requireOptionalAddress("user", party);
      return await openWatch(this.context, handlers, { user: party ?? await this.address() });
    }
    requireAddress("solver", party?.solver); // without one, the node would report all theses
    return await openWatch(this.context, handlers, party);
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
    requireOptionalAddress("address", address);
    return await this.context.node.getAccount(address ?? await this.address());
  }
}
