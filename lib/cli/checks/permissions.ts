import { loggingOptions } from "../../http/logging.ts";
import type { OptionSpec, OptionTable } from "../options.ts";
import { type Check, fail, ok } from "./check.ts";

/** What the process of a service has to be granted for one of its options. */
export interface Needs {
  /** `host:port` of each address. */
  net?: readonly string[];
  /** Files and folders. */
  read?: readonly string[];
  write?: readonly string[];
  /** Variables beside those of the option table. */
  env?: readonly string[];
}

/** A permission that can be granted for one thing. */
type Kind = "net" | "read" | "write" | "env";

/** This process may do what the service will; a service that is granted less will not. */
export function permissionCheck(table: OptionTable, ...needs: Needs[]): Check {
  const specs: OptionSpec[] = Object.values({ ...table, ...loggingOptions });
  const variables = specs.flatMap(({ env }) => env === undefined ? [] : [env]);
  const all = (kind: Kind) => [...new Set(needs.flatMap((each) => each[kind] ?? []))];
  const wanted: Record<Kind, readonly string[]> = {
    net: all("net"),
    read: all("read"),
    write: all("write"),
    env: [...variables, ...all("env")],
  };
  return {
    subject: "permissions",
    run() {
      const lacking = (Object.keys(wanted) as Kind[]).flatMap((kind) => { // the keys written above
        const names = wanted[kind].filter((name) => !isGranted(kind, name));
        return names.length === 0 ? [] : [`--allow-${kind}=${names.join(",")}`];
      });
      if (lacking.length > 0) {
        return Promise.resolve(
          fail("This process may not do all that is needed", `Start it with ${lacking.join(" ")}`),
        );
      }
      return Promise.resolve(ok(describe(wanted)));
    },
  };
}

function describe(wanted: Record<Kind, readonly string[]>): string {
  const { net, read, write, env } = wanted;
  const files = new Set([...read, ...write]);
  const parts = [
    ...(net.length > 0 ? [`net ${net.join(", ")}`] : []),
    ...(files.size > 0 ? [`files ${[...files].join(", ")}`] : []),
    `${env.length} variables`,
  ];
  return `Granted: ${parts.join("; ")}`;
}

function isGranted(kind: Kind, name: string): boolean {
  const descriptor: Deno.PermissionDescriptor = kind === "net"
    ? { name: kind, host: name }
    : kind === "env"
    ? { name: kind, variable: name }
    : { name: kind, path: name };
  return Deno.permissions.querySync(descriptor).state === "granted";
}

/** What has to be granted to reach URLs, as far as they are given. */
export function needsOfUrls(...urls: (string | undefined)[]): Needs {
  return { net: urls.flatMap((url) => url === undefined ? [] : [addressOf(url)]) };
}

/** What has to be granted to listen; a port that is taken free is not known before. */
export function needsOfPort(host: string | undefined, port: number | undefined): Needs {
  return { net: host === undefined || port === undefined ? [] : [`${host}:${port}`] };
}

/** The `host:port` of a URL, with the port of its scheme where it names none. */
export function addressOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  const own = { "https:": "443", "wss:": "443", "postgres:": "5432", "postgresql:": "5432" };
  return `${hostname}:${port || own[protocol as keyof typeof own] || "80"}`; // unknown ones are http
}
