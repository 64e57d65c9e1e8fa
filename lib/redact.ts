/** Keeps what is secret in a URL out of what is shown. */

/** A part of a path this long that could be a word of random letters is taken for a key. */
const KEY_LENGTH_MIN = 20;

/**
 * A URL inside a text. Commas, brackets and quotes around one are not taken for a part of it, but in
 * a password or query they are; no scheme is long, so that a search through any text stays linear.
 */
const URL_IN_TEXT =
  /\b[a-z][a-z0-9+.-]{0,15}:\/\/(?:[^\s\\\p{Cc}"<>/?#]*@)?[^\s\\\p{Cc}"'<>(),?#]*(?:[?#][^\s\\\p{Cc}"]*)?/giu;
const KEY_IN_PATH = new RegExp(`/[\\w.~-]{${KEY_LENGTH_MIN},}`, "g");

/**
 * A text in which every URL is shown without user, password, query and keys in its path, and in
 * which nothing is left that could be a private key.
 */
export function redact(text: string): string {
  return redactUrls(text).replace(/(?:0x)?[0-9a-fA-F]{64}/g, "…");
}

/** A text in which every URL is shown without user, password, query and keys in its path. */
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
