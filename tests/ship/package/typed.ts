/** What TypeScript has to accept and to refuse of the package; `package_test.ts` compiles it. */
import {
  type Bet,
  type ClientOptions,
  isRangemakerError,
  type PlacedBet,
  RangemakerClient,
  type Thesis,
  WalletError,
} from "@rangemaker/client";

export async function play(client: RangemakerClient, bet: Bet): Promise<PlacedBet | undefined> {
  try {
    const offer = await client.quote(bet);
    const payout: bigint = offer.quote.payout;
    // @ts-expect-error A market may be missing.
    (await client.prices())["ETH/USDT"].price.toFixed();
    return payout > 0n ? await client.execute(offer) : undefined;
  } catch (error) {
    if (error instanceof WalletError && error.code === "WRONG_CHAIN") await client.switchChain();
    // @ts-expect-error No wallet has such a code.
    if (error instanceof WalletError && error.code === "WRONG") return undefined;
    if (isRangemakerError(error) && error.retry === "later") return play(client, bet);
    throw error;
  }
}

export function describe({ status }: Thesis): string {
  switch (status) {
    case "open":
    case "needs_backfill":
      return "undecided";
    case "won":
    case "lost":
      return status;
  }
}

/** Under `exactOptionalPropertyTypes`, an optional member may be undefined only if its type says so. */
export function clientFrom(options: ClientOptions): RangemakerClient {
  const { urls, chainId, clock, connect, markets, solver, wallet } = options;
  return new RangemakerClient({ urls, chainId, clock, connect, markets, solver, wallet });
}

export function repeat(bet: Bet): Bet {
  return { ...bet, deadline: bet.deadline };
}
