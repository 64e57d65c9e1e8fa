import assert from "node:assert/strict";
import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { type Market, SPEC_MARKETS, USDT } from "../../lib/protocol/markets.ts";
import type { Account } from "../../lib/protocol/account.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import type { NodePrice } from "../../lib/protocol/price.ts";
import {
  type Quote,
  quoteSchema,
  quoteToWire,
  type QuoteWire,
  type UnsignedQuote,
} from "../../lib/protocol/quote.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { options, type SolverOptions, startSolver } from "../../services/solver/mod.ts";
import { decodeBet } from "../../services/solver/execution/execution.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import type { AdmissionFacts } from "../../services/solver/risk/exposure_limit.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { FakeNode } from "../support/fake_node.ts";
import { eventually } from "../support/eventually.ts";

/** The chain of these tests. */
export const CHAIN_ID = 1337;

/** Who bets. */
export const user = new LocalSigner(`0x${"11".repeat(32)}`);

/** The key of the solver. */
export const solver = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);

/** What the solver owns, USDC with 6 decimals. */
export const SOLVER_BALANCE = 1_000_000_000_000n;

/** What the user owns, USDC with 6 decimals. */
export const USER_BALANCE = 1_000_000_000_000n;

/** ETH/USDT. */
export const market = SPEC_MARKETS.bySymbol("ETH/USDT") ?? assert.fail("ETH/USDT is a market");

/** A fresh price of the test market, as the node reports it. */
export function nodePrice(overrides: Partial<NodePrice> = {}): NodePrice {
  const { base, quote } = market;
  const price = { base, quote, price: 1n, decimals: 6 as const, lastUpdate: 0, ageMs: 0 };
  return { ...price, state: "fresh", ...overrides };
}

/** An account with this balance. */
export function accountOf(address: Address, balance: bigint): Account {
  return { address, balance, locked: 0n, permissions: [] };
}

/** A good body of `POST /quote`. */
export function quoteRequest(overrides: Record<string, unknown> = {}) {
  const now = Date.now();
  return {
    user: user.address,
    thesisType: "box",
    base: market.base,
    quote: USDT,
    lowerPrice: "1600000000",
    upperPrice: "1700000000",
    betAmount: "10000000",
    startTime: now,
    endTime: now + 60_000,
    deadline: now + 30_000,
    ...overrides,
  };
}

/** Signs a quote as its user. */
export function signQuote(quote: QuoteWire, signer: LocalSigner = user): string {
  return signer.sign(hashQuote(quoteSchema.parse(quote), CHAIN_ID));
}

/** Asks for a quote. */
export async function askQuote(
  url: string,
  overrides: Record<string, unknown> = {},
): Promise<QuoteWire> {
  const { status, body } = await post(`${url}/quote`, quoteRequest(overrides));
  assert.equal(status, 200, JSON.stringify(body));
  // Parsed here only to be sure of its shape: tests send back the very object they got.
  quoteSchema.parse(body.quote);
  return body.quote as QuoteWire;
}

/** A body of `POST /execute` for a fresh quote. */
export async function execution(url: string, overrides: Record<string, unknown> = {}) {
  const quote = await askQuote(url, overrides);
  return { quote, userSignature: signQuote(quote) };
}

/** Starts a solver in memory against a node. */
export function startTestSolver(
  { url, wsUrl }: { url: string; wsUrl: string },
  overrides: Partial<SolverOptions> = {},
  clock?: Clock,
): Promise<RunningService> {
  return startSolver(
    withDefaults(options, {
      port: 0,
      rpcUrl: url,
      wsUrl,
      privateKey: solver,
      database: ":memory:",
      hedgeDelayMs: 0,
      rateLimit: 0,
      rateLimitTotal: 0,
      ...overrides,
    }),
    clock,
  );
}

/** A fake node without theses, on which both sides have enough. */
export function startFundedNode(chainId?: number): FakeNode {
  const node = FakeNode.start(chainId);
  node.credited.set(solver.address, SOLVER_BALANCE);
  node.credited.set(user.address, USER_BALANCE);
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  return node;
}

/** Runs a test with a fake node, which `prepare` may change first, and a solver in memory. */
export async function withSolver(
  test: (solver: RunningService, node: FakeNode) => Promise<void>,
  { prepare, ...overrides }: Partial<SolverOptions> & { prepare?: (node: FakeNode) => void } = {},
): Promise<void> {
  await using node = startFundedNode();
  prepare?.(node);
  await using running = await startTestSolver(node, overrides);
  await test(running, node);
}

/** A box on the test market. */
const BOX = {
  user: user.address,
  solver: solver.address,
  thesisType: "box",
  base: market.base,
  quote: market.quote,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 100n,
  payout: 110n,
} as const;

/** Terms of a bet of a minute that starts now, quoted for half a minute. */
export function termsAt(nowMs: number, overrides: Partial<UnsignedQuote> = {}): UnsignedQuote {
  const times = { startTime: nowMs, endTime: nowMs + 60_000, deadline: nowMs + 30_000 };
  return { ...BOX, ...times, ...overrides };
}

/** An execution signed by solver and user, without the solver's help. */
export function signedExecution(terms: UnsignedQuote) {
  const quoteHash = hashQuote(terms, CHAIN_ID);
  const quote: Quote = { ...terms, signature: solver.sign(quoteHash) };
  return { quoteHash, execution: { quote, userSignature: user.sign(quoteHash) } };
}

/** The same as a body of `POST /execute`. */
export function executeBody(terms: UnsignedQuote) {
  const { execution: { quote, userSignature } } = signedExecution(terms);
  return { quote: quoteToWire(quote), userSignature };
}

/** A thesis of the solver, its quote hash made of its id. */
export function thesisOf(id: number, overrides: Partial<Thesis> = {}): Thesis {
  return {
    ...BOX,
    id,
    startTime: 5,
    endTime: 6,
    createdAt: 7,
    quoteHash: quoteHashOf(id),
    txHash: `0x${"cd".repeat(32)}`,
    status: "open",
    ...overrides,
  };
}

/** A book of this bound that knows all open theses. */
export function completeBook(max?: bigint, theses: readonly Thesis[] = []): ExposureBook {
  const book = new ExposureBook(max, decodeBet);
  book.beginReading();
  book.endReading(theses);
  return book;
}

/** Resolves once the solver knows all its theses. */
export function untilComplete(url: string): Promise<unknown> {
  return eventually("all open theses known", async () => {
    return (await (await fetch(`${url}/theses`)).json()).complete;
  });
}

/** A bet of the test user with this much at risk. */
export function stakeOf(risk: bigint): UnsignedQuote {
  return termsAt(0, { payout: 100n + risk });
}

/** Both sides have more than any bet needs, and nothing was under way. */
export const plenty: AdmissionFacts = {
  balances: { user: 10n ** 18n, solver: 10n ** 18n },
  inFlightBefore: { keys: new Set(), newestSequence: 0 },
  requirePrice() {},
};

/** The quote hash of {@link thesisOf}. */
export function quoteHashOf(id: number): Hex {
  return `0x${id.toString(16).padStart(64, "0")}`;
}

/** The price around which {@link giveHistory} swings. */
export const SPOT = 3_000_000_000;

const querySchema = z.object({ from: z.number(), to: z.number() });

/** Gives the node so much of prices that swing a little, up to now; ten minutes by default. */
export function giveHistory(node: FakeNode, lengthMs = 600_000): void {
  node.methods.set("core_getPriceHistory", (param) => {
    const { from, to } = querySchema.parse(param);
    const prices = [];
    for (let time = Math.max(from, to - lengthMs); time < to; time += 100) {
      // Up and down by a hundredth of a percent every ten seconds, in steps.
      const phase = Math.floor(time / 100) % 100;
      const price = SPOT + Math.min(phase, 100 - phase) * 6_000;
      prices.push({ time, price: String(price) });
    }
    return { prices, missing: [], nextCursor: null };
  });
}

/** Notifies subscribers of a price of now, or of an older one, of ETH/USDT or of another market. */
export function publishPrice(node: FakeNode, price = SPOT, ageMs = 0, of: Market = market): void {
  const { base, quote, symbol } = of;
  const entry = { base, quote, decimals: 6, lastUpdate: Date.now() - ageMs, ageMs, state: "fresh" };
  node.feed.publish("prices", { [symbol]: { ...entry, price: String(price) } });
}

/** The body of a quote on a price of now, once the solver can price it. */
export function quoteOnPrices(
  url: string,
  node: FakeNode,
  request: Record<string, unknown>,
): Promise<Answer["body"]> {
  return eventually("a quote", async () => {
    publishPrice(node);
    const answer = await post(`${url}/quote`, request);
    return answer.status === 200 ? answer.body : undefined;
  });
}
