import assert from "node:assert/strict";
import type { Clock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { SPEC_MARKETS, USDT } from "../../lib/protocol/markets.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema, type QuoteWire } from "../../lib/protocol/quote.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { options, type SolverOptions, startSolver } from "../../services/solver/mod.ts";
import { post } from "../support/http_answers.ts";
import { FakeNode } from "../support/fake_node.ts";

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

/** A good body of `POST /quote`. */
export function quoteRequest(given: Record<string, unknown> = {}) {
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
    ...given,
  };
}

/** Signs a quote as its user. */
export function signQuote(quote: QuoteWire, signer: LocalSigner = user): string {
  return signer.sign(hashQuote(quoteSchema.parse(quote), CHAIN_ID));
}

/** Asks for a quote. */
export async function askQuote(
  url: string,
  given: Record<string, unknown> = {},
): Promise<QuoteWire> {
  const { status, body } = await post(`${url}/quote`, quoteRequest(given));
  assert.equal(status, 200, JSON.stringify(body));
  // Parsed here only to be sure of its shape: tests send back the very object they got.
  quoteSchema.parse(body.quote);
  return body.quote as QuoteWire;
}

/** A body of `POST /execute` for a fresh quote. */
export async function execution(url: string, given: Record<string, unknown> = {}) {
  const quote = await askQuote(url, given);
  return { quote, userSignature: signQuote(quote) };
}

/** Starts a solver in memory against a node. */
export function startTestSolver(
  { url, wsUrl }: { url: string; wsUrl: string },
  given: Partial<SolverOptions> = {},
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
      ...given,
    }),
    clock,
  );
}

/** Runs a test with a fake node, which `prepare` may change first, and a solver in memory. */
export async function withSolver(
  test: (solver: RunningService, node: FakeNode) => Promise<void>,
  given: Partial<SolverOptions> = {},
  prepare: (node: FakeNode) => void = () => {},
): Promise<void> {
  await using node = FakeNode.start();
  node.credited.set(solver.address, SOLVER_BALANCE);
  node.credited.set(user.address, USER_BALANCE);
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  prepare(node);
  await using running = await startTestSolver(node, given);
  await test(running, node);
}
