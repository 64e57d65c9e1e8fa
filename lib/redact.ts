/** Removes secrets from URLs and texts before they are shown. */

/** A path segment of this length that could be random is treated as a key. */
const KEY_LENGTH_MIN = 20;

/**
 * A URL inside a text. Commas, brackets and quotes around it do not belong to it, except inside a
 * password or query and between the hosts of a database. The length of the scheme is bounded so
 * that matching stays linear.
 */
const URL_IN_TEXT =
  /\b[a-z][a-z0-9+.-]{0,15}:\/\/(?:[^\s\\\p{Cc}"<>/?#]*@)?[^\s\\\p{Cc}"'<>(),?#]*(?:,[\w.[\]-]+:\d+[^\s\\\p{Cc}"'<>(),?#]*)*(?:[?#][^\s\\\p{Cc}"]*)?/giu;
const KEY_IN_PATH = new RegExp(`/[\\w.~-]{${KEY_LENGTH_MIN},}`, "g");

/**
 * Whether {@link redactUrls} finds the user and password of a URL. The runtime takes more for URLs,
 * such as `http:user:password@host`, or a password with a quote or a space.
 */
export function isPlainUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]{0,15}:\/\/[^\s\\\p{Cc}"<>]*$/iu.test(text);
}

/** What a URL lacks that is not {@link isPlainUrl}. */
export const PLAIN_URL_RULE =
  'Expected // after the scheme, and space, ", <, > and \\ as %20, %22, %3C, %3E and %5C';

/** Redacts URLs as {@link redactUrls} does, and anything that could be a private key. */
export function redact(text: string): string {
  return redactUrls(text).replace(/(?:0x)?[0-9a-fA-F]{64}/g, "…");
}

/** Removes user, password, query and keys in the path from every URL in a text. */
export function redactUrls(text: string): string {
  return text.includes("://") ? text.replace(URL_IN_TEXT, redactUrl) : text;
}

function redactUrl(url: string): string {
  const [, start = "", authority = "", path = "", query = ""] =
    /^([^:]+:\/\/)([^/?#]*)([^?#]*)(.*)$/.exec(url) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const user = host === authority ? "" : "…@";
  return `${start}${user}${host}${path.replace(KEY_IN_PATH, "/…")}${query === "" ? "" : "?…"}`;
}
