import { RangemakerError } from "../../../lib/errors.ts";
import type { ShiftedClock } from "../../../lib/clock.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { Signer } from "../../../lib/protocol/signature.ts";
import { signTransaction } from "../../../lib/protocol/transaction.ts";
import type { Chain } from "../chain/chain.ts";
import type { Snapshots } from "./snapshots.ts";

/** The method exists on development chains only, or only on those in memory. */
export class DevelopmentOnlyError extends RangemakerError {
  constructor(message: string) {
    super("DEVELOPMENT_ONLY", message);
  }
}

export interface DevChainParts {
  chain: Chain;
  /** The clock of the chain, and of other services that share it. */
  clock: ShiftedClock;
  /** Undefined for a chain on disk, whose time cannot be moved. */
  snapshots: Snapshots | undefined;
  /** Called after the clock was moved: the next checkpoint is the one after this. */
  continueAfter(headMs: number): void;
  /** A random external transaction hash for a deposit without one. */
  randomHash(): Hex;
}

/** The time after a move. */
export interface Moment {
  /** Unix milliseconds on the clock of the chain. */
  now: number;
  blockNumber: number;
}

/** Prices of a market during a jump, each for an equal part of it. */
export type PricePaths = ReadonlyMap<Market, readonly bigint[]>;

/** Features of a development chain only: free money, snapshots and time travel. */
export class DevChain {
  readonly #parts: DevChainParts;
  readonly #relayer = new Signer(DEV_ACCOUNTS.relayer.privateKey);

  constructor(parts: DevChainParts) {
    this.#parts = parts;
  }

  /** Whether the chain is in memory: only such a one has snapshots and time travel. */
  get isInMemory(): boolean {
    return this.#parts.snapshots !== undefined;
  }

  /** The markets for which a price path can be given. */
  get markets(): Market[] {
    return [...this.#parts.chain.state.histories.keys()];
  }

  /** Deposits as the development relayer, so that the money counts as issued and is recorded. */
  faucet(user: Address, amount: bigint): Receipt {
    const { chain, clock, randomHash } = this.#parts;
    const { tx } = signTransaction(
      {
        type: "Deposit",
        timestamp: clock.now(),
        from: this.#relayer.address,
        user,
        amount,
        externalTxHash: randomHash(),
      },
      this.#relayer,
      chain.chainId,
    );
    return chain.submit(tx);
  }

  /** Takes a snapshot. @returns Its id. @throws {DevelopmentOnlyError} If the chain is on disk. */
  snapshot(): number {
    const { chain, clock } = this.#parts;
    return this.#snapshots("core_snapshot").take(chain, clock.now());
  }

  /**
   * Goes back to a snapshot: ledger, blocks, prices and clock.
   *
   * @throws {UnknownSnapshotError} @throws {DevelopmentOnlyError} If the chain is on disk.
   */
  revert(id: number): Moment {
    const { chain, clock } = this.#parts;
    const snapshots = this.#snapshots("core_revert");
    this.#shift(snapshots.timeOf(id) - clock.now());
    snapshots.revert(chain, id);
    return this.#moved();
  }

  /**
   * Moves the clock forwards. Each slot on the way gets its price: that of the path, or the last known
   * one if it is fresh. Theses that end before then are settled, and one block is made at the end.
   *
   * @throws {DevelopmentOnlyError} If the chain is on disk.
   */
  advance(byMs: number, paths: PricePaths): Moment {
    const { chain, clock } = this.#parts;
    this.#snapshots("core_advance");
    this.#shift(byMs);
    const nowMs = clock.now();
    const fromMs = chain.head.timestampMs + SLOT_MS;
    const toMs = nowMs - nowMs % SLOT_MS;
    const lastKnown = new Map(
      this.markets.map((market) => [market, chain.oraclePrices.freshPrice(market, nowMs)]),
    );
    const priceOf = (market: Market, slotMs: number) => {
      const path = paths.get(market);
      if (path === undefined) return lastKnown.get(market);
      const share = (slotMs - fromMs) / (toMs + SLOT_MS - fromMs);
      return path[Math.floor(share * path.length)];
    };
    for (let slotMs = fromMs; slotMs < toMs; slotMs += SLOT_MS) chain.recordSlot(slotMs, priceOf);
    if (toMs >= fromMs) chain.checkpoint(toMs, priceOf);
    while (chain.settleDue()); // a checkpoint settles only some of the theses that end together
    return this.#moved();
  }

  #shift(byMs: number): void {
    const { chain, clock } = this.#parts;
    clock.shift(byMs);
    chain.oraclePrices.shift(byMs);
  }

  #moved(): Moment {
    const { chain, clock, continueAfter } = this.#parts;
    continueAfter(chain.head.timestampMs);
    return { now: clock.now(), blockNumber: chain.head.number };
  }

  #snapshots(method: string): Snapshots {
    if (this.#parts.snapshots !== undefined) return this.#parts.snapshots;
    throw new DevelopmentOnlyError(
      `${method} needs a chain in memory: start the node without --data-dir`,
    );
  }
}
