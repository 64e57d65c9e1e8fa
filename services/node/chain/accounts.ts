import type { Address } from "../../../lib/protocol/scalars.ts";
import type { ChainRecords, Funds } from "./records.ts";

const NOTHING: Funds = { balance: 0n, locked: 0n };

/** Balances and locked amounts by address. Every change is recorded. */
export class Accounts {
  readonly #records: ChainRecords;
  readonly #funds: Map<Address, Funds>;

  constructor(records: ChainRecords, funds: Iterable<readonly [Address, Funds]>) {
    this.#records = records;
    this.#funds = new Map(funds);
  }

  /** Sum of all balances. */
  get total(): bigint {
    let sum = 0n;
    for (const { balance } of this.#funds.values()) sum += balance;
    return sum;
  }

  /** The funds of an address: nothing if it was never used. */
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
    this.#records.saveFunds(address, funds);
  }
}
