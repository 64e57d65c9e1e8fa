import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { type Block, genesisBlock, sealBlock } from "../../../services/node/chain/block.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import { openStorage, type Storage } from "../../../services/node/storage/storage.ts";
import { actors, deposit, hashOf } from "../support/actors.ts";
import { copyFolder } from "../support/copy_folder.ts";

Deno.test("Storage: the log tells a new chain from one that goes on", async () => {
  const told: string[] = [];
  await configure({
    reset: true,
    sinks: { memory: ({ message }: LogRecord) => void told.push(message.join("")) },
    loggers: [
      { category: LOG_ROOT, lowestLevel: "info", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  const folder = await Deno.makeTempDir();
  const path = `${folder}/node`;
  try {
    for (let start = 0; start < 2; start++) {
      const storage = openStorage(resolveSettings({}), path);
      await storage.close(genesisBlock(0));
    }
  } finally {
    await reset();
    await Deno.remove(folder, { recursive: true });
  }
  assert.deepEqual(told, [
    `New chain in ${path}`,
    `Reading the chain in ${path}`,
    "Resumed with 0 theses, 0 of them not settled",
  ]);
});

const NOW = 1_700_000_000_000;

/** A head of the chain in this test. */
function headAt(number: number): Block {
  return sealBlock(number, hashOf(number), NOW + 100 * number, []);
}

/** Appends a deposit that goes into the block with this number. */
function appendDeposit(storage: Storage, blockNumber: number): Hex {
  const fields = { timestamp: NOW, user: actors.user.address, amount: 1n };
  const tx = deposit({ ...fields, externalTxHash: hashOf(blockNumber) });
  const txHash = hashOf(1_000 + blockNumber);
  const receipt = { txHash, status: "committed" as const, blockNumber };
  storage.journal.append([{ kind: "transaction", atMs: NOW, tx, receipt }]);
  return txHash;
}

/** Where a chain goes on whose process was killed after it did this with its storage. */
async function resumeAfterKill(run: (storage: Storage) => void | Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    const storage = openStorage(resolveSettings({}), `${folder}/node`);
    assert.equal(storage.resumeFrom, undefined, "a new chain");
    await run(storage);
    await copyFolder(`${folder}/node`, `${folder}/copy`);
    await storage.close(genesisBlock(0));
    const copy = openStorage(resolveSettings({}), `${folder}/copy`);
    const { resumeFrom } = copy;
    await copy.close(genesisBlock(0));
    return { headNumber: resumeFrom?.head.number, nextNumber: resumeFrom?.nextNumber };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("Storage: a chain goes on after every block number that it may have published", async () => {
  const resumed = await resumeAfterKill((storage) => {
    // Block 30 is published already, and the process dies before it is written down.
    for (let number = 1; number < 30; number++) storage.afterCheckpoint(headAt(number));
  });
  assert.deepEqual(resumed, { headNumber: 20, nextNumber: 31 });
});

Deno.test("Storage: a chain that never wrote a head goes on after the blocks of its receipts", async () => {
  assert.deepEqual(await resumeAfterKill((storage) => void appendDeposit(storage, 7)), {
    headNumber: 0,
    nextNumber: 8,
  });
});

Deno.test("Storage: a chain whose head is old goes on after the highest block of its receipts", async () => {
  const resumed = await resumeAfterKill((storage) => {
    for (let number = 1; number <= 10; number++) storage.afterCheckpoint(headAt(number));
    for (const blockNumber of [12, 57, 56]) appendDeposit(storage, blockNumber);
  });
  assert.deepEqual(resumed, { headNumber: 10, nextNumber: 58 });
});

Deno.test("Storage: a chain that did nothing before it was killed begins anew", async () => {
  assert.deepEqual(await resumeAfterKill(() => {}), {
    headNumber: undefined,
    nextNumber: undefined,
  });
});
