import { z } from "zod";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { type Receipt, receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  type Address,
  addressSchema,
  hash32Schema,
  type Hex,
  timestampSchema,
  uint256Schema,
} from "../../../lib/protocol/scalars.ts";
import { toWire } from "../../../lib/json.ts";
import { type Thesis, thesisSchema } from "../../../lib/protocol/thesis.ts";
import type { Funds } from "./accounts.ts";
import type { Database } from "./database.ts";
import { PRICES_TABLE_SQL } from "./price_ring_table.ts";
import { type Codec, createTableSql, type KeyType, Table, type TableTotals } from "./table.ts";

/** The tables with totals, and the types of their keys. */
const KEY_TYPES = {
  accounts: "TEXT",
  theses: "INTEGER",
  receipts: "BLOB",
  deposits: "BLOB",
  quotes: "BLOB",
  backfilled: "TEXT",
  permissions: "INTEGER",
} as const satisfies Record<string, KeyType>;

type TableName = keyof typeof KEY_TYPES;
export const TABLE_NAMES = Object.keys(KEY_TYPES) as TableName[]; // its own keys

export type Totals = Record<TableName, TableTotals>;

/**
 * SQL expression with an index: since when a thesis has been both settled and past the end of its
 * window; NULL while it is unsettled. A thesis may be lost long before the end of its window.
 */
export const CLOSED_AT = "max(value ->> '$.thesis.settledAt', value ->> '$.thesis.endTime')";

export const SCHEMA = [
  createTableSql("meta", "TEXT"),
  PRICES_TABLE_SQL,
  // Receipts are deleted in the order in which they were added.
  ...TABLE_NAMES.map((name) =>
    createTableSql(name, KEY_TYPES[name], name === "receipts" ? { isOrdered: true } : {})
  ),
  `CREATE INDEX theses_by_close ON theses (${CLOSED_AT})`,
].join(";\n");

/** All tables of a database except the prices. */
export type Tables = ReturnType<typeof openTables>;

/** @param totals Kept up to date. */
export function openTables(db: Database, totals: Totals) {
  const table = <V>(name: TableName, codec: Codec<V>) =>
    new Table(db, name, KEY_TYPES[name], codec, totals[name]);
  return {
    /** By address. */
    accounts: table<Funds>("accounts", json(fundsSchema)),
    /** By id. */
    theses: table<StoredThesis>("theses", json(storedThesisSchema)),
    /** By transaction hash. */
    receipts: table<StoredReceipt>("receipts", json(storedReceiptSchema)),
    /** External transaction hashes of deposits: never deleted. */
    deposits: table<true>("deposits", json(z.literal(true))),
    /** Hashes of the quotes of all theses in {@link theses}. */
    quotes: table<true>("quotes", json(z.literal(true))),
    /** Pages of backfilled prices by market and number, see {@link backfilledKey}. */
    backfilled: table<BigUint64Array>("backfilled", pricePageCodec),
    /** Every change of the permissions, by number. */
    permissions: table<PermissionsChange>("permissions", json(permissionsSchema)),
  };
}

/** Single values, which have no totals. */
export function openMeta(db: Database) {
  const table = <V>(codec: Codec<V>) => new Table(db, "meta", "TEXT", codec);
  return {
    /** How the chain was created: `chain`. */
    chain: table(json(chainSchema)),
    /** Written by each commit: `state`. */
    state: table(json(stateSchema)),
    /** The newest block: `head`. */
    head: table(json(headSchema)),
    /** Written to find out whether the disk has space: `probe`. */
    spaceTest: table(json(z.string())),
  };
}

export function hashKey(hash: Hex): string {
  return hash.slice(2);
}

/**
 * The key of a quote: the start of its window comes first. New rows are then next to each other,
 * and a commit writes one page instead of one per quote.
 */
export function quoteKey(startTime: number, quoteHash: Hex): string {
  return startTime.toString(16).padStart(12, "0") + quoteHash.slice(2);
}

export function backfilledKey(symbol: string, page: number): string {
  return `${symbol} ${page}`;
}

/** A thesis, and the spans without prices that its last settlement attempt found, if any. */
export interface StoredThesis {
  thesis: Thesis;
  missing?: TimeSpan[] | undefined;
}

/** A receipt, and when it was recorded in Unix milliseconds. */
interface StoredReceipt {
  receipt: Receipt;
  atMs: number;
}

/** The accounts with permissions: settings of the node, not part of the genesis. */
export interface PermissionLists {
  /** May submit deposits. */
  relayers: readonly Address[];
  /** May backfill prices. */
  admins: readonly Address[];
}

/** Which accounts have had the permissions since a time in Unix milliseconds. */
interface PermissionsChange extends PermissionLists {
  atMs: number;
}

/** JSON, with bigints as decimal strings. */
function json<V>(schema: z.core.$ZodType<V>): Codec<V> {
  return {
    encode: (value) => JSON.stringify(toWire(value)),
    decode: (text) => z.parse(schema, JSON.parse(text)),
  };
}

const fundsSchema = z.object({ balance: uint256Schema, locked: uint256Schema });
const spanSchema: z.core.$ZodType<TimeSpan> = z.object({
  from: timestampSchema,
  to: timestampSchema,
});
const storedThesisSchema = z.object({
  thesis: thesisSchema,
  missing: z.array(spanSchema).optional(),
});
const numberSchema = z.number().int().nonnegative();
const storedReceiptSchema = z.object({ receipt: receiptSchema, atMs: timestampSchema });
const permissionsSchema = z.object({
  atMs: timestampSchema,
  relayers: z.array(addressSchema),
  admins: z.array(addressSchema),
});

const chainSchema = z.object({
  chainId: numberSchema,
  createdAtMs: timestampSchema,
  balances: z.record(addressSchema, uint256Schema),
});

const totalsSchema = z.object({ rows: numberSchema, sum: numberSchema });
const stateSchema = z.object({
  /** Number of the commit. */
  sequence: numberSchema,
  /** The highest id of a thesis that was ever opened. */
  lastThesisId: numberSchema,
  /** All money ever received: genesis and deposits. */
  issued: uint256Schema,
  /** Receipts and closed theses before this time were deleted. Unix milliseconds. */
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
