import { parse } from "smol-toml";
import { z } from "zod";
import { integerRule } from "../../lib/cli/option_kinds.ts";
import { parsingToml, readTomlFile } from "../../lib/cli/toml_file.ts";
import { RING_SLOTS_DEFAULT } from "../../lib/prices/price_ring.ts";
import { START_AHEAD_MAX_MS } from "../../lib/protocol/constants.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { type Markets, SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { type Address, addressSchema, UINT64_MAX } from "../../lib/protocol/scalars.ts";
import type { PermissionLists } from "./chain/permissions.ts";
import { isServiceUrl } from "./oracle/oracle_client.ts";

/** Settings of a node, from flags, the settings file and the defaults. */
export interface NodeSettings {
  markets: Markets;
  chainId: number;
  oracle: OracleSettings;
  theses: ThesesSettings;
  /** Apply at every start, also to an existing chain. */
  permissions: PermissionLists;
  /** Balances of a new chain. If undefined, a new one has none, and an existing one may have any. */
  balances: ReadonlyMap<Address, bigint> | undefined;
  /** No permissions and balances were given, so that they are those of {@link DEV_ACCOUNTS}. */
  isDevGenesis: boolean;
}

/** `[oracle]` (spec: price oracle, "Write node settings"). */
export interface OracleSettings {
  /** URL; the scheme is optional. */
  serviceUrl: string;
  timeoutMs: number;
  maxStaleMs: number;
  /** Price slots per market: a power of two. */
  ringBufferSize: number;
}

/** `[theses]`: rules for new theses. */
export interface ThesesSettings {
  /** How far ahead of its submission a window may start. */
  maxStartAheadMs: number;
  /** Minimum bet, USDC with 6 decimals. */
  minBet: bigint;
}

/** Settings from flags or a file; all are optional. */
export interface GivenSettings {
  chainId?: number;
  oracleUrl?: string;
  oracleTimeoutMs?: number;
  maxStaleMs?: number;
  ringBufferSize?: number;
  maxStartAheadMs?: number;
  minBet?: bigint;
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
  maxStartAheadMs: START_AHEAD_MAX_MS,
  minBet: 10_000n,
} as const;

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

/** Combines settings: options win over the file, and the file over the defaults. */
export function resolveSettings(
  options: GivenSettings,
  file: GivenSettings = {},
  markets: Markets = SPEC_MARKETS,
): NodeSettings {
  const pick = <K extends keyof GivenSettings>(key: K): GivenSettings[K] =>
    options[key] ?? file[key];
  const [relayers, admins, balances] = [pick("relayers"), pick("admins"), pick("balances")];
  const isDevGenesis = relayers === undefined && admins === undefined && balances === undefined;
  return {
    markets,
    chainId: pick("chainId") ?? DEFAULTS.chainId,
    oracle: {
      serviceUrl: pick("oracleUrl") ?? DEFAULTS.oracleUrl,
      timeoutMs: pick("oracleTimeoutMs") ?? DEFAULTS.oracleTimeoutMs,
      maxStaleMs: pick("maxStaleMs") ?? DEFAULTS.maxStaleMs,
      ringBufferSize: pick("ringBufferSize") ?? DEFAULTS.ringBufferSize,
    },
    theses: {
      maxStartAheadMs: pick("maxStartAheadMs") ?? DEFAULTS.maxStartAheadMs,
      minBet: pick("minBet") ?? DEFAULTS.minBet,
    },
    ...(isDevGenesis ? DEV_GENESIS : {
      permissions: { relayers: relayers ?? [], admins: admins ?? [] },
      balances,
    }),
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

function integerBetween(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const rule = integerRule(min, max);
  return z.bigint({ error: rule }).refine((value) => value >= min && value <= max, rule)
    .transform(Number);
}

/** An amount as a TOML integer, or as decimal text if it has over 63 bits. */
const amountSchema = z.union([z.bigint(), z.string().regex(/^\d{1,20}$/).transform(BigInt)], {
  error: "Expected an amount in units of 10^-6 USDC",
}).refine((amount) => amount >= 0n && amount <= UINT64_MAX, "Expected an amount of 64 bits");

const addressesSchema = z.array(addressSchema, { error: "Expected a list of addresses" });

const fileSchema = z.strictObject({
  oracle: z.strictObject({
    ring_buffer_size: integerBetween(1).pipe(ringBufferSizeSchema).optional(),
    max_stale_ms: integerBetween(1).optional(),
    service_url: serviceUrlSchema.optional(),
    timeout_ms: integerBetween(1, ORACLE_TIMEOUT_MAX_MS).optional(),
  }).prefault({}),
  theses: z.strictObject({
    max_start_ahead_ms: integerBetween(0).optional(),
    min_bet: amountSchema.optional(),
  }).prefault({}),
  chain: z.strictObject({ id: integerBetween(1).optional() }).prefault({}),
  permissions: z.strictObject({
    relayers: addressesSchema.optional(),
    admins: addressesSchema.optional(),
  }).prefault({}),
  genesis: z.strictObject({
    balances: z.record(addressSchema, amountSchema).optional(),
  }).prefault({}),
});

/**
 * Reads a settings file (spec: price oracle, "Write node settings").
 *
 * @throws {UsageError} If it cannot be read or is invalid; the message has one line.
 */
export async function readSettingsFile(path: string): Promise<GivenSettings> {
  return parseSettings(await readTomlFile("Settings", path), path);
}

/** Parses the text of a settings file. @throws {UsageError} Like {@link readSettingsFile}. */
export function parseSettings(text: string, path: string): GivenSettings {
  const { oracle, theses, chain, permissions, genesis } = parsingToml(
    "settings",
    path,
    () => fileSchema.parse(parse(text, { integersAsBigInt: true })),
  );
  return {
    chainId: chain.id,
    oracleUrl: oracle.service_url,
    oracleTimeoutMs: oracle.timeout_ms,
    maxStaleMs: oracle.max_stale_ms,
    ringBufferSize: oracle.ring_buffer_size,
    maxStartAheadMs: theses.max_start_ahead_ms,
    minBet: theses.min_bet,
    relayers: permissions.relayers,
    admins: permissions.admins,
    balances: genesis.balances && balancesOf(genesis.balances),
  };
}

function balancesOf(balances: Record<Address, bigint>): Map<Address, bigint> {
  // The schema has parsed every key as an address; Object.entries types them as strings.
  return new Map(Object.entries(balances) as [Address, bigint][]);
}
