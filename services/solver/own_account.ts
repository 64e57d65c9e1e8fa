import type { Clock } from "../../lib/clock.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { Address } from "../../lib/protocol/scalars.ts";

/** A balance, USDC with 6 decimals, and when it was read; null before the first answer. */
export interface LastBalance {
  balance: bigint;
  readAtMs: number | null;
}

/** The solver's account on the chain; the node is asked once a second at most. */
export class OwnAccount {
  /** Reads the account. @throws {NetworkError} If the node does not answer. */
  readonly read: () => Promise<Account>;
  #known: LastBalance = { balance: 0n, readAtMs: null };

  constructor(node: Pick<CoreClient, "getAccount">, solver: Address, clock: Clock) {
    this.read = createCachedCall(
      async () => {
        const account = await node.getAccount(solver);
        this.#known = { balance: account.balance, readAtMs: clock.now() };
        return account;
      },
      NODE_ANSWER_CACHED_MS,
      clock,
    );
  }

  /** The newest known balance. */
  async lastKnown(): Promise<LastBalance> {
    await this.read().catch(() => {}); // if the node does not answer, the last balance is returned
    return this.#known;
  }
}
