/**
 * Kinds of option values. Parsing, the placeholder in the help, redaction, shell completion,
 * required permissions and the doctor's checks all follow from an option's kind.
 */
import { z } from "zod";
import {
  addressSchema,
  positiveUint64Schema,
  uint256Schema,
  uint64Schema,
} from "../protocol/scalars.ts";
import { LOG_LEVELS } from "../log/logging.ts";
import { SPEC_MARKETS, SYMBOL_PATTERN } from "../protocol/markets.ts";
import { databaseSchema } from "../database/database_url.ts";
import { isPlainUrl, PLAIN_URL_RULE } from "../redact.ts";

export interface OptionKind<S extends z.core.$ZodType = z.core.$ZodType> {
  /** Turns text (`true` for a flag, a list for a repeatable option) into a value. */
  schema: S;
  /** Name of the value in the help, unless the option's flags contain one. A flag has no value. */
  placeholder?: string;
  /** The value may be left out, and `--no-…` is the opposite. */
  negatable?: true;
  /** Errors do not repeat the value: it is a key, or a URL that may hold a password. */
  secret?: true;
  /** Shell completion of the value: one of a list, or a path. */
  completes?: readonly string[] | "file" | "directory";
  /** How the process uses the value, which decides the permission it needs. */
  access?: "listen" | "connect" | "read" | "write" | "readWrite" | "modules" | "database";
  /** The value's role in its service: what `--check` replaces, and what the doctor calls. */
  role?: "host" | "port" | "service" | "database" | "dataDir";
}

function nonEmpty(rule: string) {
  return z.string().min(1, rule);
}

const PORT_RULE = "Expected a port from 0 to 65535";

/** A TCP port; 0 chooses a free one. */
export const port = {
  schema: z.string().regex(/^\d{1,5}$/, PORT_RULE).transform(Number)
    .refine((port) => port <= 65_535, PORT_RULE),
  placeholder: "port",
  access: "listen",
  role: "port",
} satisfies OptionKind;

export const host = {
  schema: nonEmpty("Expected an address, such as 127.0.0.1"),
  placeholder: "address",
  role: "host",
} satisfies OptionKind;

/** A schema for URLs of these schemes, such as `["http:", "https:"]`. */
function urlSchema(protocols: readonly string[]) {
  const starts = protocols.map((protocol) => `${protocol}//`);
  const rule = `Expected a URL with ${starts.join(" or ")}`;
  return z.string().refine((text) => {
    const url = URL.parse(text);
    return url !== null && protocols.includes(url.protocol) && url.hostname !== "";
  }, rule).refine((text) => isPlainUrl(text) && !/^\w+:\/{3}/.test(text), PLAIN_URL_RULE);
}

export const httpUrl = {
  schema: urlSchema(["http:", "https:"]),
  placeholder: "url",
  secret: true,
  access: "connect",
} satisfies OptionKind;

/** One or several such URLs, comma-separated. The parsed value is the text. */
export const httpUrls = { ...httpUrl, schema: listOf(httpUrl.schema) } satisfies OptionKind;

/** The URL of a service that is called when there is work, so no start shows if it is up. */
export const serviceUrl = { ...httpUrl, role: "service" } satisfies OptionKind;

export const wsUrl = { ...httpUrl, schema: urlSchema(["ws:", "wss:"]) } satisfies OptionKind;

/** One or several such URLs, comma-separated. */
export const wsUrls = { ...wsUrl, schema: listOf(wsUrl.schema) } satisfies OptionKind;

/** The items of a comma-separated text, in which a comma of a URL is written as %2C. */
export function itemsOf(text: string): string[] {
  return text.split(",").map((item) => item.trim());
}

/** A schema for comma-separated items of another one. */
function listOf(item: z.core.$ZodType<string>) {
  return z.string().transform((text, context) => {
    for (const part of itemsOf(text)) {
      const parsed = z.safeParse(item, part);
      if (!parsed.success) {
        context.addIssue({ code: "custom", message: parsed.error.issues[0]?.message ?? "" });
      }
    }
    return itemsOf(text).join(",");
  });
}

export const file = {
  schema: nonEmpty("Expected the path of a file"),
  placeholder: "file",
  completes: "file",
  access: "read",
} satisfies OptionKind;

/** The symbol of a market, in any case; the markets file lists them. */
export const marketSymbol = {
  schema: z.string().toUpperCase().pipe(
    z.string().regex(SYMBOL_PATTERN, "Expected a symbol such as BTC/USDT"),
  ),
  placeholder: "symbol",
  completes: SPEC_MARKETS.symbols,
} satisfies OptionKind;

/** The path of a TypeScript or JavaScript module. It may import others of its folder. */
export const module = { ...file, access: "modules" } satisfies OptionKind;

/** The path of a file to read, which is made if it is missing. */
export const fileOrNew = { ...file, access: "readWrite" } satisfies OptionKind;

export const outputFile = { ...file, access: "write" } satisfies OptionKind;

/** The directory of a node's chain, which is created if missing; `:memory:` keeps nothing. */
export const dataDirectory = {
  schema: nonEmpty("Expected the path of a directory"),
  placeholder: "path",
  completes: "directory",
  access: "readWrite",
  role: "dataDir",
} satisfies OptionKind;

/** A SQLite file, `:memory:`, or the URL of a PostgreSQL database. */
export const database = {
  schema: databaseSchema,
  placeholder: "file|url",
  secret: true,
  completes: "file",
  access: "database",
  role: "database",
} satisfies OptionKind;

export const chainId = { ...integer(1), placeholder: "id" } satisfies OptionKind;

const usdcTextSchema = z.string().regex(
  /^\d+$/,
  "Expected USDC with 6 decimals as a whole number, such as 5000000 for 5 USDC",
);

/** An amount of USDC with 6 decimals. */
export const amount = {
  schema: usdcTextSchema.pipe(uint64Schema),
  placeholder: "amount",
} satisfies OptionKind;

export const positiveAmount = {
  ...amount,
  schema: usdcTextSchema.pipe(positiveUint64Schema("Expected an amount of at least 1")),
} satisfies OptionKind;

export const nonce = { schema: uint256Schema, placeholder: "nonce" } satisfies OptionKind;

/** A whole number of at least `min` and at most `max`. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const rule = integerRule(min, max);
  return {
    schema: z.string().regex(/^\d{1,16}$/, rule).transform(Number)
      .refine((value) => value >= min && value <= max, rule),
    placeholder: "n",
  } satisfies OptionKind;
}

/** The rule of a whole number in error messages. */
function integerRule(min: number, max: number): string {
  return max === Number.MAX_SAFE_INTEGER
    ? `Expected a whole number of at least ${min}`
    : `Expected a whole number from ${min} to ${max}`;
}

/** A duration in milliseconds. */
export function duration(minMs: number, maxMs?: number) {
  return { ...integer(minMs, maxMs), placeholder: "ms" } satisfies OptionKind;
}

/** The seed of a random number generator. */
export const seed = integer(0, 2 ** 31 - 1);

/** A flag that is off unless it is given: `--dry-run`. Variables are `true` or `false`. */
export const flag = {
  schema: z.union([z.boolean(), z.stringbool()], { error: "Expected true or false" }),
} satisfies OptionKind;

/** A flag that can be turned off: `--trust-proxy`, `--trust-proxy=false`, `--no-trust-proxy`. */
export const toggle = {
  ...flag,
  placeholder: "boolean",
  negatable: true,
  completes: ["true", "false"],
} satisfies OptionKind;

/** `a, b or c`. */
export function listedWithOr(words: readonly string[]): string {
  return words.join(", ").replace(/, ([^,]*)$/, " or $1");
}

export function choice<const T extends readonly string[]>(words: T, rule?: string) {
  return {
    schema: z.enum(words, { error: rule ?? `Expected ${listedWithOr(words)}` }),
    placeholder: "choice",
    completes: words,
  } satisfies OptionKind;
}

/** A log level; `warn` is short for `warning`. */
export const logLevel = {
  ...choice(LOG_LEVELS),
  schema: z.preprocess((text) => text === "warn" ? "warning" : text, choice(LOG_LEVELS).schema),
} satisfies OptionKind;

/** A comma-separated list; empty items are left out. */
export const list = {
  schema: z.string().transform((text) => itemsOf(text).filter((part) => part !== "")),
  placeholder: "list",
} satisfies OptionKind;

/** A comma-separated list of addresses. */
export const addresses = {
  schema: list.schema.pipe(z.array(addressSchema)),
  placeholder: "addresses",
} satisfies OptionKind;

/** A comma-separated list of origins of web pages, or `*` for all. */
export const origins = {
  schema: z.string().transform(itemsOf).pipe(
    z.array(z.string().refine(isOrigin, "Expected * or origins, such as https://app.example")),
  ),
  placeholder: "origins",
} satisfies OptionKind;

function isOrigin(text: string): boolean {
  return text === "*" || URL.parse(text)?.origin === text;
}
