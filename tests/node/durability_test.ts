/** What the node has answered survives a power loss: each test watches what the disk is asked to do. */
import assert from "node:assert/strict";
import { transactionToWire } from "../../lib/protocol/transaction.ts";
import type { TransactionWire } from "../../lib/protocol/transaction.ts";
import { genesisBlock } from "../../services/node/block.ts";
import { CoreNode } from "../../services/node/core_node.ts";
import { FLUSH_CHECKPOINTS } from "../../services/node/data_dir.ts";
import { FileJournal } from "../../services/node/journal.ts";
import type { JournalRecord } from "../../services/node/record.ts";
import { resolveSettings } from "../../services/node/settings.ts";
import { openStorage, type Storage } from "../../services/node/storage.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { actors, deposit, hashOf, rfqSubmit } from "./support/actors.ts";
import { FakeDisk } from "./support/fake_disk.ts";
import { pricesBody } from "./support/fake_oracle.ts";
import { SOLVER_BALANCE } from "./support/test_chain.ts";

const clock = new FakeClock();
const NOW = clock.now();

function settlement(id: number): JournalRecord {
  return { kind: "settlement", atMs: NOW, id, outcome: { status: "won" } };
}

/** Opens the journal on a disk. */
function open(disk: FakeDisk) {
  const ids: number[] = [];
  const { journal } = FileJournal.open("chain.journal", (record) => {
    if (record.kind === "settlement") ids.push(record.id);
  }, disk.open);
  return { journal, ids };
}

/** The ids of the records that are left after a power loss. */
function idsAfterPowerLoss(disk: FakeDisk): number[] {
  return open(disk.afterPowerLoss()).ids;
}

/** Whether a promise is settled after everything that can happen now has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = () => settled = true;
  promise.then(note, note);
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

Deno.test("FileJournal: synced waits until the disk has synced what was appended", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = open(disk);
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
  const { journal } = open(disk);
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
  const { journal } = open(disk);
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
  const { journal } = open(disk);
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
  open(disk).journal.append([settlement(1)]);
  const { journal, ids } = open(disk);
  assert.deepEqual(ids, [1]);
  await journal.synced();
  assert.deepEqual(idsAfterPowerLoss(disk), [1]);
});

Deno.test("FileJournal: takes nothing more after a sync that failed", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = open(disk);
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

Deno.test("FileJournal: closes its file after the last sync, not before", async () => {
  const disk = new FakeDisk();
  disk.holdSyncs();
  const { journal } = open(disk);
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
  const { journal } = open(disk);
  journal.append([settlement(1), settlement(2)]);
  await journal.close();
  assert.deepEqual(idsAfterPowerLoss(disk), [1, 2]);
});

Deno.test("FileJournal: removes a record that the disk took in part, and takes the next", async () => {
  const disk = new FakeDisk();
  const { journal } = open(disk);
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

/** A data directory whose journal is on a fake disk; prices and the head are on the real one. */
async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const settings = resolveSettings({
  relayers: [actors.relayer.address],
  admins: [actors.admin.address],
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
});

/** A node without ports, and its storage. */
function startCore(folder: string, disk: FakeDisk): { node: CoreNode; storage: Storage } {
  const storage = openStorage(settings, folder, disk.open);
  return { node: new CoreNode(settings, storage, clock), storage };
}

function call(node: CoreNode, method: string, ...params: unknown[]) {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return node.dispatcher.handle(text, { isReadOnly: false }).then((answer) =>
    JSON.parse(answer.text ?? "null")
  );
}

function depositWire(number = 1): TransactionWire {
  const fields = { timestamp: NOW, user: actors.user.address, amount: 5_000_000n };
  return transactionToWire(deposit({ ...fields, externalTxHash: hashOf(number) }));
}

Deno.test("Node: a transaction is answered after its record is synced, and survives a power loss", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    await storage.journal.synced();
    disk.holdSyncs();
    const begun = disk.nextSync();
    const answer = call(node, "core_sendTransaction", depositWire());
    assert.equal(await Promise.race([answer, begun]), "sync");
    assert.equal(await isSettled(answer), false);
    assert.deepEqual(
      Object((await call(node, "core_getAccount", actors.user.address)).result).balance,
      "5000000",
      "reads do not wait for the disk",
    );
    disk.endSync();
    const { result: receipt } = await answer;
    assert.equal(receipt.status, "committed");
    await storage.close(node.chain.head);

    const after = startCore(folder, disk.afterPowerLoss());
    const { result } = await call(after.node, "core_getTransaction", receipt.txHash);
    assert.deepEqual(result, receipt);
    await after.storage.close(after.node.chain.head);
  }));

Deno.test("Node: the first receipt again is answered after its record is synced", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    await storage.journal.synced();
    disk.holdSyncs();
    const first = call(node, "core_sendTransaction", depositWire());
    await disk.nextSync();
    const again = call(node, "core_sendTransaction", depositWire());
    assert.equal(await isSettled(again), false);
    disk.endSync();
    assert.equal(await isSettled(first), true);
    if (!await isSettled(again)) disk.endSync();
    assert.deepEqual(await again, await first);
    await storage.close(node.chain.head);
  }));

Deno.test("Node: a settlement on request is answered after its record is synced", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    node.chain.feed.update(pricesBody(NOW), NOW);
    node.chain.checkpoint(NOW);
    await call(node, "core_sendTransaction", depositWire());
    const bet = rfqSubmit({ timestamp: NOW, lowerPrice: 1n, upperPrice: 2n });
    const { result } = await call(node, "core_sendTransaction", transactionToWire(bet));
    assert.equal(result.status, "committed");
    disk.holdSyncs();
    const begun = disk.nextSync();
    const answer = call(node, "core_settleThesis", 1);
    assert.equal(await Promise.race([answer, begun]), "sync");
    assert.equal(await isSettled(answer), false);
    disk.endSync();
    assert.equal((await answer).result.status, "lost");
    await storage.close(node.chain.head);
  }));

Deno.test("Node: a transaction whose record cannot be synced gets no receipt, and health says so", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    await storage.journal.synced();
    assert.equal(node.health().status, 200);
    disk.holdSyncs();
    const answer = call(node, "core_sendTransaction", depositWire());
    await disk.nextSync();
    disk.endSync(new Error("I/O error"));
    const { result, error } = await answer;
    assert.deepEqual([result, error.code], [undefined, -32603]);
    assert.match(error.message, /cannot be synced/);
    assert.equal(node.health().status, 503);
    await assert.rejects(storage.close(node.chain.head), /cannot be synced/);
  }));

Deno.test("Storage: settlements that nobody asked for are synced within a second", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const storage = openStorage(settings, folder, disk.open);
    await storage.journal.synced();
    const { syncs } = disk;
    storage.journal.append([settlement(1)]);
    for (let made = 1; made < FLUSH_CHECKPOINTS; made++) storage.afterCheckpoint(genesisBlock(NOW));
    await isSettled(Promise.resolve());
    assert.equal(disk.syncs, syncs);
    storage.afterCheckpoint(genesisBlock(NOW));
    await isSettled(Promise.resolve());
    assert.equal(disk.syncs, syncs + 1);
    assert.deepEqual(idsAfterPowerLoss(disk), [1]);
    await storage.close(genesisBlock(NOW));
  }));
