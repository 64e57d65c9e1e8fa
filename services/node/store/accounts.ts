import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Table } from "./table.ts";

/** USDC with 6 decimals of one address. */
export interface Funds {
  balance: bigint;
  /** In unsettled theses. */
  locked: bigint;
}

const NOTHING: Funds = { balance: 0n, locked: 0n };

/** Balances and locked amounts by address, all in memory. */
export class Accounts {
  readonly #rows: Table<Funds>;
  readonly #funds: Map<Address, Funds>;

  constructor(rows: Table<Funds>) {
    this.#rows = rows;
    this.#funds = new Map(rows.select() as [Address, Funds][]); // its keys are addresses
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
    this.#rows.put(address, funds);
  }
}
