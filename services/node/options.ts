import { z } from "zod";
import { type Address, addressSchema, uint64Schema } from "../../lib/protocol/scalars.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import {
  chainIdOption,
  listenOptions,
  marketsOption,
  readerOriginsOption,
  retainOption,
} from "../../lib/cli/shared_options.ts";
import {
  DEFAULTS,
  ORACLE_TIMEOUT_MAX_MS,
  ringBufferSizeSchema,
  serviceUrlSchema,
} from "./settings.ts";
import { RETAIN_MIN_MS } from "./store/storage.ts";

/** `address=amount` several times, as a map. */
const balances = {
  schema: z.array(z.string()).transform((entries, context) => {
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
  }),
  placeholder: "address=amount",
} satisfies kinds.OptionKind;

/** The URL of the oracle, with or without a scheme. */
const serviceUrl = { ...kinds.httpUrl, schema: serviceUrlSchema } satisfies kinds.OptionKind;

const ringBufferSize = {
  schema: kinds.integer(1).schema.pipe(ringBufferSizeSchema),
  placeholder: "slots",
} satisfies kinds.OptionKind;

/** The options of `rangemaker node`. The settings file can set those without a default here. */
export const options = {
  port: {
    flags: "-p, --port",
    kind: kinds.port,
    env: "NODE_PORT",
    description: "JSON-RPC port for HTTP and WebSocket; 0 takes a free one",
    default: "8545",
  },
  ...listenOptions,
  corsOrigins: readerOriginsOption,
  readPort: {
    flags: "--read-port",
    kind: kinds.port,
    env: "NODE_READ_PORT",
    description: "second port without the write methods; 0 takes a free one",
    default: "8547",
  },
  oracleUrl: {
    flags: "-o, --oracle-url",
    kind: serviceUrl,
    env: "ORACLE_URL",
    description: "URL of the oracle; http:// may be omitted",
    shownDefault: DEFAULTS.oracleUrl,
  },
  oracleTimeoutMs: {
    flags: "--oracle-timeout-ms",
    kind: kinds.duration(1, ORACLE_TIMEOUT_MAX_MS),
    description: "how long a checkpoint waits for prices",
    shownDefault: DEFAULTS.oracleTimeoutMs.toString(),
  },
  maxStaleMs: {
    flags: "--max-stale-ms",
    kind: kinds.duration(1),
    description: "maximum age of a price",
    shownDefault: DEFAULTS.maxStaleMs.toString(),
  },
  ringBufferSize: {
    flags: "--ring-buffer-size",
    kind: ringBufferSize,
    description: "price slots of 100 ms per market, a power of two",
    shownDefault: DEFAULTS.ringBufferSize.toString(),
  },
  chainId: {
    ...chainIdOption,
    default: undefined,
    shownDefault: DEFAULTS.chainId.toString(),
  },
  markets: marketsOption,
  minBet: {
    flags: "--min-bet",
    kind: kinds.amount,
    description: "smallest bet of a new thesis, USDC with 6 decimals",
    shownDefault: DEFAULTS.minBet.toString(),
  },
  relayers: {
    flags: "--relayers",
    kind: kinds.addresses,
    description:
      "accounts that may submit deposits, comma-separated; applies to an existing chain too",
  },
  admins: {
    flags: "--admins",
    kind: kinds.addresses,
    description:
      "accounts that may backfill prices, comma-separated; applies to an existing chain too",
  },
  balances: {
    flags: "--balances",
    kind: balances,
    description: "balance of an account at genesis, USDC with 6 decimals; repeatable",
    repeatable: true,
  },
  config: {
    flags: "-c, --config",
    kind: kinds.file,
    env: "NODE_CONFIG",
    description:
      "TOML file with [oracle], [theses], [chain], [permissions] and [genesis]; options override it",
  },
  dataDir: {
    flags: "-d, --data-dir",
    kind: kinds.directory,
    env: "NODE_DATA_DIR",
    description: "directory of the chain; :memory: keeps nothing",
    default: "data/node",
  },
  retain: {
    ...retainOption,
    kind: kinds.duration(RETAIN_MIN_MS),
    description: "how long settled theses and receipts can be read; with --data-dir",
  },
  dev: {
    flags: "--dev",
    kind: kinds.flag,
    description:
      "development methods, for anyone who reaches the node: core_faucet, and in memory " +
      "core_snapshot, core_revert and core_advance",
    default: "false",
  },
} satisfies OptionTable;
