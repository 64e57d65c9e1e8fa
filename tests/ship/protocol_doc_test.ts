/** docs/protocol.md lists what the code has: types, methods and codes. */
import assert from "node:assert/strict";
import { DEPOSIT_REQUEST_TYPE } from "../../lib/protocol/deposit.ts";
import { QUOTE_TYPE } from "../../lib/protocol/quote.ts";
import { nodeMethods } from "../../lib/protocol/methods/all.ts";
import { developmentMethods } from "../../lib/protocol/methods/development.ts";
import { TRANSACTION_ERROR_CODES } from "../../lib/protocol/receipt.ts";
import { TRANSACTION_TYPES } from "../../lib/protocol/transaction.ts";
import type { FlatType } from "../../lib/protocol/typed_data.ts";
import { readText } from "./support.ts";

/** The document as one line, so that a phrase may go on in the next. */
const text = readText("docs/protocol.md").replaceAll(/\s+/g, " ");

function typeString({ primaryType, fields }: FlatType): string {
  return `${primaryType}(${fields.map(({ type, name }) => `${type} ${name}`).join(",")})`;
}

Deno.test("docs/protocol.md: the types that are signed are those of the code, and no others", () => {
  const types = [QUOTE_TYPE, DEPOSIT_REQUEST_TYPE, ...Object.values(TRANSACTION_TYPES)];
  const listed = text.match(/Core:\w+\([^)]*\)/g) ?? [];
  assert.deepEqual(new Set(listed), new Set(types.map(typeString)));
});

Deno.test("docs/protocol.md: the methods of the node are those that it answers", () => {
  const [, chapter = ""] = /## JSON-RPC of the core node(.*?) ## /.exec(text) ?? [];
  const names = new Set(chapter.match(/\b(?:(?:core|eth|net|web3)_\w+|rpc\.discover)/g));
  assert.deepEqual(names, new Set(Object.keys(nodeMethods)));
});

Deno.test("docs/protocol.md: the development methods are those of the node", () => {
  const [, chapter = ""] = /## Development methods of the node(.*?) ## /.exec(text) ?? [];
  const rows = chapter.match(/\| `core_\w+`/g)?.map((row) => row.slice(3, -1));
  assert.deepEqual(rows, Object.keys(developmentMethods));
});

Deno.test("docs/protocol.md: the codes of failed transactions are those of the code", () => {
  const [, codes = ""] = /with `status: "failed"` and one of (.*?)\. - /.exec(text) ?? [];
  assert.deepEqual(codes.match(/[A-Z_]+/g), [...TRANSACTION_ERROR_CODES]);
});
