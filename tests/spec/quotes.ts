/** Quotes as a user of the solver handles them: plain JSON and a wallet. */
import assert from "node:assert/strict";
import type { PrivateKeyAccount } from "viem/accounts";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, type SolverOptions, startSolver } from "../../services/solver/mod.ts";
import type { StackUrls } from "../../services/stack/stack.ts";
import { post } from "../support/http_answers.ts";
import { newWallet, PAIRS, typedData, wire } from "./support.ts";

/** What solver and user sign (docs/protocol.md, "What users and solvers sign"). */
export const QUOTE_TYPE =
  "Core:Quote(address solver,address user,string thesisType,address base,address quote,uint256 lowerPrice,uint256 upperPrice,uint256 betAmount,uint256 payout,uint256 startTime,uint256 endTime,uint256 deadline)";

/** Every price is inside, so the user wins. */
const WIDEST = { lowerPrice: "1", upperPrice: "18446744073709551615" };

/** The quote solver document, "Quote": these fields, and no others. */
export const quoteFields = {
  solver: wire.address,
  user: wire.address,
  thesisType: z.literal("box"),
  oraclePair: z.strictObject({ base: wire.address, quote: wire.address }),
  priceRange: z.strictObject({ lower: wire.decimal, upper: wire.decimal }),
  betAmount: wire.decimal,
  payout: wire.decimal,
  startTime: wire.timeMs,
  endTime: wire.timeMs,
  deadline: wire.timeMs,
  signature: wire.signature,
} as const;

const quoteSchema = z.strictObject(quoteFields);

/** A quote as it came. */
export type PlainQuote = z.output<typeof quoteSchema>;

/** A body of `POST /quote`: 100 USDC on a minute of ETH/USDT, by default. */
export function quoteBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Date.now();
  return {
    user: newWallet().address,
    thesisType: "box",
    base: PAIRS[1]!.base,
    quote: PAIRS[1]!.quote,
    ...WIDEST,
    betAmount: "100000000",
    startTime: now,
    endTime: now + 60_000,
    deadline: now + 30_000,
    ...overrides,
  };
}

/** Asks for a quote. */
export async function askQuote(
  solverUrl: string,
  wallet: PrivateKeyAccount,
  overrides: Record<string, unknown> = {},
): Promise<PlainQuote> {
  const request = quoteBody({ user: wallet.address, ...overrides });
  const { status, body } = await post(`${solverUrl}/quote`, request);
  assert.equal(status, 200, JSON.stringify(body));
  return quoteSchema.parse(body.quote);
}

/** The message of a quote's typed data. */
export function termsOf(quote: PlainQuote) {
  const { oraclePair, priceRange, signature: _, ...rest } = quote;
  return { ...rest, ...oraclePair, lowerPrice: priceRange.lower, upperPrice: priceRange.upper };
}

/** Times of a window that has ended. */
export function endedWindow(): { startTime: number; endTime: number } {
  const now = Date.now();
  return { startTime: now - 120_000, endTime: now - 60_000 };
}

/** A body of `POST /execute`: a new quote that lasts `durationMs` from now, signed by its user. */
export async function signedExecution(
  solverUrl: string,
  wallet: PrivateKeyAccount,
  durationMs = 60_000,
  overrides: Record<string, unknown> = {},
) {
  const now = Date.now();
  const times = { startTime: now, endTime: now + durationMs };
  const quote = await askQuote(solverUrl, wallet, { ...times, ...overrides });
  const message = termsOf(quote);
  const userSignature = await wallet.signTypedData({ ...typedData(QUOTE_TYPE), message });
  return { quote, userSignature };
}

/** Plays against a second solver on the node of a stack. */
export async function withSolver(
  urls: Pick<StackUrls, "node" | "proxyWs">,
  overrides: Partial<SolverOptions>,
  play: (url: string) => Promise<void>,
): Promise<void> {
  await using running = await startSolver(withDefaults(options, {
    port: 0,
    rpcUrl: urls.node,
    wsUrl: urls.proxyWs,
    privateKey: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
    database: ":memory:",
    hedgeDelayMs: 0,
    ...overrides,
  }));
  await play(running.url);
}
