/**
 * What to do about CORS, to be added to the reason of a failed connection; empty outside browsers and
 * for a page's own origin. A browser does not say whether a service is down or refuses the page.
 */
export function originHint(url: string): string {
  const origin = globalThis.location?.origin;
  if (origin === undefined || !/^(http|ws)s?:/.test(url) || `${url}/`.startsWith(`${origin}/`)) {
    return "";
  }
  return `; if it is up, it may refuse this page (CORS): start it with --cors-origins ${origin}`;
}
