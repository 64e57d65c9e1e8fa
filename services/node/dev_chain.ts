import { RangemakerError } from "../../lib/errors.ts";
import type { ShiftedClock } from "../../lib/clock.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import { developmentMethods } from "../../lib/protocol/methods/development.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { signTransaction } from "../../lib/protocol/transaction.ts";
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
  /** Undefined for a chain on disk, whose time cannot be moved. */
  records: ChainRecords | undefined;
  /** Called after the clock was moved: the next checkpoint follows this one. */
  continueAfter(headMs: number): void;
  /** A random external transaction hash for a deposit without one. */
  randomHash(): Hex;
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

  /** Whether the chain is in memory: only then are there snapshots and time travel. */
  get isInMemory(): boolean {
    return this.#options.records !== undefined;
  }

  /** The markets for which {@link advance} takes a price. */
  get markets(): Market[] {
    return [...this.#options.chain.state.histories.keys()];
  }

  /** Deposits as the development relayer, so that the money counts as issued and is recorded. */
  faucet(user: Address, amount: bigint): Receipt {
    const { chain, clock, randomHash } = this.#options;
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

  /** Takes a snapshot. @returns Its id. @throws {RangemakerError} If the chain is on disk. */
  snapshot(): number {
    const { chain, clock } = this.#options;
    this.#requireRecords("core_snapshot").createSavepoint(nameOf(++this.#lastSnapshot), chain.head);
    const snapshot = { position: chain.blocks.position, atMs: clock.now() };
    this.#snapshots.set(this.#lastSnapshot, snapshot);
    return this.#lastSnapshot;
  }

  /**
   * Restores ledger, blocks, prices and clock from a snapshot, which can be used again.
   *
   * @throws {RangemakerError} If there is no such snapshot, or the chain is on disk.
   */
  revert(id: number): Moment {
    const { chain, clock } = this.#options;
    const records = this.#requireRecords("core_revert");
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
   *
   * @throws {RangemakerError} If the chain is on disk.
   */
  advance(byMs: number, given: ReadonlyMap<Market, bigint>): Moment {
    const { chain, clock } = this.#options;
    this.#requireRecords("core_advance");
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

  #requireRecords(method: string): ChainRecords {
    if (this.#options.records !== undefined) return this.#options.records;
    throw developmentOnly(
      `${method} needs a chain in memory: start the node with --data-dir :memory:`,
    );
  }
}

function nameOf(snapshot: number): string {
  return `snapshot_${snapshot}`;
}

/** The method exists on development chains only, or only on those in memory. */
function developmentOnly(message: string): RangemakerError {
  return new RangemakerError("DEVELOPMENT_ONLY", message);
}

/** The snapshot never existed, was dropped, or was deleted by a revert to an earlier one. */
function unknownSnapshot(id: number, known: readonly number[]): RangemakerError {
  const kept = known.length === 0 ? "there is none" : `there are ${known.join(", ")}`;
  const message = `No snapshot has the id ${id}: ${kept}; core_snapshot takes one`;
  return new RangemakerError("UNKNOWN_SNAPSHOT", message, { details: { id } });
}

/**
 * The methods of a development chain (docs/protocol.md, "Development methods of the node"). If off,
 * their error says how to enable them.
 */
export function createDevMethods(dev: DevChain | undefined): [name: string, method: Method][] {
  if (dev === undefined) return Object.keys(developmentMethods).map(disabledMethod);
  const methods = bindMethods(developmentMethods, {
    core_faucet: ({ address, amount }) => dev.faucet(address, amount),
    core_snapshot: () => dev.snapshot(),
    core_revert: ({ id }) => dev.revert(id),
    core_advance: ({ jump: { ms, prices } }) =>
      dev.advance(ms, requirePricesByMarket(prices, dev.markets)),
  });
  if (dev.isInMemory) return methods;
  // On a chain on disk, only the faucet works, so no other method is listed.
  return methods.map(([name, { definition, ...method }]) =>
    name === "core_faucet" ? [name, { definition, ...method }] : [name, method]
  );
}

function disabledMethod(name: string): [name: string, method: Method] {
  const call = () => {
    throw developmentOnly(`${name} is off: start the node with --dev to use it`);
  };
  return [name, { access: "write", isCostly: true, call }];
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
