import type { Clock } from "../../../lib/clock.ts";
import { reasonOf } from "../../../lib/errors.ts";

/** What a pull returned: the parsed body of `GET /prices`, or why there is none. */
export type PullResult = { body: unknown } | { failure: "timeout" | "error"; reason: string };

/** Asks the oracle once. Never rejects, and takes no longer than its timeout. */
export type Pull = () => Promise<PullResult>;

/** Whether text is a `service_url`: `host:port`, or an `http:` or `https:` URL. */
export function isServiceUrl(text: string): boolean {
  const url = URL.parse(oracleUrl(text));
  return url !== null && url.hostname !== "" && !/\s/.test(text);
}

/** The URL of the oracle from the spec's `service_url`, which may lack the scheme. */
export function oracleUrl(serviceUrl: string): string {
  const url = /^https?:\/\//.test(serviceUrl) ? serviceUrl : `http://${serviceUrl}`;
  return url.replace(/\/+$/, "");
}

/** Pulls prices over HTTP (spec: price oracle, pull cycle). */
export function httpPull(serviceUrl: string, timeoutMs: number, clock: Clock): Pull {
  const url = `${oracleUrl(serviceUrl)}/prices`;
  return () => {
    const abort = new AbortController();
    return new Promise<PullResult>((resolve) => {
      const cancelTimeout = clock.after(timeoutMs, () => {
        resolve({ failure: "timeout", reason: `no answer within ${timeoutMs} ms` });
        abort.abort();
      });
      fetchJson(url, abort.signal)
        .then((body) => resolve({ body }))
        .catch((thrown) => resolve({ failure: "error", reason: reasonOf(thrown) }))
        .finally(cancelTimeout);
    });
  };
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }
  return await response.json();
}
