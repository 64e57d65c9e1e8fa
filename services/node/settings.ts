import { z } from "zod";
import { RING_SLOTS_DEFAULT } from "../../lib/prices/price_ring.ts";
import { START_AHEAD_MAX_MS } from "../../lib/protocol/constants.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { type Markets, SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { PermissionLists } from "./store/tables.ts";
import { isServiceUrl } from "./oracle/oracle_client.ts";

/** Settings that have a default. */
interface DefaultedSettings {
  chainId: number;
  /** URL; the scheme is optional. */
  oracleUrl: string;
  /** How long a checkpoint waits for prices. */
  oracleTimeoutMs: number;
  /** The greatest age at which a price is fresh. */
  maxStaleMs: number;
  /** Price slots per market: a power of two. */
  ringBufferSize: number;
  /** How far ahead of its submission a window may start. */
  maxStartAheadMs: number;
  /** Minimum bet, USDC with 6 decimals. */
  minBet: bigint;
}

/** Settings of a node, from its options and the defaults. */
export interface NodeSettings extends DefaultedSettings {
  markets: Markets;
  /** Apply at every start, also to an existing chain. */
  permissions: PermissionLists;
  /** Balances of a new chain. If undefined, a new one has none, and an existing one may have any. */
  balances: ReadonlyMap<Address, bigint> | undefined;
  /** No permissions and balances were given, so that they are those of {@link DEV_ACCOUNTS}. */
  isDevGenesis: boolean;
}

/** Settings from options; all are optional. */
export interface GivenSettings extends Partial<DefaultedSettings> {
  relayers?: Address[];
  admins?: Address[];
  balances?: ReadonlyMap<Address, bigint>;
}

/** Defaults of all settings but the genesis. */
export const DEFAULTS: Readonly<DefaultedSettings> = {
  chainId: 1337,
  oracleUrl: "localhost:8550",
  oracleTimeoutMs: 10,
  maxStaleMs: 3_000,
  ringBufferSize: RING_SLOTS_DEFAULT,
  maxStartAheadMs: START_AHEAD_MAX_MS,
  minBet: 10_000n,
};

/** The longest timeout of a pull: the pull must end before the next checkpoint. */
export const ORACLE_TIMEOUT_MAX_MS = 90;

/** The largest ring: 256 MiB per market. */
const RING_BUFFER_SIZE_MAX = 2 ** 24;

/** Slots of a price ring. */
export const ringBufferSizeSchema = z.number().int().refine(
  (size) => size >= 1 && size <= RING_BUFFER_SIZE_MAX && Number.isInteger(Math.log2(size)),
  `Expected a power of two of at most ${RING_BUFFER_SIZE_MAX}`,
);

/** URL of the oracle; the scheme is optional. */
export const serviceUrlSchema = z.string({ error: "Expected a URL as text" })
  .refine(isServiceUrl, "Expected host:port or an http: or https: URL");

/** Balance of the development solver at genesis: 1,000,000 USDC. */
export const DEV_SOLVER_BALANCE = 1_000_000_000_000n;

/** Options with the defaults for what was not given. */
export function resolveSettings(
  given: GivenSettings,
  markets: Markets = SPEC_MARKETS,
): NodeSettings {
  const { relayers, admins, balances } = given;
  const isDevGenesis = relayers === undefined && admins === undefined && balances === undefined;
  const permissions = { relayers: relayers ?? [], admins: admins ?? [] };
  const names = Object.keys(DEFAULTS) as (keyof DefaultedSettings)[]; // its own keys
  const values = names.map((name) => [name, given[name] ?? DEFAULTS[name]]);
  return {
    ...Object.fromEntries(values) as DefaultedSettings, // one for each name
    markets,
    ...(isDevGenesis ? DEV_GENESIS : { permissions, balances }),
    isDevGenesis,
  };
}

const DEV_GENESIS = {
  permissions: {
    relayers: [DEV_ACCOUNTS.relayer.address],
    admins: [DEV_ACCOUNTS.admin.address],
  },
  balances: new Map([[DEV_ACCOUNTS.solver.address, DEV_SOLVER_BALANCE]]),
};
