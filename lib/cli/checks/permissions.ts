import type { OptionSpec, OptionTable } from "../options.ts";
import {
  type ProcessPermission,
  type RequiredPermissions,
  requiredPermissions,
} from "../required_permissions.ts";
import { loggingOptions } from "../shared_options.ts";
import { VARIABLE_PREFIX } from "../option_names.ts";
import { type CheckOutcome, failure, passed } from "./check.ts";

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

function isGranted(permission: ProcessPermission, name: string): boolean {
  return Deno.permissions.querySync(descriptorOf(permission, name)).state === "granted";
}

function descriptorOf(permission: ProcessPermission, name: string): Deno.PermissionDescriptor {
  if (permission === "net") return { name: permission, host: name };
  if (permission === "env") return { name: permission, variable: name };
  return { name: permission, path: name };
}
