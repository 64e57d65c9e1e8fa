import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import {
  type Address,
  addressSchema,
  describeIssue,
  UINT64_MAX,
} from "../../lib/protocol/scalars.ts";
import { UsageError } from "../../lib/cli/options.ts";
import {
  type GivenSettings,
  ORACLE_TIMEOUT_MAX_MS,
  ringBufferSizeSchema,
  serviceUrlSchema,
} from "./settings.ts";

function integerBetween(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const rule = max === Number.MAX_SAFE_INTEGER
    ? `Expected a whole number of at least ${min}`
    : `Expected a whole number from ${min} to ${max}`;
  return z.bigint({ error: rule }).refine((value) => value >= min && value <= max, rule)
    .transform(Number);
}

/** An amount as a TOML integer, or as decimal text where it is over 63 bits. */
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
  chain: z.strictObject({ id: integerBetween(1).optional() }).prefault({}),
  genesis: z.strictObject({
    relayers: addressesSchema.optional(),
    admins: addressesSchema.optional(),
    balances: z.record(addressSchema, amountSchema).optional(),
  }).prefault({}),
});

/**
 * Reads a settings file (spec: price oracle, "Write node settings").
 *
 * @throws {UsageError} On the first thing wrong with it, in one line.
 */
export async function readSettingsFile(path: string): Promise<GivenSettings> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (thrown) {
    throw new UsageError(`Settings file ${path} cannot be read: ${messageOf(thrown)}`);
  }
  return parseSettings(text, path);
}

/** Reads the text of a settings file. @throws {UsageError} As {@link readSettingsFile}. */
export function parseSettings(text: string, path: string): GivenSettings {
  const parsed = fileSchema.safeParse(parseToml(text, path));
  if (!parsed.success) {
    throw new UsageError(`Invalid settings file ${path}: ${describeIssue(parsed.error)}`);
  }
  const { oracle, chain, genesis } = parsed.data;
  return {
    chainId: chain.id,
    oracleUrl: oracle.service_url,
    oracleTimeoutMs: oracle.timeout_ms,
    maxStaleMs: oracle.max_stale_ms,
    ringBufferSize: oracle.ring_buffer_size,
    relayers: genesis.relayers,
    admins: genesis.admins,
    balances: genesis.balances && balancesOf(genesis.balances),
  };
}

function balancesOf(balances: Record<Address, bigint>): Map<Address, bigint> {
  // Object.entries forgets that the schema has turned every key into an address.
  return new Map(Object.entries(balances) as [Address, bigint][]);
}

function parseToml(text: string, path: string): unknown {
  try {
    return parse(text, { integersAsBigInt: true });
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    const reason = thrown.message.split("\n")[0];
    throw new UsageError(
      `Invalid settings file ${path}: line ${thrown.line}, column ${thrown.column}: ${reason}`,
    );
  }
}
