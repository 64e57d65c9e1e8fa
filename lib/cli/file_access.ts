/**
 * File access of a command. Tasks grant the whole file system, since options may name any path;
 * before a command starts, it gives up all but the paths that its options name.
 */
import { RangemakerError } from "../errors.ts";
import { optionOf, type OptionTable } from "./options.ts";
import { requiredPermissions } from "./required_permissions.ts";

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
