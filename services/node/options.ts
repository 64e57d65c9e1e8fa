import { z } from "zod";
import { type Address, addressSchema, uint64Schema } from "../../lib/protocol/scalars.ts";
import {
  addressListSchema,
  chainIdOption,
  hostOption,
  integerSchema,
  portSchema,
} from "../../lib/cli/option_types.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import {
  DEFAULTS,
  ORACLE_TIMEOUT_MAX_MS,
  ringBufferSizeSchema,
  serviceUrlSchema,
} from "./settings.ts";

/** Repeated `address=amount`, as a map. */
const balancesSchema = z.array(z.string()).transform((entries, context) => {
  const balances = new Map<Address, bigint>();
  for (const entry of entries) {
    const [addressText, amountText, ...rest] = entry.split("=");
    const address = addressSchema.safeParse(addressText);
    const amount = uint64Schema.safeParse(amountText);
    if (!address.success || !amount.success || rest.length > 0) {
      context.addIssue({ code: "custom", message: "Expected <address>=<amount>" });
      return z.NEVER;
    }
    balances.set(address.data, amount.data);
  }
  return balances;
});

/** The options of `rangemaker node`. A `shownDefault` applies after the settings file. */
export const options = {
  port: {
    flags: "-p, --port <port>",
    env: "NODE_PORT",
    description: "port of JSON-RPC over HTTP and WebSocket; 0 takes a free one",
    schema: portSchema,
    default: "8545",
  },
  host: hostOption,
  readPort: {
    flags: "--read-port <port>",
    env: "NODE_READ_PORT",
    description: "second port, without the write methods; 0 takes a free one",
    schema: portSchema.optional(),
  },
  oracleUrl: {
    flags: "-o, --oracle-url <url>",
    env: "ORACLE_URL",
    description: "oracle HTTP service; http:// may be left out",
    schema: serviceUrlSchema.optional(),
    shownDefault: DEFAULTS.oracleUrl,
  },
  oracleTimeoutMs: {
    flags: "--oracle-timeout-ms <ms>",
    description: "how long a checkpoint waits for prices",
    schema: integerSchema(1, ORACLE_TIMEOUT_MAX_MS).optional(),
    shownDefault: DEFAULTS.oracleTimeoutMs.toString(),
  },
  maxStaleMs: {
    flags: "--max-stale-ms <ms>",
    description: "age at which a price no longer counts",
    schema: integerSchema(1).optional(),
    shownDefault: DEFAULTS.maxStaleMs.toString(),
  },
  ringBufferSize: {
    flags: "--ring-buffer-size <slots>",
    description: "price slots of 100 ms per market, a power of two",
    schema: integerSchema(1).pipe(ringBufferSizeSchema).optional(),
    shownDefault: DEFAULTS.ringBufferSize.toString(),
  },
  chainId: {
    ...chainIdOption,
    schema: chainIdOption.schema.optional(),
    default: undefined,
    shownDefault: DEFAULTS.chainId.toString(),
  },
  relayers: {
    flags: "--relayers <addresses>",
    description: "accounts that may submit deposits, separated by commas",
    schema: addressListSchema.optional(),
  },
  admins: {
    flags: "--admins <addresses>",
    description: "accounts that may backfill prices, separated by commas",
    schema: addressListSchema.optional(),
  },
  balances: {
    flags: "--balances <address=amount>",
    description: "what an account owns at genesis, USDC with 6 decimals; may be repeated",
    schema: balancesSchema.optional(),
    repeatable: true,
  },
  config: {
    flags: "-c, --config <file>",
    env: "NODE_CONFIG",
    description: "TOML file with [oracle], [theses], [chain] and [genesis]; options win over it",
    schema: z.string().min(1).optional(),
  },
  dataDir: {
    flags: "-d, --data-dir <path>",
    env: "NODE_DATA_DIR",
    description: "where the chain is kept; in memory if not given",
    schema: z.string().min(1).optional(),
  },
} satisfies OptionTable;
