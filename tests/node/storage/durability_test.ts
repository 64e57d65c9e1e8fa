/** What the node has answered survives a power loss: each test watches what the disk is asked to do. */
import { toWire } from "../../../lib/protocol/wire.ts";
import assert from "node:assert/strict";
import type { TransactionWire } from "../../../lib/protocol/transaction.ts";
import { genesisBlock } from "../../../services/node/chain/block.ts";
import { CoreNode } from "../../../services/node/core_node.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import {
  FLUSH_CHECKPOINTS,
  openStorage,
  type Storage,
} from "../../../services/node/storage/storage.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { actors, deposit, hashOf, rfqSubmit } from "../support/actors.ts";
import { FakeDisk, idsAfterPowerLoss, journalOn, settlement } from "../support/fake_disk.ts";
import { pricesBody } from "../support/fake_oracle.ts";
import { isSettled } from "../support/is_settled.ts";
import { SOLVER_BALANCE } from "../support/test_chain.ts";
import { withFolder } from "../../support/with_folder.ts";

const clock = new FakeClock();
const NOW = clock.now();

const settings = resolveSettings({
  relayers: [actors.relayer.address],
  admins: [actors.admin.address],
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
});

/** A node without ports, and its storage. */
function startCore(folder: string, disk: FakeDisk): { node: CoreNode; storage: Storage } {
  const storage = openStorage(settings, folder, { clock, openFile: journalOn(disk) });
  return { node: new CoreNode(settings, storage, clock, clock.monotonic), storage };
}

function call(node: CoreNode, method: string, ...params: unknown[]) {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return node.dispatcher.handle(text, { isReadOnly: false, path: () => [] }).then((answer) =>
    JSON.parse(answer.text ?? "null")
  );
}

function depositWire(number = 1): TransactionWire {
  const fields = { timestamp: NOW, user: actors.user.address, amount: 5_000_000n };
  return toWire(deposit({ ...fields, externalTxHash: hashOf(number) }));
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
    disk.releaseSyncs();
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
    disk.releaseSyncs();
    await storage.close(node.chain.head);
  }));

Deno.test("Node: a settlement on request is answered after its record is synced", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    node.chain.oraclePrices.update(pricesBody(NOW), NOW);
    node.chain.checkpoint(NOW);
    await call(node, "core_sendTransaction", depositWire());
    const startTime = NOW + 100;
    const bet = rfqSubmit({ timestamp: NOW, startTime, lowerPrice: 1n, upperPrice: 2n });
    const { result } = await call(node, "core_sendTransaction", toWire(bet));
    assert.equal(result.status, "committed");
    node.chain.checkpoint(startTime);
    disk.holdSyncs();
    const begun = disk.nextSync();
    const answer = call(node, "core_settleThesis", 1);
    assert.equal(await Promise.race([answer, begun]), "sync");
    assert.equal(await isSettled(answer), false);
    disk.endSync();
    assert.equal((await answer).result.status, "lost");
    disk.releaseSyncs();
    await storage.close(node.chain.head);
  }));

Deno.test("Node: a transaction whose record cannot be synced gets no receipt, and health says so", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const { node, storage } = startCore(folder, disk);
    await storage.journal.synced();
    assert.equal(node.health().status, 200);
    const writable = async () => (await node.metrics.journalWritable.get()).values[0]?.value;
    assert.equal(await writable(), 1);
    disk.holdSyncs();
    const answer = call(node, "core_sendTransaction", depositWire());
    await disk.nextSync();
    disk.endSync(new Error("I/O error"));
    const { result, error } = await answer;
    assert.deepEqual([result, error.code, error.data], [undefined, -32002, { code: "JOURNAL" }]);
    assert.equal(node.health().status, 503);
    assert.match(
      (await node.health().json()).error,
      /journal cannot be synced: .*; restart the node/,
    );
    assert.equal(await writable(), 0);
    await assert.rejects(storage.close(node.chain.head), /cannot be synced/);
  }));

Deno.test("Storage: settlements that nobody asked for are synced within a second", () =>
  withFolder(async (folder) => {
    const disk = new FakeDisk();
    const storage = openStorage(settings, folder, { clock, openFile: journalOn(disk) });
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
