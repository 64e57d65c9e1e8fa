import { z } from "zod";
import { isPlainUrl, PLAIN_URL_RULE } from "../redact.ts";

/** Takes the place of a path: nothing is stored on disk. */
export const IN_MEMORY = ":memory:";

/** Matches the URL of a PostgreSQL database, and no path of a file. */
export const POSTGRES_URL = /^postgres(ql)?:\/\//i;

const DATABASE_RULE = "Expected a file or a URL with postgres:// or postgresql://";
const HOSTS_RULE = "Expected a URL such as postgres://host:5432/name";
const ROLE_RULE = "Expected a URL without target_session_attrs or with primary";

/**
 * A mistyped URL, a URL without its scheme, PostgreSQL's `host=h password=p` or a key: taken as a
 * path, it would put a password or a key into a file name. Or a URI of SQLite, which would become the
 * name of a file. `C:/` may be a drive.
 */
const NOT_A_PATH =
  /^[a-z][a-z0-9+.-]+:\/|^(postgres\w*|file):|:\/\/|^[^/\\]+:[^/\\].*@|\b(host|dbname|user|password) *=|^(0x)?[0-9a-f]{64}$/i;

/** Scheme and user, hosts, and the rest of a database URL. A password may have `@`, a host not. */
const URL_PARTS = /^([^:]+:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s;

/** The parameter that asks for a primary. Every connection is checked for that anyway. */
const ROLE_PARAMETER = "target_session_attrs";

/** Where intents are stored: a SQLite file, `:memory:`, or a `postgres:` URL. */
export const databaseSchema = z.string().min(1, DATABASE_RULE)
  .refine((text) => POSTGRES_URL.test(text) || !NOT_A_PATH.test(text.trim()), DATABASE_RULE)
  .refine(
    (text) => !POSTGRES_URL.test(text) || splitHosts(text).every((one) => URL.canParse(one)),
    HOSTS_RULE,
  )
  .refine((text) => !POSTGRES_URL.test(text) || asksForPrimary(text), ROLE_RULE)
  .refine((text) => !POSTGRES_URL.test(text) || isPlainUrl(text), PLAIN_URL_RULE);

/** Splits the URL of a PostgreSQL database into one URL per host, in the same order. */
export function postgresServers(url: string): URL[] {
  return splitHosts(url).map((text) => {
    const server = new URL(text);
    server.searchParams.delete(ROLE_PARAMETER);
    return server;
  });
}

/** Adds a password to a database URL, unless the URL has one. */
export function withPassword(url: string, password: string | undefined): string {
  const [, start = "", hosts = "", rest = ""] = URL_PARTS.exec(url) ?? [];
  const [, scheme = "", user = "", given] = /^([^:]+:\/\/)([^:@]*)(:[^@]*)?@?$/s.exec(start) ?? [];
  if (!password || given !== undefined) return url;
  return `${scheme}${user}:${encodeURIComponent(password)}@${hosts}${rest}`;
}

function splitHosts(url: string): string[] {
  const [, start = "", hosts = "", rest = ""] = URL_PARTS.exec(url) ?? [];
  return hosts.split(",").map((host) => `${start}${host}${rest}`);
}

function asksForPrimary(url: string): boolean {
  return splitHosts(url).every((text) => {
    const role = URL.parse(text)?.searchParams.get(ROLE_PARAMETER) ?? "primary";
    return role === "primary" || role === "read-write";
  });
}
