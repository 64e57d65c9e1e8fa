import { dirname } from "node:path";
import { IN_MEMORY, POSTGRES_URL, postgresServers } from "../../database_url.ts";
import { itemsOf } from "../option_kinds.ts";
import type { OptionSpec, OptionTable } from "../options.ts";
import { loggingOptions } from "../shared_options.ts";
import { VARIABLE_PREFIX } from "../option_names.ts";
import {
  type CheckOutcome,
  failure,
  passed,
  type ProcessPermission,
  type RequiredPermissions,
} from "./check.ts";

const PERMISSIONS = ["net", "read", "write", "env"] as const satisfies ProcessPermission[];

/** Checks that this process has the permissions that a service with these options needs. */
export function checkPermissions(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  more: RequiredPermissions = {},
): CheckOutcome {
  const host = typeof values.host === "string" ? values.host : undefined;
  const env = Object.values({ ...table, ...loggingOptions })
    .flatMap(({ env }: OptionSpec) => env === undefined ? [] : [env]);
  const required = [
    { env: [`${VARIABLE_PREFIX}*`, ...env] },
    ...Object.entries(table).map(([key, { kind: { access } }]) =>
      requiredPermissions(access, values[key], host)
    ),
    more,
  ];
  const all = (permission: ProcessPermission) => [
    ...new Set(required.flatMap((each) => each[permission] ?? [])),
  ];
  const missing = PERMISSIONS.flatMap((permission) => {
    const names = all(permission).filter((name) => !isGranted(permission, name));
    return names.length === 0 ? [] : [`--allow-${permission}=${names.join(",")}`];
  });
  if (missing.length > 0) {
    return failure("This process lacks permissions", `Start it with ${missing.join(" ")}`);
  }
  const files = [...new Set([...all("read"), ...all("write")])];
  const granted = [
    ...(all("net").length > 0 ? [`net ${all("net").join(", ")}`] : []),
    ...(files.length > 0 ? [`files ${files.join(", ")}`] : []),
    `${all("env").length} variables`,
  ];
  return passed(`Granted: ${granted.join("; ")}`);
}

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

function isGranted(permission: ProcessPermission, name: string): boolean {
  return Deno.permissions.querySync(descriptorOf(permission, name)).state === "granted";
}

function descriptorOf(permission: ProcessPermission, name: string): Deno.PermissionDescriptor {
  if (permission === "net") return { name: permission, host: name };
  if (permission === "env") return { name: permission, variable: name };
  return { name: permission, path: name };
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
