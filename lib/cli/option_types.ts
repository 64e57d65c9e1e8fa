/** Schemas and rows that the option tables of several services share. */
import { z } from "zod";
import { Signer } from "../protocol/signature.ts";
import { addressSchema, chainIdSchema } from "../protocol/scalars.ts";
import type { OptionSpec } from "./options.ts";

/** A TCP port; 0 takes a free one. */
export const portSchema = z.string().regex(/^\d{1,5}$/, "Expected a port from 0 to 65535")
  .transform(Number)
  .refine((port) => port <= 65_535, "Expected a port from 0 to 65535");

function urlSchema(protocols: readonly string[]) {
  const starts = protocols.map((protocol) => `${protocol}//`);
  const rule = `Expected a URL with ${starts.join(" or ")}`;
  return z.string().refine((text) => {
    const url = URL.parse(text);
    return url !== null && protocols.includes(url.protocol) && url.hostname !== "";
  }, rule);
}

/** An `http:` or `https:` URL. */
export const httpUrlSchema = urlSchema(["http:", "https:"]);

/** A `ws:` or `wss:` URL. */
export const wsUrlSchema = urlSchema(["ws:", "wss:"]);

/** `true` of a switch, or text such as `false`, `0` or `yes`. */
export const switchSchema = z.union([z.boolean(), z.stringbool()], {
  error: "Expected true or false",
});

/** A whole number of at least `min` and at most `max`. */
export function integerSchema(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const rule = max === Number.MAX_SAFE_INTEGER
    ? `Expected a whole number of at least ${min}`
    : `Expected a whole number from ${min} to ${max}`;
  return z.string().regex(/^\d{1,16}$/, rule).transform(Number)
    .refine((value) => value >= min && value <= max, rule);
}

/** A private key as hex; what comes out can sign but not be read. */
export const privateKeySchema = z.string()
  .regex(/^0x[0-9a-fA-F]{64}$/, "Expected 0x and 64 hex digits")
  .transform((text, context) => {
    try {
      return new Signer(text as `0x${string}`); // the pattern above is what Hex means
    } catch {
      context.addIssue({ code: "custom", message: "Not a private key of secp256k1: out of range" });
      return z.NEVER;
    }
  });

/** A comma-separated list of addresses. */
export const addressListSchema = z.string()
  .transform((text) => text.split(",").map((part) => part.trim()).filter((part) => part !== ""))
  .pipe(z.array(addressSchema));

/** Where a service listens: this machine alone unless told otherwise. */
export const hostOption = {
  flags: "--host <address>",
  env: "HOST",
  description: "address to listen on; 0.0.0.0 for every interface",
  schema: z.string().min(1),
  default: "127.0.0.1",
} satisfies OptionSpec;

/** Web pages that may call a service from a browser. */
export const corsOriginsOption = {
  flags: "--cors-origins <origins>",
  env: "CORS_ORIGINS",
  description: "allowed CORS origins, comma-separated; * for all",
  schema: z.string().transform((text) => text.split(",").map((origin) => origin.trim()))
    .pipe(
      z.array(z.string().refine(isOrigin, "Expected * or origins, such as https://app.example")),
    ),
  default: "*",
} satisfies OptionSpec;

/** Where the core node takes JSON-RPC. */
export const rpcUrlOption = {
  flags: "-r, --rpc-url <url>",
  env: "KAIZEN_RPC_URL",
  description: "core node RPC URL",
  schema: httpUrlSchema,
  default: "http://localhost:8545",
} satisfies OptionSpec;

/** The chain that signatures are made for. */
export const chainIdOption = {
  flags: "--chain-id <id>",
  env: "CHAIN_ID",
  description: "chain id of the signing domain",
  schema: chainIdSchema,
  default: "1337",
} satisfies OptionSpec;

/** Whether a text is what a browser sends as the origin of a page, or stands for all of them. */
function isOrigin(text: string): boolean {
  return text === "*" || URL.parse(text)?.origin === text;
}
