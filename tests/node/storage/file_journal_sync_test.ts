/** When a journal may say that a record is on the disk: each test watches what the disk is asked to do. */
import assert from "node:assert/strict";
import { FakeDisk, idsAfterPowerLoss, openJournal, settlement } from "../support/fake_disk.ts";
import { isSettled } from "../support/is_settled.ts";

Deno.test("FileJournal: synced waits until the disk has synced what was appended", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const synced = journal.synced();
  assert.deepEqual([await isSettled(synced), disk.syncs], [false, 1]);
  assert.deepEqual(idsAfterPowerLoss(disk), []);
  disk.endSync();
  await synced;
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
});

Deno.test("FileJournal: a record appended during a sync waits for the next one", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const first = journal.synced();
  await isSettled(first);
  journal.append([settlement(2)]);
  const second = journal.synced();
  assert.deepEqual([await isSettled(second), disk.syncs], [false, 1], "one sync at a time");
  disk.endSync();
  await first;
  assert.deepEqual([await isSettled(second), disk.syncs], [false, 2]);
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
  // Asked for only now: the sync that runs has not ended yet.
  const third = journal.synced();
  assert.equal(await isSettled(third), false);
  disk.endSync();
  await second;
  if (!await isSettled(third)) disk.endSync();
  await third;
  assert.deepEqual(idsAfterPowerLoss(disk), [1, 2]);
});

Deno.test("FileJournal: a record appended during a sync is not synced when that one ends", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const first = journal.synced();
  await isSettled(first);
  journal.append([settlement(2)]);
  disk.endSync();
  await first;
  const second = journal.synced();
  assert.equal(await isSettled(second), false);
  disk.endSync();
  await second;
  assert.deepEqual(idsAfterPowerLoss(disk), [1, 2]);
});

Deno.test("FileJournal: all that wait during a sync share the next one, and nothing new needs none", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  const waits = [1, 2, 3, 4, 5].map((id) => {
    journal.append([settlement(id)]);
    return journal.synced();
  });
  await isSettled(waits[0]!);
  for (const id of [6, 7, 8]) {
    journal.append([settlement(id)]);
    waits.push(journal.synced());
  }
  disk.endSync();
  assert.equal(await isSettled(waits[5]!), false);
  disk.endSync();
  await Promise.all(waits);
  assert.equal(disk.syncs, 2);
  await journal.synced();
  await journal.close();
  assert.equal(disk.syncs, 2);
});

Deno.test("FileJournal: what a killed process wrote is synced before it counts", async () => {
  const disk = new FakeDisk();
  openJournal(disk).journal.append([settlement(1)]);
  const { journal, ids } = openJournal(disk);
  assert.deepEqual(ids, [1]);
  await journal.synced();
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
});

Deno.test("FileJournal: takes nothing more after a sync that failed", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const synced = assert.rejects(journal.synced(), /cannot be synced: I\/O error/);
  await isSettled(synced);
  const waiting = assert.rejects(
    (journal.append([settlement(2)]), journal.synced()),
    /cannot be synced/,
  );
  disk.endSync(new Error("I/O error"));
  await synced;
  assert.match(journal.failure?.message ?? "", /cannot be synced/);
  assert.throws(() => journal.append([settlement(3)]), /cannot be synced/);
  await waiting;
  assert.equal(disk.syncs, 1, "a second sync could succeed without the lost bytes");
  await assert.rejects(journal.synced(), /cannot be synced/);
  await assert.rejects(journal.close(), /cannot be synced/);
  assert.equal(disk.isOpen, false);
});

Deno.test("FileJournal: takes nothing at all if the sync at the start fails", () => {
  const disk = new FakeDisk();
  const { journal } = openJournal(disk);
  disk.isSyncing = false;
  assert.throws(() => journal.syncNow(), /cannot be synced: I\/O error/);
  disk.isSyncing = true;
  for (const use of [() => journal.syncNow(), () => journal.append([settlement(1)])]) {
    assert.throws(use, /cannot be synced/);
  }
});

Deno.test("FileJournal: takes nothing more after a record that it could not remove", async () => {
  const disk = new FakeDisk();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  await journal.synced();
  disk.capacity = disk.size + 10;
  disk.isTruncating = false;
  assert.throws(() => journal.append([settlement(2)]), /cannot be written/);
  assert.match(journal.failure?.message ?? "", /cannot be repaired/);
  disk.capacity = Infinity;
  assert.throws(() => journal.append([settlement(3)]), /cannot be repaired/);
  await assert.rejects(journal.synced(), /cannot be repaired/);
  await assert.rejects(journal.close(), /cannot be repaired/);
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
});

Deno.test("FileJournal: closes its file after the last sync, not before", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const closed = journal.close();
  assert.deepEqual([await isSettled(closed), disk.isOpen], [false, true]);
  disk.endSync();
  await closed;
  assert.equal(disk.isOpen, false);
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
});

Deno.test("FileJournal: goes on until a write has taken every byte", async () => {
  const disk = new FakeDisk();
  disk.writeMax = 7;
  const { journal } = openJournal(disk);
  journal.append([settlement(1), settlement(2)]);
  await journal.close();
  assert.deepEqual(idsAfterPowerLoss(disk), [1, 2]);
});

Deno.test("FileJournal: removes a record that the disk took in part, and takes the next", async () => {
  const disk = new FakeDisk();
  const { journal } = openJournal(disk);
  journal.append([settlement(1)]);
  const wholeBytes = disk.size;
  disk.capacity = wholeBytes + 10;
  assert.throws(() => journal.append([settlement(2)]), /cannot be written: No space left/);
  assert.equal(disk.size, wholeBytes);
  disk.capacity = Infinity;
  journal.append([settlement(3)]);
  await journal.close();
  assert.deepEqual(idsAfterPowerLoss(disk), [1, 3]);
});
