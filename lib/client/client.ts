import { callJson } from "../net/call_json.ts";
import type { Account } from "../protocol/account.ts";
import { type SolverInfo, solverInfoSchema } from "../protocol/answers.ts";
import type { Address, Hex } from "../protocol/scalars.ts";
import type { Thesis } from "../protocol/thesis.ts";
import type { Bet, Estimate } from "./bet.ts";
import { ChainReader } from "./chain_reader.ts";
import { requireNodeChain, walletOf } from "./context.ts";
import { deposit } from "./deposit.ts";
import { execute, type Execution, sign } from "./execute.ts";
import { requireAddress } from "./input.ts";
import type { Offer } from "./offer.ts";
import { estimate, quote } from "./quote.ts";
import { settled } from "./settled.ts";
import { type ThesisWatch, watch, type WatchHandlers } from "./theses.ts";
import type { ChainDescription } from "./wallet.ts";

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
    return walletOf(this.context).address();
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
    await walletOf(this.context).switchChain(chainId, {
      chainName: `rangemaker ${chainId}`,
      rpcUrls: [urls.proxy],
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
  deposit(amount: bigint, nonce?: bigint): Promise<Hex> {
    return deposit(this.context, amount, nonce);
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
    return await callJson(`${this.context.urls.solver}/info`, solverInfoSchema, undefined, {
      signal,
    });
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
  estimate(bet: Bet, signal?: AbortSignal): Promise<Estimate> {
    return estimate(this.context, bet, signal);
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
  quote(bet: Bet): Promise<Offer> {
    return quote(this.context, bet);
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
  sign(offer: Offer): Promise<Hex> {
    return sign(this.context, offer);
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
  execute(offer: Offer, signature?: Hex): Promise<Execution> {
    return execute(this.context, offer, signature);
  }

  /**
   * Theses as they change, reconnecting after every loss. Close it after use.
   *
   * @param of Their user, the wallet's account by default; or the solver on their other side.
   * @throws {WatchError} `NOT_CONNECTED` after 10 s.
   * @example
   * ```ts
   * const watch = await client.watch({ onThesis: ({ id, status }) => console.log(id, status) });
   * // later
   * watch.close();
   * ```
   */
  watch(
    handlers: WatchHandlers = {},
    of?: Address | { solver: Address },
  ): Promise<ThesisWatch> {
    return watch(this.context, handlers, of);
  }

  /**
   * The outcome of one thesis of anybody, as soon as there is one.
   *
   * @throws {WatchError} `WATCH_TIMEOUT` if there is none within `timeoutMs`; `UNKNOWN_THESIS` if the
   * chain has no such thesis.
   * @example
   * ```ts
   * const { status } = await client.settled(thesisId, 60_000); // "won" or "lost"
   * ```
   */
  settled(thesisId: number, timeoutMs: number): Promise<Thesis> {
    return settled(this.context, thesisId, timeoutMs);
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
    return await this.context.node.getAccount(address ?? await this.address());
  }
}
