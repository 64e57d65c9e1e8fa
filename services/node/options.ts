import { z } from "zod";
import { type Address, addressSchema, uint64Schema } from "../../lib/protocol/scalars.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import {
  chainIdOption,
  listenOptions,
  marketsOption,
  readerOriginsOption,
  requireDistinctPorts,
  retainOption,
} from "../../lib/cli/shared_options.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import { RING_SLOTS_DEFAULT } from "../../lib/prices/price_ring.ts";
import {
  PRICE_FRESH_MS,
  RECEIPTS_KEPT_MIN_MS,
  START_AHEAD_MAX_MS,
} from "../../lib/protocol/constants.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import type { PermissionLists } from "./store/schema.ts";

/** The longest timeout of a pull: the pull must end before the next checkpoint. */
const ORACLE_TIMEOUT_MAX_MS = 90;

/** The largest ring: 256 MiB per market. */
const RING_BUFFER_SIZE_MAX = 2 ** 24;

/** Repeated `address=amount`, as a map. An address must not have two balances. */
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
      if (balances.has(address.data)) {
        context.addIssue({ code: "custom", message: `Expected ${address.data} once` });
        return z.NEVER;
      }
      balances.set(address.data, amount.data);
    }
    return balances;
  }),
  placeholder: "address=amount",
} satisfies kinds.OptionKind;

/** The URL of the oracle (spec: `service_url`). The scheme may be left out; the value has one. */
const serviceUrl = {
  ...kinds.httpUrl,
  schema: z.string({ error: "Expected a URL as text" })
    .transform((text) => (/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`))
    .refine(
      (url) => kinds.httpUrl.schema.safeParse(url).success,
      "Expected host:port or an http: or https: URL",
    ).transform((url) => url.replace(/\/+$/, "")),
} satisfies kinds.OptionKind;

const ringBufferSize = {
  schema: kinds.integer(1).schema.refine(
    (size) => size <= RING_BUFFER_SIZE_MAX && Number.isInteger(Math.log2(size)),
    `Expected a power of two of at most ${RING_BUFFER_SIZE_MAX}`,
  ),
  placeholder: "slots",
} satisfies kinds.OptionKind;

export const options = optionsFor("node", {
  port: {
    flags: "-p, --port",
    kind: kinds.port,
    description: "JSON-RPC port for HTTP and WebSocket; 0 chooses a free one",
    default: "8545",
  },
  ...listenOptions,
  corsOrigins: readerOriginsOption,
  readPort: {
    kind: kinds.port,
    description: "second port without the write methods; 0 chooses a free one",
    default: "8547",
  },
  oracleUrl: {
    flags: "-o, --oracle-url",
    kind: serviceUrl,
    setting: "oracle.service_url",
    description: "URL of the oracle; http:// may be omitted",
    default: "localhost:8550",
  },
  oracleTimeoutMs: {
    kind: kinds.duration(1, ORACLE_TIMEOUT_MAX_MS),
    setting: "oracle.timeout_ms",
    description: "how long a checkpoint waits for prices",
    default: "10",
  },
  maxStaleMs: {
    kind: kinds.duration(1),
    setting: "oracle.max_stale_ms",
    description: "maximum age of a price",
    default: PRICE_FRESH_MS.toString(),
  },
  ringBufferSize: {
    kind: ringBufferSize,
    setting: "oracle.ring_buffer_size",
    description:
      "price slots of 100 ms per market, a power of two; a bet longer than all of them " +
      "needs a backfill if it is won",
    default: RING_SLOTS_DEFAULT.toString(),
  },
  chainId: chainIdOption,
  markets: marketsOption,
  maxStartAheadMs: {
    kind: kinds.duration(0),
    description: "how far ahead of its submission a window may start",
    default: START_AHEAD_MAX_MS.toString(),
  },
  minBet: {
    kind: kinds.amount,
    description: "smallest bet of a new thesis, USDC with 6 decimals",
    default: "10000",
  },
  relayers: {
    kind: kinds.addresses,
    description:
      "accounts that may submit deposits, comma-separated; applies to an existing chain too",
  },
  admins: {
    kind: kinds.addresses,
    description:
      "accounts that may backfill prices, comma-separated; applies to an existing chain too",
  },
  balances: {
    kind: balances,
    description: "balance of an account at genesis, USDC with 6 decimals; repeatable",
    repeatable: true,
  },
  dataDir: {
    flags: "-d, --data-dir",
    kind: kinds.dataDirectory,
    description: "directory of the chain; :memory: keeps nothing",
    default: "data/node",
  },
  retain: {
    ...retainOption,
    kind: kinds.duration(RECEIPTS_KEPT_MIN_MS),
    description: "how long settled theses and receipts can be read; always with :memory:",
  },
  dev: {
    kind: kinds.flag,
    description:
      "development methods, for anyone who reaches the node: core_faucet, and with :memory: " +
      "core_snapshot, core_revert and core_advance",
    default: "false",
  },
});

export type NodeOptions = OptionsOf<typeof options>;

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

/** Settings from options. @throws {UsageError} If both ports are the same. */
export function resolveSettings(
  { relayers, admins, ...others }: NodeOptions,
  markets: Markets,
): NodeSettings {
  requireDistinctPorts({ "--port": others.port, "--read-port": others.readPort });
  const isDevGenesis = relayers === undefined && admins === undefined &&
    others.balances === undefined;
  const permissions = { relayers: relayers ?? [], admins: admins ?? [] };
  const genesis = isDevGenesis ? DEV_GENESIS : { permissions };
  return { ...others, markets, ...genesis, isDevGenesis };
}
