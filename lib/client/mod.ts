/**
 * The typed client for users and front ends: deposit, quote, sign, execute, watch. It runs in
 * browsers, Deno, Bun and Node from version 20 on. Amounts and prices are bigints with 6 decimals,
 * times are Unix milliseconds.
 *
 * @example
 * ```ts
 * import { RangemakerClient } from "@rangemaker/client";
 *
 * const client = new RangemakerClient({ urls, chainId: 1337, wallet: window.ethereum });
 * const { thesisId } = await client.execute(await client.quote(bet));
 * const { status } = await client.settled(thesisId, 60_000);
 * ```
 *
 * @module
 */
export type { Bet, Estimate, PriceHistory } from "./bet.ts";
export { type PlacedBet, RangemakerClient } from "./client.ts";
export {
  ChainError,
  ExecutionError,
  hasPriceMoved,
  InputError,
  type InputErrorCode,
  isOutcomeUnknown,
  isRangemakerError,
  NetworkError,
  QuoteError,
  type QuoteErrorCode,
  RangemakerError,
  type RangemakerErrorOptions,
  type Retry,
  RpcError,
  ServiceError,
  WalletError,
  type WalletErrorCode,
  WatchError,
  type WatchErrorCode,
} from "./errors.ts";
export { type Offer, offerFromJson, type OfferJson, offerToJson } from "./offer.ts";
export type { ClientOptions, ClientUrls } from "./context.ts";
export { type PriceHandlers, PriceWatch } from "./prices.ts";
export { ThesisWatch, type WatchHandlers, type WatchState } from "./theses.ts";
export {
  type AccountWallet,
  type ChainDescription,
  type ClientWallet,
  type EthersWallet,
  isProvider,
  type ProviderWallet,
  type Wallet,
} from "./wallet.ts";
export type { TypedData } from "../protocol/typed_data.ts";
export { type CancelTimer, type Clock, ShiftedClock, systemClock } from "../clock.ts";
export { NodeTimeoutError, NodeUnreachableError, type ThesisFilter } from "../net/core_reader.ts";
export type { Account } from "../protocol/account.ts";
export type { SolverInfo } from "../protocol/answers.ts";
export { SLOT_MS } from "../protocol/constants.ts";
export { randomNonce } from "../protocol/deposit.ts";
export { type Market, MARKETS, Markets } from "../protocol/markets.ts";
export type { ThesesPage } from "../protocol/methods/reads.ts";
export { formatPrice, formatUnits, type NodePrice, parsePrice } from "../protocol/price.ts";
export type { Quote, QuoteWire } from "../protocol/quote.ts";
export type { Address, Hex } from "../protocol/scalars.ts";
export { isUnsettled, type Thesis, type ThesisStatus } from "../protocol/thesis.ts";
