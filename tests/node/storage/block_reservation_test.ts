import assert from "node:assert/strict";
import {
  BlockReservation,
  BLOCKS_RESERVED,
} from "../../../services/node/storage/block_reservation.ts";
import { FileJournal } from "../../../services/node/storage/file_journal.ts";
import { FakeDisk, openJournal } from "../support/fake_disk.ts";
import { isSettled } from "../support/is_settled.ts";

/** The reservations in the journal after a power loss. */
function afterPowerLoss(disk: FakeDisk): number[] {
  const found: number[] = [];
  FileJournal.open("chain.journal", (record) => {
    if (record.kind === "reservation") found.push(record.upTo);
  }, { openFile: disk.afterPowerLoss().open });
  return found;
}

Deno.test("BlockReservation: the first numbers are on the disk before it is used", () => {
  const disk = new FakeDisk();
  const numbers = new BlockReservation(openJournal(disk).journal, 40);
  assert.equal(numbers.reservedTo, 40 + BLOCKS_RESERVED);
  assert.deepEqual(afterPowerLoss(disk), [40 + BLOCKS_RESERVED]);
});

Deno.test("BlockReservation: asks once when half is used, and counts what the disk has synced", async () => {
  const disk = new FakeDisk();
  const { journal } = openJournal(disk);
  const numbers = new BlockReservation(journal, 0);
  disk.holdSyncs();
  numbers.reserve(50);
  await journal.synced();
  assert.deepEqual(afterPowerLoss(disk), [100], "half is left");
  numbers.reserve(51);
  numbers.reserve(52);
  const synced = journal.synced();
  assert.deepEqual([await isSettled(synced), numbers.reservedTo], [false, 100]);
  disk.endSync();
  await synced;
  assert.equal(numbers.reservedTo, 151);
  assert.deepEqual(afterPowerLoss(disk), [100, 151]);
  await journal.close();
});

Deno.test("BlockReservation: what did not fit on the disk is asked for again", async () => {
  const disk = new FakeDisk();
  const { journal } = openJournal(disk);
  const numbers = new BlockReservation(journal, 0);
  disk.capacity = disk.size;
  numbers.reserve(60);
  assert.equal(numbers.reservedTo, 100);
  disk.capacity = Infinity;
  numbers.reserve(61);
  await journal.synced();
  assert.equal(numbers.reservedTo, 161);
  numbers.release(70);
  await journal.close();
  assert.deepEqual(afterPowerLoss(disk), [100, 161, 70]);
});
