import type { Permission } from "../../../lib/protocol/account.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { PermissionLists } from "../store/schema.ts";

/** Which accounts have which permissions. */
export class Permissions {
  readonly #holders: ReadonlyMap<Permission, ReadonlySet<Address>>;

  constructor({ relayers, admins }: PermissionLists) {
    this.#holders = new Map([["relayer", new Set(relayers)], ["admin", new Set(admins)]]);
  }

  of(address: Address): Permission[] {
    return [...this.#holders].filter(([, holders]) => holders.has(address)).map(([name]) => name);
  }

  has(permission: Permission, address: Address): boolean {
    return this.#holders.get(permission)?.has(address) ?? false;
  }
}
