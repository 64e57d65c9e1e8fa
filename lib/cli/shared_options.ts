/** Options that several commands take. Each means the same everywhere. */
import * as kinds from "./option_kinds.ts";
import { type OptionSpec, optionTable, UsageError } from "./option_table.ts";
import { DAY_MS } from "../time.ts";

/** A request that arrives just before its deadline must finish long before its key is deleted. */
const RETAIN_MIN_MS = 60_000;

/**
 * Checks the ports of one service by the names of their options; 0 is a free one.
 *
 * @throws {UsageError} If two of them are the same.
 */
export function requireDistinctPorts(ports: Readonly<Record<string, number | undefined>>): void {
  const used = new Map<number, string>();
  for (const [name, port = 0] of Object.entries(ports)) {
    const other = used.get(port);
    if (other !== undefined && port !== 0) {
      throw new UsageError(
        `Invalid ${name}: Expected another port than ${other}: received ${port}`,
      );
    }
    used.set(port, name);
  }
}

/** The settings file, which every command takes. */
export const configOption = {
  flags: "--config",
  kind: kinds.file,
  shared: true,
  description: "TOML file with a section per command; flags and variables override it",
} satisfies OptionSpec;

/** The logging options that every command takes. */
export const loggingOptions = optionTable({
  jsonLogs: {
    kind: kinds.flag,
    shared: true,
    description: "log JSON lines instead of text",
    default: "false",
  },
  logLevel: {
    flags: "--log-level <level>",
    kind: kinds.logLevel,
    shared: true,
    description: "debug, info, warning or error",
    default: "info",
  },
});

/** Where a service listens, and under which names it answers. */
export const listenOptions = optionTable({
  host: {
    kind: kinds.host,
    shared: true,
    description: "address to listen on; 0.0.0.0 for every interface",
    default: "127.0.0.1",
  },
  allowedHosts: {
    kind: kinds.list,
    shared: true,
    description:
      "further names that Host headers may have, comma-separated; * for all; by default " +
      "none on 127.0.0.1, all elsewhere",
    default: "",
  },
});

const originsOption = {
  flags: "--cors-origins",
  kind: kinds.origins,
  env: "CORS_ORIGINS",
  shared: true,
} as const;

/** Web pages that may call a service from a browser. */
export const corsOriginsOption = {
  ...originsOption,
  description: "allowed CORS origins, comma-separated; * for all",
  default: "*",
} satisfies OptionSpec;

/** Web pages, such as the console, that may read an operator's view of a service. */
export const readerOriginsOption = {
  ...originsOption,
  description: "web pages that may read GET routes, comma-separated; none by default",
} satisfies OptionSpec;

/** Whether `X-Forwarded-For` contains the caller's address. */
export const trustProxyOption = {
  flags: "--trust-proxy",
  kind: kinds.toggle,
  env: "TRUST_PROXY",
  shared: true,
  description: "trust X-Forwarded-For headers: their last entry is the caller's address",
  default: "true",
} satisfies OptionSpec;

/** Limits on how often callers may send requests. */
export const limiterOptions = optionTable({
  rateLimit: {
    kind: kinds.integer(0, 1_000_000),
    description: "requests a second from one address, on average over 3 s; 0 for no limit",
    default: "100",
  },
  rateLimitTotal: {
    kind: kinds.integer(0, 1_000_000),
    description: "requests a second from all addresses, on average over 3 s; 0 for no limit",
    default: "1000",
  },
  trustProxy: trustProxyOption,
});

/** The core node's JSON-RPC. */
export const rpcUrlOption = {
  flags: "-r, --rpc-url",
  kind: kinds.httpUrl,
  env: "KAIZEN_RPC_URL",
  shared: true,
  description: "core node RPC URL",
  default: "http://localhost:8545",
} satisfies OptionSpec;

export const chainIdOption = {
  flags: "--chain-id",
  kind: kinds.chainId,
  env: "CHAIN_ID",
  shared: true,
  description: "chain id of the signing domain",
  default: "1337",
} satisfies OptionSpec;

export const marketsOption = {
  flags: "--markets",
  kind: kinds.file,
  shared: true,
  description:
    "TOML file of the markets, the same for every service; the specification's by default",
} satisfies OptionSpec;

/** The database in which a service stores its intents. */
export function databaseOption(defaultPath: string) {
  return {
    flags: "--database",
    kind: kinds.database,
    description:
      "SQLite file (:memory: keeps nothing), or postgres://user@host/name with PGPASSWORD; " +
      "several hosts, separated by commas, are tried until one accepts writes",
    default: defaultPath,
  } satisfies OptionSpec;
}

/** How long a service keeps finished intents. */
export const retainOption = {
  flags: "--retain",
  kind: kinds.duration(RETAIN_MIN_MS),
  description: "how long finished intents are kept, after their end and after their deadline",
  default: String(7 * DAY_MS),
} satisfies OptionSpec;

/** The options that have one variable for all commands. */
export const SHARED_OPTIONS: readonly OptionSpec[] = [
  configOption,
  ...Object.values(loggingOptions),
  ...Object.values(listenOptions),
  corsOriginsOption,
  trustProxyOption,
  rpcUrlOption,
  chainIdOption,
  marketsOption,
];
