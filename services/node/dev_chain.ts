import { RangemakerError } from "../../lib/errors.ts";
import type { ShiftedClock } from "../../lib/clock.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import { developmentMethods } from "../../lib/protocol/methods/development.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { hashTransaction } from "../../lib/protocol/transaction.ts";
import { NewestMap } from "../../lib/newest_map.ts";
import type { BlockLogPosition } from "./chain/block.ts";
import type { Chain } from "./chain/chain.ts";
import { bindMethods, invalidParams, type Method } from "./rpc/method.ts";
import type { ChainRecords } from "./store/chain_records.ts";

/**
 * Most snapshots that are kept; the oldest is deleted first. Its savepoint stays until a revert to
 * an earlier one: SQLite cannot release one without those after it.
 */
const SNAPSHOTS_MAX = 16;

interface DevChainOptions {
  chain: Chain;
  /** The clock of the chain, and of other services that share it. */
  clock: ShiftedClock;
  records: ChainRecords;
  /** Called after the clock was moved: the next checkpoint follows this one. */
  continueAfter(headMs: number): void;
}

/** The time after a move. */
interface Moment {
  /** Unix milliseconds on the clock of the chain. */
  now: number;
  blockNumber: number;
}

/** Features of a development chain only: free money, snapshots and time travel. */
export class DevChain {
  readonly #options: DevChainOptions;
  readonly #relayer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);
  /** The parts of snapshots in memory, by id. The rest is in a savepoint of the database. */
  readonly #snapshots = new NewestMap<number, { position: BlockLogPosition; atMs: number }>(
    SNAPSHOTS_MAX,
  );
  #lastSnapshot = 0;

  constructor(options: DevChainOptions) {
    this.#options = options;
  }

  /** The markets for which {@link advance} takes a price. */
  get markets(): Market[] {
    return [...this.#options.chain.state.histories.keys()];
  }

  /** Deposits as the development relayer, so that the money counts as issued and is recorded. */
  faucet(user: Address, amount: bigint): Receipt {
    const { chain, clock } = this.#options;
    const externalTxHash: Hex = `0x${crypto.getRandomValues(new Uint8Array(32)).toHex()}`;
    const tx = {
      type: "Deposit" as const,
      timestamp: clock.now(),
      from: this.#relayer.address,
      user,
      amount,
      externalTxHash,
    };
    const signature = this.#relayer.sign(hashTransaction(tx, chain.chainId));
    return chain.submit({ ...tx, signature });
  }

  /** Takes a snapshot. @returns Its id. */
  snapshot(): number {
    const { chain, clock, records } = this.#options;
    records.createSavepoint(nameOf(++this.#lastSnapshot), chain.head);
    const snapshot = { position: chain.blocks.position, atMs: clock.now() };
    this.#snapshots.set(this.#lastSnapshot, snapshot);
    return this.#lastSnapshot;
  }

  /**
   * Restores ledger, blocks, prices and clock from a snapshot, which can be used again.
   *
   * @throws {RangemakerError} If there is no such snapshot.
   */
  revert(id: number): Moment {
    const { chain, clock, records } = this.#options;
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) throw unknownSnapshot(id, [...this.#snapshots.keys()]);
    chain.restore(snapshot.position, () => {
      records.revertTo(nameOf(id));
      for (const later of this.#snapshots.keys()) if (later > id) this.#snapshots.delete(later);
      this.#shift(snapshot.atMs - clock.now());
    });
    return this.#resumeCheckpoints();
  }

  /**
   * Moves the clock forward. Each slot gets the given price of its market, or the last known one if
   * that is fresh. Theses that end until then are settled, and one block is sealed at the end.
   */
  advance(byMs: number, given: ReadonlyMap<Market, bigint>): Moment {
    const { chain, clock } = this.#options;
    this.#shift(byMs);
    const nowMs = clock.now();
    const priceOf = (market: Market) =>
      given.get(market) ?? chain.oraclePrices.freshPrice(market, nowMs);
    let slotMs = chain.head.timestampMs + SLOT_MS;
    // The time goes on meanwhile: over a second of it would be skipped, and lack its prices.
    for (; slotMs + SLOT_MS <= clock.now(); slotMs += SLOT_MS) chain.recordSlot(slotMs, priceOf);
    if (slotMs <= clock.now()) chain.checkpoint(slotMs, priceOf);
    // A checkpoint settles only some of the theses that end together.
    let moreAreDue = true;
    while (moreAreDue) moreAreDue = chain.settleDue();
    return this.#resumeCheckpoints();
  }

  #shift(byMs: number): void {
    const { chain, clock } = this.#options;
    clock.shift(byMs);
    chain.oraclePrices.shift(byMs);
  }

  #resumeCheckpoints(): Moment {
    const { chain, clock, continueAfter } = this.#options;
    continueAfter(chain.head.timestampMs);
    return { now: clock.now(), blockNumber: chain.head.number };
  }
}

function nameOf(snapshot: number): string {
  return `snapshot_${snapshot}`;
}

/** The snapshot never existed, was dropped, or was deleted by a revert to an earlier one. */
function unknownSnapshot(id: number, known: readonly number[]): RangemakerError {
  const kept = known.length === 0 ? "there is none" : `there are ${known.join(", ")}`;
  const message = `No snapshot has the id ${id}: ${kept}; core_snapshot takes one`;
  return new RangemakerError("UNKNOWN_SNAPSHOT", message, { details: { id } });
}

/**
 * The methods of a development chain (docs/protocol.md, "Development methods of the node"). The time
 * of a chain on disk cannot be moved: there is only the faucet.
 */
export function createDevMethods(
  dev: DevChain,
  isInMemory: boolean,
): [name: string, method: Method][] {
  const methods = bindMethods(developmentMethods, {
    core_faucet: ({ address, amount }) => dev.faucet(address, amount),
    core_snapshot: () => dev.snapshot(),
    core_revert: ({ id }) => dev.revert(id),
    core_advance: ({ jump: { ms, prices } }) =>
      dev.advance(ms, requirePricesByMarket(prices, dev.markets)),
  });
  return isInMemory ? methods : methods.filter(([name]) => name === "core_faucet");
}

function requirePricesByMarket(
  prices: Record<string, bigint>,
  markets: readonly Market[],
): ReadonlyMap<Market, bigint> {
  return new Map(
    Object.entries(prices).map(([symbol, price]) => {
      const market = markets.find((market) => market.symbol === symbol);
      if (market !== undefined) return [market, price];
      const known = markets.map((market) => market.symbol).join(", ");
      throw invalidParams(`no market has the symbol ${symbol}: there are ${known}`);
    }),
  );
}
