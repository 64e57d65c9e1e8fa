import { z } from "zod";
import { formatUnits } from "viem/utils";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Clock } from "../../lib/clock.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { PRICE_DECIMALS } from "../../lib/protocol/markets.ts";

/** Something in the bet is not as it must be. */
export class BetError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("BET", message, { cause });
  }
}

/** @throws {BetError} With `message` where `condition` does not hold. */
export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BetError(message);
}

/** A wallet with a new key, as a user's browser would have one. */
export function createWallet(): ReturnType<typeof privateKeyToAccount> {
  return privateKeyToAccount(generatePrivateKey());
}

/** What `GET /typed-data` of bridge and solver answers, ready for a wallet. */
export const typedDataSchema = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number() }),
  types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
  primaryType: z.string(),
});

const POLL_MS = 25;

/**
 * Asks until there is an answer.
 *
 * @throws {BetError} Naming `what`, after `timeoutMs` without one.
 */
export async function waitFor<T>(
  clock: Clock,
  what: string,
  timeoutMs: number,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadlineMs = clock.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    must(clock.now() < deadlineMs, `No ${what} within ${timeoutMs} ms`);
    await new Promise<void>((resolve) => clock.after(POLL_MS, resolve));
  }
}

/** An amount in USDC, or a price, as a person reads it. */
export function formatUsdc(units: bigint): string {
  return formatUnits(units, PRICE_DECIMALS);
}
