/** The permissions of the process that the values of options require. */
import { dirname } from "node:path";
import { IN_MEMORY, POSTGRES_URL, postgresServers } from "../database/database_url.ts";
import { itemsOf } from "./option_kinds.ts";
import type { OptionSpec } from "./options.ts";

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

/** The `host:port` of a URL; the port defaults to the scheme's, and the scheme to `http:`. */
export function addressOf(url: string): string {
  const { hostname, port, protocol } = new URL(url.includes("://") ? url : `http://${url}`);
  return `${hostname}:${port || (DEFAULT_PORTS[protocol] ?? "80")}`;
}
