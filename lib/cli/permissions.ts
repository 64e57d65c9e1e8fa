/**
 * The permissions of the process: what the values of options require, and what a command keeps.
 * Tasks grant the whole file system, since options may name any path; before a command starts, it
 * gives up all but the paths that its options name.
 */
import { dirname } from "node:path";
import { IN_MEMORY, POSTGRES_URL, postgresServers } from "../database/database_url.ts";
import { RangemakerError } from "../errors.ts";
import { itemsOf } from "./option_kinds.ts";
import { optionOf, type OptionSpec, type OptionTable } from "./options.ts";

/** A permission of a Deno process that services need. */
export type ProcessPermission = "net" | "read" | "write" | "env";

/** Required grants of a process: `host:port` for net, paths, and names of variables. */
export type RequiredPermissions = Partial<Record<ProcessPermission, readonly string[]>>;

/** The permissions that one option's value requires. @param host Where the service listens. */
export function requiredPermissions(
  access: OptionSpec["kind"]["access"],
  value: unknown,
  host?: string,
): RequiredPermissions {
  if (access === "listen" && typeof value === "number" && host !== undefined) {
    return { net: [`${host}:${value}`] };
  }
  if (access === undefined || typeof value !== "string" || value === IN_MEMORY) return {};
  if (access === "database" && POSTGRES_URL.test(value)) {
    const net = postgresServers(value).map(({ href }) => addressOf(href));
    return { net, env: ["PGPASSWORD"] };
  }
  // SQLite creates files next to the database.
  const path = access === "database" ? dirname(value) : value;
  if (access === "connect") return { net: itemsOf(value).map(addressOf) };
  // A value that is not a path names something built in.
  if (access === "modules") return /[\\/.]/.test(value) ? { read: [dirname(value)] } : {};
  if (access === "read") return { read: [path] };
  return access === "write" ? { write: [path] } : { read: [path], write: [path] };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "https:": "443",
  "wss:": "443",
  "postgres:": "5432",
  "postgresql:": "5432",
};

/** The `host:port` of a URL; the port defaults to the scheme's. */
export function addressOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (DEFAULT_PORTS[protocol] ?? "80")}`;
}

/** The path that tasks grant: the whole file system. */
const FILE_SYSTEM_ROOT = "/";

const FILE_PERMISSIONS = ["read", "write"] as const;

/**
 * Keeps access to the paths that options name, and gives up the rest.
 *
 * @param command Its words, such as `solver backtest`, for the message.
 * @throws {RangemakerError} If the process lacks access to one of the paths.
 */
export function restrictFileAccess(
  command: string,
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
): void {
  let needsEverything = false;
  for (const [key, spec] of Object.entries(table)) {
    const required = requiredPermissions(spec.kind.access, values[key]);
    needsEverything ||= FILE_PERMISSIONS.some((name) => required[name]?.includes(FILE_SYSTEM_ROOT));
    // Requesting a granted path keeps it when the wider grant is revoked.
    const missing = FILE_PERMISSIONS.flatMap((name) =>
      (required[name] ?? [])
        .filter((path) => Deno.permissions.requestSync({ name, path }).state !== "granted")
        .map((path) => `--allow-${name}=${path}`)
    );
    if (missing.length === 0) continue;
    throw new RangemakerError(
      "FILE_ACCESS",
      `${optionOf(spec).long} names a path that this process may not use: ` +
        `start it with deno task ${command}, or add ${missing.join(" ")} to deno run`,
    );
  }
  for (const name of needsEverything ? [] : FILE_PERMISSIONS) {
    // An unlimited grant (--allow-all) cannot be narrowed, only lost.
    if (Deno.permissions.querySync({ name }).state === "granted") continue;
    Deno.permissions.revokeSync({ name, path: FILE_SYSTEM_ROOT });
  }
}
