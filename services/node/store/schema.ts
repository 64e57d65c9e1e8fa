/** The tables of the chain's database, and what is in their rows. */
import { z } from "zod";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  type Address,
  addressSchema,
  hash32Schema,
  type Hex,
  timestampSchema,
  uint256Schema,
} from "../../../lib/protocol/scalars.ts";
import { toWire } from "../../../lib/json.ts";
import { thesisSchema } from "../../../lib/protocol/thesis.ts";
import type { Database } from "./database.ts";
import { type Codec, Table, type TableTotals } from "./table.ts";

/**
 * In the header of every database of a chain: bytes 68 to 71, SQLite's `application_id`. Its last
 * digit is the format of the tables.
 */
export const APPLICATION_ID = 0x726d6b36;

/**
 * SQL expression with an index: since when a thesis has been both settled and past the end of its
 * window; NULL while it is unsettled. A thesis may be lost long before the end of its window.
 */
export const CLOSED_AT = "max(value ->> '$.thesis.settledAt', value ->> '$.thesis.endTime')";

const columns = (keyType: string) =>
  `(key ${keyType} PRIMARY KEY NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL) STRICT`;

/** Receipts have a `rowid`, because they are deleted in the order in which they were added. */
const SCHEMA = `
  CREATE TABLE meta ${columns("TEXT")}, WITHOUT ROWID;
  CREATE TABLE accounts ${columns("TEXT")}, WITHOUT ROWID;
  CREATE TABLE theses ${columns("INTEGER")};
  CREATE TABLE receipts ${columns("BLOB")};
  CREATE TABLE deposits ${columns("BLOB")}, WITHOUT ROWID;
  CREATE TABLE quotes ${columns("BLOB")}, WITHOUT ROWID;
  CREATE TABLE backfilled ${columns("TEXT")}, WITHOUT ROWID;
  CREATE TABLE permissions ${columns("INTEGER")};
  CREATE INDEX theses_by_close ON theses (${CLOSED_AT});
  CREATE TABLE prices (market TEXT NOT NULL, cell INTEGER NOT NULL, slots BLOB NOT NULL,
    PRIMARY KEY (market, cell)) STRICT, WITHOUT ROWID;
`;

/** Number of the commit that creates a chain. */
export const FIRST_SEQUENCE = 1;

/** Genesis of a new chain; an existing chain must match it. */
export interface ChainIdentity {
  chainId: number;
  /** USDC with 6 decimals. If undefined, an existing chain may have any, a new one has none. */
  balances: ReadonlyMap<Address, bigint> | undefined;
}

/** The accounts of a genesis that have money. */
export function genesisBalances({ balances }: ChainIdentity): Record<Address, bigint> {
  return Object.fromEntries([...balances ?? []].filter(([, balance]) => balance > 0n));
}

/** Creates the tables and the first rows of a chain. */
export function createChain(db: Database, identity: ChainIdentity, nowMs: number): void {
  const balances = genesisBalances(identity);
  const totals = Object.fromEntries(TABLE_NAMES.map((name) => [name, { rows: 0, sum: 0 }]));
  const state = {
    sequence: FIRST_SEQUENCE,
    lastThesisId: 0,
    droppedBeforeMs: 0,
    reservedTo: 0,
    issued: Object.values(balances).reduce((sum, balance) => sum + balance, 0n),
    totals: totals as Totals, // one for each name
  };
  db.exec("BEGIN IMMEDIATE");
  db.exec(SCHEMA);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  const { accounts } = createTables(db, state.totals);
  for (const [address, balance] of Object.entries(balances)) {
    accounts.add(address, { balance, locked: 0n });
  }
  const meta = createMeta(db);
  meta.chain.put({ chainId: identity.chainId, createdAtMs: nowMs, balances });
  meta.state.put(state);
  db.exec("COMMIT");
}

/** The tables with totals. */
const TABLE_NAMES = [
  "accounts",
  "theses",
  "receipts",
  "deposits",
  "quotes",
  "backfilled",
  "permissions",
] as const;

type Totals = Record<typeof TABLE_NAMES[number], TableTotals>;

export type Tables = ReturnType<typeof createTables>;

/** @param totals Kept up to date. */
export function createTables(db: Database, totals: Totals) {
  const table = <V>(name: keyof Totals, codec: Codec<V>) =>
    new Table(db, name, codec, totals[name]);
  return {
    /** By address. */
    accounts: table("accounts", json(fundsSchema)),
    /** By id. */
    theses: table("theses", json(storedThesisSchema)),
    /** By transaction hash, with the time when each was recorded. */
    receipts: table("receipts", json(z.object({ receipt: receiptSchema, atMs: timestampSchema }))),
    /** External transaction hashes of deposits: never deleted. */
    deposits: table("deposits", json(z.literal(true))),
    /** Hashes of the quotes of all theses in {@link theses}, see {@link quoteKey}. */
    quotes: table("quotes", json(z.literal(true))),
    /** Pages of backfilled prices by market and number, see {@link backfilledKey}. */
    backfilled: table("backfilled", pricePageCodec),
    /** Who has the permissions since a time, by number of the change. */
    permissions: table("permissions", json(permissionsSchema)),
  };
}

/** The table of single values, which has no totals. */
export function createMeta(db: Database) {
  const single = <V>(key: string, codec: Codec<V>) => {
    const table = new Table(db, "meta", codec);
    return {
      get: () => table.get(key),
      put: (value: V) => table.put(key, value),
      delete: () => table.delete(key),
    };
  };
  return {
    /** How the chain was created. */
    chain: single("chain", json(chainSchema)),
    /** Written by each commit. */
    state: single("state", json(stateSchema)),
    /** The newest block. */
    head: single("head", json(headSchema)),
    /** The tokens of each symbol that ever was a market's: prices are stored by symbol. */
    tokens: single("tokens", json(tokensSchema)),
    /** Written to find out whether the disk has space. */
    spaceTest: single("probe", json(z.string())),
  };
}

export function hashKey(hash: Hex): Uint8Array {
  return Uint8Array.fromHex(hash.slice(2));
}

/**
 * The key of a quote: the start of its window comes first. New rows are then next to each other,
 * and a commit writes one page instead of one per quote.
 */
export function quoteKey(startTime: number, quoteHash: Hex): Uint8Array {
  return Uint8Array.fromHex(startTime.toString(16).padStart(12, "0") + quoteHash.slice(2));
}

export function backfilledKey(symbol: string, page: number): string {
  return `${symbol} ${page}`;
}

/** The accounts with permissions: settings of the node, not part of the genesis. */
export interface PermissionLists {
  /** May submit deposits. */
  relayers: readonly Address[];
  /** May backfill prices. */
  admins: readonly Address[];
}

/** JSON, with bigints as decimal strings. */
function json<V>(schema: z.core.$ZodType<V>): Codec<V> {
  return {
    encode: (value) => JSON.stringify(toWire(value)),
    decode: (text) => z.parse(schema, JSON.parse(text)),
  };
}

const numberSchema = z.number().int().nonnegative();

const fundsSchema = z.object({
  balance: uint256Schema,
  /** Money in unsettled theses. */
  locked: uint256Schema,
});

/** USDC with 6 decimals of one address. */
export type Funds = z.output<typeof fundsSchema>;

const storedThesisSchema = z.object({
  thesis: thesisSchema,
  missing: z.array(z.object({ from: timestampSchema, to: timestampSchema })).optional(),
});

/** A thesis, and the spans without prices that its last settlement attempt found, if any. */
export type StoredThesis = z.output<typeof storedThesisSchema>;

const permissionsSchema: z.core.$ZodType<PermissionLists & { atMs: number }> = z.object({
  atMs: timestampSchema,
  relayers: z.array(addressSchema),
  admins: z.array(addressSchema),
});

const chainSchema = z.object({
  chainId: numberSchema,
  createdAtMs: timestampSchema,
  balances: z.record(addressSchema, uint256Schema),
});

const tokensSchema = z.record(
  z.string(),
  z.object({ base: addressSchema, quote: addressSchema }),
);

/** Tokens by symbol. */
export type StoredTokens = z.output<typeof tokensSchema>;

const totalsSchema = z.object({ rows: numberSchema, sum: numberSchema });
const stateSchema = z.object({
  /** Number of the commit. */
  sequence: numberSchema,
  /** The highest id of a thesis that was ever opened. */
  lastThesisId: numberSchema,
  /** All money ever received: genesis and deposits. */
  issued: uint256Schema,
  /** Receipts and ended theses of before this time may be deleted. Unix milliseconds. */
  droppedBeforeMs: timestampSchema,
  /** No block above this number was announced. */
  reservedTo: numberSchema,
  totals: z.record(z.enum(TABLE_NAMES), totalsSchema),
});

/** Values that each commit writes. */
export type StoredState = z.output<typeof stateSchema>;

const headSchema = z.object({
  number: numberSchema,
  hash: hash32Schema,
  parentHash: hash32Schema,
  timestampMs: timestampSchema,
});

/** A block without its transactions. */
export type HeadRow = z.output<typeof headSchema>;

const pricePageCodec: Codec<BigUint64Array> = {
  encode: (page) => Array.from(page).join(),
  decode: (text) => BigUint64Array.from(text.split(","), BigInt),
};
