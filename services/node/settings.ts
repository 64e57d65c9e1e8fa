import { DEV_ACCOUNTS } from "../../lib/dev_accounts.ts";
import { RING_SLOTS_DEFAULT } from "../../lib/price_ring.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { Genesis } from "./ledger.ts";

/** Settings that flags, the settings file and the defaults decide together. */
export interface NodeSettings {
  chainId: number;
  oracle: OracleSettings;
  genesis: Genesis;
  /** The genesis is that of {@link DEV_ACCOUNTS}, because none was given. */
  isDevGenesis: boolean;
}

/** `[oracle]` (spec: price oracle, "Write node settings"). */
export interface OracleSettings {
  /** Scheme optional. */
  serviceUrl: string;
  timeoutMs: number;
  maxStaleMs: number;
  /** Price slots per market: a power of two. */
  ringBufferSize: number;
}

/** What may be given of the settings. */
export interface GivenSettings {
  chainId?: number;
  oracleUrl?: string;
  oracleTimeoutMs?: number;
  maxStaleMs?: number;
  ringBufferSize?: number;
  relayers?: Address[];
  admins?: Address[];
  balances?: ReadonlyMap<Address, bigint>;
}

/** Defaults of all settings but the genesis. */
export const DEFAULTS = {
  chainId: 1337,
  oracleUrl: "localhost:8550",
  oracleTimeoutMs: 10,
  maxStaleMs: 3_000,
  ringBufferSize: RING_SLOTS_DEFAULT,
} as const;

/** What the development solver owns at genesis: 1,000,000 USDC. */
export const DEV_SOLVER_BALANCE = 1_000_000_000_000n;

/** Fills in the defaults. */
export function resolveSettings(given: GivenSettings): NodeSettings {
  const { relayers, admins, balances } = given;
  const isDevGenesis = relayers === undefined && admins === undefined && balances === undefined;
  return {
    chainId: given.chainId ?? DEFAULTS.chainId,
    oracle: {
      serviceUrl: given.oracleUrl ?? DEFAULTS.oracleUrl,
      timeoutMs: given.oracleTimeoutMs ?? DEFAULTS.oracleTimeoutMs,
      maxStaleMs: given.maxStaleMs ?? DEFAULTS.maxStaleMs,
      ringBufferSize: given.ringBufferSize ?? DEFAULTS.ringBufferSize,
    },
    genesis: isDevGenesis ? devGenesis() : {
      relayers: relayers ?? [],
      admins: admins ?? [],
      balances: balances ?? new Map(),
    },
    isDevGenesis,
  };
}

function devGenesis(): Genesis {
  return {
    relayers: [DEV_ACCOUNTS.relayer.address],
    admins: [DEV_ACCOUNTS.admin.address],
    balances: new Map([[DEV_ACCOUNTS.solver.address, DEV_SOLVER_BALANCE]]),
  };
}
