/** Settled theses and receipts that are no longer in the journal. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { SqliteArchive } from "../../../services/node/storage/sqlite_archive.ts";
import { withFolder } from "../../support/with_folder.ts";
import { hashOf, rfqSubmit } from "../support/actors.ts";
import { logOf } from "../support/log_of.ts";

const NOW = 1_700_000_000_000;

function thesisOf(id: number): Thesis {
  const { user, from: solver, base, quote, ...tx } = rfqSubmit({ timestamp: NOW });
  const { thesisType, lowerPrice, upperPrice, startTime, endTime, betAmount, payout } = tx;
  return {
    ...{ id, thesisType, user, solver, base, quote, lowerPrice, upperPrice, startTime, endTime },
    ...{ betAmount, payout, quoteHash: hashOf(id), txHash: hashOf(id), createdAt: NOW },
    ...{ status: "won", settledAt: NOW + id },
  };
}

/** A receipt whose hash begins with this byte. */
function receiptOf(byte: number): Receipt {
  const txHash: Hex = `0x${byte.toString(16).padStart(2, "0")}${"0".repeat(62)}`;
  return { txHash, status: "committed", blockNumber: byte };
}

async function withArchive(test: (archive: SqliteArchive, path: string) => void | Promise<void>) {
  await withFolder(async (folder) => {
    const archive = SqliteArchive.open(`${folder}/archive.sqlite`);
    const theses = [1, 2, 4].map(thesisOf);
    const receipts = [1, 2].map((byte) => ({ receipt: receiptOf(byte), atMs: NOW + byte }));
    archive.add({ theses, receipts });
    try {
      await test(archive, `${folder}/archive.sqlite`);
    } finally {
      archive.close();
    }
  });
}

Deno.test("SqliteArchive: finds theses by id and by range, and receipts by their hash", () =>
  withArchive((archive) => {
    assert.deepEqual(archive.thesis(2), thesisOf(2));
    assert.equal(archive.thesis(3), undefined);
    assert.deepEqual(archive.theses(2, 4), [thesisOf(2)]);
    assert.deepEqual(archive.theses(0, 9).map(({ id }) => id), [1, 2, 4]);
    assert.equal(archive.firstId(), 1);
    for (const byte of [1, 2]) {
      assert.deepEqual(archive.receipt(receiptOf(byte).txHash), receiptOf(byte));
    }
    // Rows are found by the first half of a hash, and contain all of it.
    const other: Hex = `0x01${"0".repeat(61)}1`;
    assert.equal(archive.receipt(other), undefined);
  }));

Deno.test("SqliteArchive: drops the rows that are older", () =>
  withArchive((archive) => {
    assert.equal(archive.dropBefore(NOW + 1), 0);
    assert.equal(archive.dropBefore(NOW + 2), 2);
    assert.equal(archive.firstId(), 2);
    assert.deepEqual([1, 2].map((byte) => archive.receipt(receiptOf(byte).txHash)?.blockNumber), [
      undefined,
      2,
    ]);
  }));

Deno.test("SqliteArchive: rows that could not be added together are not added at all", () =>
  withArchive((archive) => {
    const wrong = { ...thesisOf(6), id: 0.5 }; // no integer key
    assert.throws(() => archive.add({ theses: [thesisOf(5), wrong], receipts: [] }));
    assert.equal(archive.thesis(5), undefined);
    archive.add({ theses: [thesisOf(5)], receipts: [] });
    assert.deepEqual(archive.thesis(5), thesisOf(5));
  }));

Deno.test("SqliteArchive: a damaged row is missing, and a file that cannot be read is logged once", () =>
  withArchive(async (archive, path) => {
    const other = new DatabaseSync(path);
    other.exec("UPDATE theses SET line = replace(line, 'won', 'off') WHERE id = 1");
    assert.deepEqual(archive.theses(0, 9).map(({ id }) => id), [2, 4]);
    assert.equal(archive.thesis(1), undefined);
    const logged = await logOf(() => {
      other.exec("DROP TABLE theses");
      other.close();
      assert.deepEqual([archive.thesis(2), archive.firstId()], [undefined, undefined]);
      return Promise.resolve();
    });
    assert.equal(logged.length, 1);
  }));
