import * as z from "zod/mini";
import { addressSchema } from "../../lib/protocol/scalars.ts";

const url = z.string();

/** `GET /config.json`: the configuration of the page. It reads everything else from the services. */
export const pageConfigSchema = z.object({
  version: z.string(),
  urls: z.object({
    solver: url,
    bridge: url,
    /** JSON-RPC over HTTP and over WebSocket. */
    proxy: url,
    proxyWs: url,
    oracle: z.optional(url),
    node: z.optional(url),
    exchanges: z.optional(url),
  }),
  /** The chain that users bet on. The page makes no key if the node has another chain. */
  chainId: z.int(),
  /** The markets of the deployment, in display order. */
  markets: z.array(z.object({ symbol: z.string(), base: addressSchema, quote: addressSchema }))
    .check(z.minLength(1)),
  /** Whether the chain is for development, so that the page may make keys. */
  isDevelopmentChain: z.boolean(),
});

/** What the page has to know before its first request. */
export type PageConfig = z.output<typeof pageConfigSchema>;

/** A path below the URL of a service. The query of that URL, such as a key, stays behind the path. */
export function urlAt(service: string, path: string): string {
  const url = new URL(service);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url.href;
}
