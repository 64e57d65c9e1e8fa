import { z } from "zod";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { type Receipt, receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  type Address,
  addressSchema,
  type Hex,
  timestampSchema,
  uint256Schema,
} from "../../../lib/protocol/scalars.ts";
import { hash32Schema } from "../../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../../lib/protocol/thesis.ts";
import { toWire } from "../../../lib/protocol/wire.ts";
import type { PermissionLists } from "../chain/permissions.ts";
import type { Decision, Funds, Unsettled } from "../chain/records.ts";
import type { Database } from "./database.ts";
import { DECLARATION as PRICES_DECLARATION } from "./price_cells.ts";
import { type Codec, declaration, Rows, type TableTotals } from "./rows.ts";

/** The tables with totals, and the types of their keys. */
const KEY_TYPES = {
  accounts: "TEXT",
  theses: "INTEGER",
  unsettled: "INTEGER",
  decisions: "INTEGER",
  receipts: "INTEGER",
  transactions: "BLOB",
  quotes: "BLOB",
  deposits: "BLOB",
  backfilled: "TEXT",
  permissions: "INTEGER",
} as const;

export type TableName = keyof typeof KEY_TYPES;
export const TABLE_NAMES = Object.keys(KEY_TYPES) as TableName[]; // its own keys

/** Totals of all tables. */
export type Totals = Record<TableName, TableTotals>;

/** SQL that declares all tables. */
export const SCHEMA = [
  declaration("meta", "TEXT"),
  PRICES_DECLARATION,
  ...TABLE_NAMES.map((name) => declaration(name, KEY_TYPES[name])),
].join(";\n");

/** All tables of a database except the prices. */
export type Tables = ReturnType<typeof tablesOf>;

/** @param totals Kept up to date. */
export function tablesOf(db: Database, totals: Totals) {
  const rows = <V>(name: TableName, codec: Codec<V>) => new Rows(db, name, codec, totals[name]);
  return {
    /** By address. */
    accounts: rows<Funds>("accounts", json(fundsSchema)),
    /** All theses by id, as they were opened: never changed. */
    theses: rows<Thesis>("theses", json(thesisSchema)),
    /** The unsettled ones by id: the prices that the last attempt lacked. */
    unsettled: rows<Pick<Unsettled, "missing">>("unsettled", json(unsettledSchema)),
    /** How the settled ones ended, by id. */
    decisions: rows<Decision>("decisions", json(decisionSchema)),
    /** By number, in the order of their times. */
    receipts: rows<RecordedReceipt>("receipts", json(recordedReceiptSchema)),
    /** Numbers of receipts by transaction hash. */
    transactions: rows<number>("transactions", json(numberSchema)),
    /** Ids of theses by quote hash. */
    quotes: rows<number>("quotes", json(numberSchema)),
    /** External transaction hashes of deposits. */
    deposits: rows<true>("deposits", json(z.literal(true))),
    /** Pages of backfilled prices by market and number, see {@link backfilledKey}. */
    backfilled: rows<BigUint64Array>("backfilled", pageCodec),
    /** Every change of the permissions, by number. */
    permissions: rows<PermissionsChange>("permissions", json(permissionsSchema)),
  };
}

/** Single values, which have no totals. */
export function metaOf(db: Database) {
  const rows = <V>(codec: Codec<V>) => new Rows(db, "meta", codec, { rows: 0, sum: 0 });
  return {
    /** How the chain was created: `chain`. */
    chain: rows(json(chainSchema)),
    /** Written by each commit: `state`. */
    state: rows(json(stateSchema)),
    /** The newest block: `head`. */
    head: rows(json(headSchema)),
    /** Bytes that find out whether there is room: `probe`. */
    probe: rows(json(z.string())),
  };
}

/** The key of a hash. */
export function hashKey(hash: Hex): Uint8Array {
  return Uint8Array.fromHex(hash.slice(2));
}

/** The key of a page of backfilled prices. */
export function backfilledKey(symbol: string, page: number): string {
  return `${symbol} ${page}`;
}

/** Market and number of a page. */
export function parseBackfilledKey(key: string): { symbol: string; page: number } {
  const [symbol = "", page] = key.split(" ");
  return { symbol, page: Number(page) };
}

/** A receipt, and when it was recorded in Unix milliseconds. */
export interface RecordedReceipt {
  receipt: Receipt;
  atMs: number;
}

/** Who held the permissions from a moment on, in Unix milliseconds. */
export interface PermissionsChange extends PermissionLists {
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
const unsettledSchema = z.object({ missing: z.array(spanSchema).optional() });
const { status, settledAt, breach } = thesisSchema.shape;
const decisionSchema = z.object({ status, settledAt, breach });
const numberSchema = z.number().int().nonnegative();
const recordedReceiptSchema = z.object({ receipt: receiptSchema, atMs: timestampSchema });
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
  lastThesisId: numberSchema,
  issued: uint256Schema,
  droppedBeforeMs: timestampSchema,
  lastReceipt: numberSchema,
  totals: z.record(z.enum(TABLE_NAMES), totalsSchema),
});

/** Values that each commit writes. */
export type StoredState = z.output<typeof stateSchema>;

const headSchema = z.object({
  number: numberSchema,
  hash: hash32Schema,
  parentHash: hash32Schema,
  timestampMs: timestampSchema,
  /** No block above this number was announced. */
  reservedTo: numberSchema,
});

/** Balances of a genesis, as the chain records them. */
export type RecordedBalances = Record<Address, bigint>;

const pageCodec: Codec<BigUint64Array> = {
  encode: (page) => Array.from(page).join(),
  decode: (text) => BigUint64Array.from(text.split(","), BigInt),
};
