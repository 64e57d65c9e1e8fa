import assert from "node:assert/strict";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { Accounts, ACCOUNTS_PER_READ } from "../../../services/node/store/accounts.ts";
import { Database } from "../../../services/node/store/database.ts";
import { createChain, createMeta, createTables } from "../../../services/node/store/schema.ts";

Deno.test("Accounts: a start reads all rows, at most ACCOUNTS_PER_READ of them at a time, and ends", () => {
  const addresses = Array.from(
    { length: 2 * ACCOUNTS_PER_READ },
    (_, index): Address => `0x${(index + 1).toString(16).padStart(40, "0")}`,
  );
  const db = new Database(":memory:");
  const balances = new Map(addresses.map((address, index) => [address, BigInt(index + 1)]));
  createChain(db, { chainId: 1337, balances }, 0);
  const { accounts: table } = createTables(db, createMeta(db).state.get()!.totals);
  const select = table.select.bind(table);
  let largest = 0;
  table.select = (...query) => {
    const rows = select(...query);
    largest = Math.max(largest, rows.length);
    return rows;
  };
  const accounts = new Accounts(table);
  assert.deepEqual(addresses.map((address) => accounts.get(address).balance), [
    ...balances.values(),
  ]);
  assert.equal(largest, ACCOUNTS_PER_READ);
  const firstRows = select("ORDER BY key LIMIT ?", ACCOUNTS_PER_READ);
  table.select = () => firstRows; // as of a damaged table
  assert.equal(new Accounts(table).get(addresses.at(-1)!).balance, 0n);
  db.close();
});
