/** The steps of one bet, each as a user's own program would do it: with URLs, a wallet and viem. */
import { hashTypedData, recoverTypedDataAddress } from "viem/utils";
import type { PrivateKeyAccount } from "viem/accounts";
import { z } from "zod";
import { callJson } from "../../lib/net/call_json.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { findMarketBySymbol } from "../../lib/protocol/markets.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { type Quote, quoteMessage, quoteSchema, quoteToWire } from "../../lib/protocol/quote.ts";
import { addressSchema, hash32Schema, type Hex } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { ThesisFeed } from "../../lib/net/thesis_feed.ts";
import type { StackUrls } from "./stack.ts";
import { must, typedDataSchema, waitFor } from "./user.ts";

/** What every step can reach: the URLs, the node through the proxy, a wallet, the time. */
export interface BetContext {
  urls: StackUrls;
  node: CoreClient;
  wallet: PrivateKeyAccount;
  clock: Clock;
}

/** The market of the bet. */
export const SYMBOL = "ETH/USDT";
/** USDC with 6 decimals. */
export const DEPOSIT = 1_000_000_000n;
/** USDC with 6 decimals. */
export const BET = 100_000_000n;
/** How long prices hold, in ms, for the user to win. */
export const WINDOW_MS = 3_000;
/** From the quote to the start of the window: time to sign and to be taken in. */
const LEAD_MS = 1_000;
/** The range reaches this share of the price to each side: half a percent. */
const RANGE_DIVISOR = 200n;
const REQUEST_LIFE_MS = 30_000;
/** How long one step may take before the bet is given up. */
const STEP_TIMEOUT_MS = 10_000;

/** Step 1: the oracle has the price from two providers, and the node has pulled it. */
export async function waitForPrices(
  { urls, node, clock }: BetContext,
): Promise<{ price: bigint; sources: string[] }> {
  const sources = await waitFor(clock, "price from two providers", STEP_TIMEOUT_MS, async () => {
    const { prices } = await callJson(`${urls.oracle}/prices`, oraclePricesSchema);
    const sources = prices[SYMBOL]?.sources ?? [];
    return sources.length >= 2 ? sources : undefined;
  });
  const price = await waitFor(clock, "fresh price on the node", STEP_TIMEOUT_MS, async () => {
    const pulled = (await node.getPrices())[SYMBOL];
    return pulled?.state === "fresh" ? pulled.price : undefined;
  });
  return { price, sources };
}

const depositAnswerSchema = z.object({ success: z.literal(true), txHash: hash32Schema });

/** Step 2: a signed deposit request becomes a balance, seen through the proxy. */
export async function deposit({ urls, node, wallet, clock }: BetContext): Promise<Account> {
  const typedData = await callJson(`${urls.bridge}/typed-data`, typedDataSchema);
  const request = {
    user: wallet.address,
    amount: DEPOSIT.toString(),
    nonce: "1",
    deadline: clock.now() + REQUEST_LIFE_MS,
  };
  const signature = await wallet.signTypedData({ ...typedData, message: request });
  await callJson(`${urls.bridge}/deposit`, depositAnswerSchema, { ...request, signature });
  const account = await node.getAccount(wallet.address);
  must(account.balance === DEPOSIT, `Balance is ${account.balance} after depositing ${DEPOSIT}`);
  return account;
}

/** Step 3: the user's theses, through the proxy's WebSocket. */
export function subscribe(feed: ThesisFeed): Promise<void> {
  return feed.open(STEP_TIMEOUT_MS);
}

const estimateAnswerSchema = z.object({
  success: z.literal(true),
  estimate: z.object({ payout: z.string(), multiplier: z.string() }),
});
const quoteAnswerSchema = z.object({
  success: z.literal(true),
  quote: quoteSchema,
  quoteHash: hash32Schema,
});

/** What the solver offered, with the multiplier it had estimated. */
export interface Offer {
  quote: Quote;
  quoteHash: Hex;
  estimatedMultiplier: string;
}

/** Step 4: an estimate, then a signed quote around the price of now. */
export async function askForQuote(
  { urls, wallet, clock }: BetContext,
  price: bigint,
): Promise<Offer> {
  const market = findMarketBySymbol(SYMBOL);
  must(market !== undefined, `No market ${SYMBOL}`);
  const now = clock.now();
  const request = {
    user: wallet.address,
    thesisType: "box",
    base: market.base,
    quote: market.quote,
    lowerPrice: (price - price / RANGE_DIVISOR).toString(),
    upperPrice: (price + price / RANGE_DIVISOR).toString(),
    betAmount: BET.toString(),
    startTime: now + LEAD_MS,
    endTime: now + LEAD_MS + WINDOW_MS,
    deadline: now + REQUEST_LIFE_MS,
  };
  const { user: _, ...terms } = request;
  const { estimate } = await callJson(`${urls.solver}/estimate`, estimateAnswerSchema, terms);
  const { quote, quoteHash } = await callJson(`${urls.solver}/quote`, quoteAnswerSchema, request);
  const offered = quoteMessage(quote);
  for (const [field, asked] of Object.entries(request)) {
    const given = offered[field];
    must(String(given) === String(asked), `Quote has ${field} ${given}, not ${asked}`);
  }
  return { quote, quoteHash, estimatedMultiplier: estimate.multiplier };
}

const solverHealthSchema = z.object({ status: z.literal("ok"), solver: addressSchema });
const executeAnswerSchema = z.object({
  success: z.literal(true),
  result: z.object({ txHash: hash32Schema, status: z.literal("committed"), thesisId: z.number() }),
});

/**
 * Step 5: the quote has the hash it claims and is the solver's; the user signs, the solver executes,
 * the node commits.
 *
 * @returns The thesis id, and the solver's account just before.
 */
export async function execute(
  { urls, node, wallet }: BetContext,
  { quote, quoteHash }: Offer,
): Promise<{ thesisId: number; solverBefore: Account }> {
  const typedData = await callJson(`${urls.solver}/typed-data`, typedDataSchema);
  const signed = { ...typedData, message: quoteMessage(quote) };
  must(hashTypedData(signed) === quoteHash, `Quote hash ${quoteHash} is not that of the quote`);
  const { solver } = await callJson(`${urls.solver}/health`, solverHealthSchema);
  const signer = await recoverTypedDataAddress({ ...signed, signature: quote.signature });
  must(signer === solver, `Quote is signed by ${signer}, not by ${solver}`);
  const userSignature = await wallet.signTypedData(signed);
  const solverBefore = await node.getAccount(solver);
  const { result } = await callJson(`${urls.solver}/execute`, executeAnswerSchema, {
    quote: quoteToWire(quote),
    userSignature,
  });
  return { thesisId: result.thesisId, solverBefore };
}

/** Step 6: the thesis is created, then settled, both seen over the subscription. */
export async function waitForSettlement(
  feed: ThesisFeed,
  thesisId: number,
  quote: Quote,
): Promise<Thesis> {
  const created = await feed.until(({ id, status }) => {
    return id === thesisId && status === "open";
  }, STEP_TIMEOUT_MS);
  must(created.payout === quote.payout, `Thesis pays ${created.payout}, not ${quote.payout}`);
  return await feed.until(({ id, status }) => {
    return id === thesisId && (status === "won" || status === "lost");
  }, STEP_TIMEOUT_MS);
}

/**
 * Step 6, the money: the balances are what the outcome makes them, and user and solver together hold
 * what they held before.
 */
export async function checkBalances(
  { node, wallet }: BetContext,
  settled: Thesis,
  userBefore: Account,
  solverBefore: Account,
): Promise<{ user: Account; solver: Account }> {
  const user = await node.getAccount(wallet.address);
  const solver = await node.getAccount(solverBefore.address);
  const gain = settled.status === "won" ? settled.payout - settled.betAmount : -settled.betAmount;
  requireHolding("User", user, totalOf(userBefore) + gain);
  requireHolding("Solver", solver, totalOf(solverBefore) - gain);
  return { user, solver };
}

function totalOf(account: Account): bigint {
  return account.balance + account.locked;
}

function requireHolding(who: string, account: Account, expected: bigint): void {
  must(totalOf(account) === expected, `${who} holds ${totalOf(account)}, not ${expected}`);
  must(account.locked === 0n, `${who} still has ${account.locked} locked`);
}
