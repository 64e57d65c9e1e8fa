import type { Account, Permission } from "../../../lib/protocol/account.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";

/** The initial state of a chain. */
export interface Genesis {
  /** USDC with 6 decimals. */
  balances: ReadonlyMap<Address, bigint>;
  relayers: readonly Address[];
  admins: readonly Address[];
}

/** Balances, locked amounts and permissions by address. */
export class Accounts {
  readonly #balances: Map<Address, bigint>;
  readonly #locked = new Map<Address, bigint>();
  readonly #permissions: ReadonlyMap<Permission, ReadonlySet<Address>>;

  constructor(genesis: Genesis) {
    this.#balances = new Map(genesis.balances);
    this.#permissions = new Map([
      ["relayer", new Set(genesis.relayers)],
      ["admin", new Set(genesis.admins)],
    ]);
  }

  /** Sum of all balances. */
  get total(): bigint {
    let sum = 0n;
    for (const balance of this.#balances.values()) sum += balance;
    return sum;
  }

  /** The account of an address; its balance is 0 if it was never used. */
  get(address: Address): Account {
    const permissions = [...this.#permissions]
      .filter(([, holders]) => holders.has(address))
      .map(([permission]) => permission);
    const locked = this.#locked.get(address) ?? 0n;
    return { address, balance: this.balance(address), locked, permissions };
  }

  balance(address: Address): bigint {
    return this.#balances.get(address) ?? 0n;
  }

  /** Whether the address ever had a balance. */
  has(address: Address): boolean {
    return this.#balances.has(address);
  }

  holds(permission: Permission, address: Address): boolean {
    return this.#permissions.get(permission)?.has(address) ?? false;
  }

  credit(address: Address, amount: bigint): void {
    this.#balances.set(address, this.balance(address) + amount);
  }

  lock(address: Address, amount: bigint): void {
    this.#locked.set(address, (this.#locked.get(address) ?? 0n) + amount);
  }
}
