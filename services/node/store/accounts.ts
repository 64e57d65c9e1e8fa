import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Funds } from "./schema.ts";
import type { Table } from "./table.ts";

/** Rows that are read at once: all of them would need several times the memory of the accounts. */
export const ACCOUNTS_PER_READ = 10_000;

const NOTHING: Funds = { balance: 0n, locked: 0n };

/** Balances and locked amounts by address, all in memory. */
export class Accounts {
  readonly #table: Table<Funds>;
  readonly #funds = new Map<Address, Funds>();
  /** Addresses whose row is not written yet. */
  readonly #changed = new Set<Address>();

  constructor(table: Table<Funds>) {
    this.#table = table;
    let last = "";
    let before: number;
    do {
      before = this.#funds.size;
      const rows = table.select("WHERE key > ? ORDER BY key LIMIT ?", last, ACCOUNTS_PER_READ);
      for (const [address, funds] of rows as [Address, Funds][]) { // its keys are addresses
        this.#funds.set(address, funds);
        last = address;
      }
      // A damaged table may return the same rows again.
    } while (this.#funds.size === before + ACCOUNTS_PER_READ);
  }

  get total(): bigint {
    let sum = 0n;
    for (const { balance } of this.#funds.values()) sum += balance;
    return sum;
  }

  /** The funds of an address; zero if it was never used. */
  get(address: Address): Funds {
    return this.#funds.get(address) ?? NOTHING;
  }

  /** Whether the address ever had funds. */
  has(address: Address): boolean {
    return this.#funds.has(address);
  }

  /** Adds amounts, which may be negative. */
  add(address: Address, { balance = 0n, locked = 0n }: Partial<Funds>): void {
    const before = this.get(address);
    const funds = { balance: before.balance + balance, locked: before.locked + locked };
    this.#funds.set(address, funds);
    this.#changed.add(address);
  }

  write(): void {
    for (const address of this.#changed) this.#table.put(address, this.get(address));
    this.#changed.clear();
  }
}
