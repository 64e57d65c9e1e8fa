import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { NodeOptions } from "./options.ts";
import type { PermissionLists } from "./store/schema.ts";

/** Options of a node with their defaults resolved: the markets of its file, and the genesis. */
export interface NodeSettings extends Omit<NodeOptions, "markets" | "relayers" | "admins"> {
  markets: Markets;
  /** Apply at every start, also to an existing chain. */
  permissions: PermissionLists;
  /** No permissions and balances were given, so those of {@link DEV_ACCOUNTS} are used. */
  isDevGenesis: boolean;
}

/** Permissions and balances if none are given; the solver has 1,000,000 USDC. */
const DEV_GENESIS = {
  permissions: {
    relayers: [DEV_ACCOUNTS.relayer.address],
    admins: [DEV_ACCOUNTS.admin.address],
  },
  balances: new Map([[DEV_ACCOUNTS.solver.address, 1_000_000_000_000n]]),
};

export function resolveSettings(
  { relayers, admins, ...others }: NodeOptions,
  markets: Markets,
): NodeSettings {
  const isDevGenesis = relayers === undefined && admins === undefined &&
    others.balances === undefined;
  const permissions = { relayers: relayers ?? [], admins: admins ?? [] };
  const genesis = isDevGenesis ? DEV_GENESIS : { permissions };
  return { ...others, markets, ...genesis, isDevGenesis };
}
