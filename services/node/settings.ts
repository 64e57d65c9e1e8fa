import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { RING_SLOTS_DEFAULT } from "../../lib/prices/price_ring.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { Genesis } from "./chain/ledger.ts";
import { isServiceUrl } from "./oracle/oracle_pull.ts";

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

/** The greatest timeout of a pull: less than a checkpoint takes. */
export const ORACLE_TIMEOUT_MAX_MS = 90;

/** The greatest ring: 256 MiB per market. */
const RING_BUFFER_SIZE_MAX = 2 ** 24;

/** Slots of a price ring. */
export const ringBufferSizeSchema = z.number().int().refine(
  (size) => size >= 1 && size <= RING_BUFFER_SIZE_MAX && Number.isInteger(Math.log2(size)),
  `Expected a power of two of at most ${RING_BUFFER_SIZE_MAX}`,
);

/** Where the oracle is; the scheme may be left out. */
export const serviceUrlSchema = z.string({ error: "Expected a URL as text" })
  .refine(isServiceUrl, "Expected host:port or an http: or https: URL");

/** What the development solver owns at genesis: 1,000,000 USDC. */
export const DEV_SOLVER_BALANCE = 1_000_000_000_000n;

/** Fills in what options do not give: from the settings file, then from the defaults. */
export function resolveSettings(options: GivenSettings, file: GivenSettings = {}): NodeSettings {
  const pick = <K extends keyof GivenSettings>(key: K): GivenSettings[K] =>
    options[key] ?? file[key];
  const [relayers, admins, balances] = [pick("relayers"), pick("admins"), pick("balances")];
  const isDevGenesis = relayers === undefined && admins === undefined && balances === undefined;
  return {
    chainId: pick("chainId") ?? DEFAULTS.chainId,
    oracle: {
      serviceUrl: pick("oracleUrl") ?? DEFAULTS.oracleUrl,
      timeoutMs: pick("oracleTimeoutMs") ?? DEFAULTS.oracleTimeoutMs,
      maxStaleMs: pick("maxStaleMs") ?? DEFAULTS.maxStaleMs,
      ringBufferSize: pick("ringBufferSize") ?? DEFAULTS.ringBufferSize,
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
