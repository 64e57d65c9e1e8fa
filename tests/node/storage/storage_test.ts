import assert from "node:assert/strict";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { type Block, genesisBlock, sealBlock } from "../../../services/node/chain/block.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import { openStorage, type Storage } from "../../../services/node/storage/storage.ts";
import { actors, deposit, hashOf } from "../support/actors.ts";
import { copyFolder } from "../support/copy_folder.ts";
import { FakeDisk, journalOn } from "../support/fake_disk.ts";
import { logOf } from "../support/log_of.ts";
import { isSettled } from "../support/is_settled.ts";

Deno.test("Storage: the log tells a new chain from one that goes on", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/node`;
  const told = await logOf(async () => {
    for (let start = 0; start < 2; start++) {
      const storage = openStorage(resolveSettings({}), path);
      await storage.close(genesisBlock(0));
    }
  });
  await Deno.remove(folder, { recursive: true });
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

/** Where a chain continues whose process was killed after it did this with its storage. */
async function resumeAfterKill(
  run: (storage: Storage) => void | Promise<void>,
  damage: (path: string) => void | Promise<void> = () => {},
) {
  const folder = await Deno.makeTempDir();
  try {
    const storage = openStorage(resolveSettings({}), `${folder}/node`);
    assert.equal(storage.resumeFrom, undefined, "a new chain");
    await run(storage);
    copyFolder(`${folder}/node`, `${folder}/copy`);
    await storage.close(genesisBlock(0));
    await damage(`${folder}/copy`);
    const copy = openStorage(resolveSettings({}), `${folder}/copy`);
    const { resumeFrom } = copy;
    await copy.close(genesisBlock(0));
    return { headNumber: resumeFrom?.head.number, announcedTo: resumeFrom?.announcedTo };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function announce(storage: Storage, upTo: number): void {
  for (let number = 1; number <= upTo; number++) {
    storage.numbers?.reserve(number);
    storage.afterCheckpoint(headAt(number));
  }
}

Deno.test("Storage: a chain continues after every block number that it may have published", async () => {
  const resumed = await resumeAfterKill((storage) => announce(storage, 29));
  assert.deepEqual(resumed, { headNumber: 20, announcedTo: 100 });
});

Deno.test("Storage: more numbers are reserved before the reserved ones are used up", async () => {
  const resumed = await resumeAfterKill((storage) => announce(storage, 60));
  assert.deepEqual(resumed, { headNumber: 60, announcedTo: 151 });
});

Deno.test("Storage: numbers count as reserved only when they are on the disk", async () => {
  const folder = await Deno.makeTempDir();
  const disk = new FakeDisk();
  try {
    const storage = openStorage(resolveSettings({}), folder, { openFile: journalOn(disk) });
    assert.equal(storage.numbers?.reservedTo, 100, "at once: the node announces blocks now");
    disk.capacity = disk.size;
    storage.numbers?.reserve(60);
    await isSettled(Promise.resolve());
    assert.equal(storage.numbers?.reservedTo, 100, "the record could not be written");
    disk.capacity = Infinity;
    disk.holdSyncs();
    storage.numbers?.reserve(60);
    await isSettled(Promise.resolve());
    assert.equal(storage.numbers?.reservedTo, 100);
    disk.endSync();
    await isSettled(Promise.resolve());
    assert.equal(storage.numbers?.reservedTo, 160);
    const closed = storage.close(genesisBlock(0));
    while (!await isSettled(closed)) disk.endSync();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Storage: a chain that never wrote a head continues after the blocks of its receipts", async () => {
  const fail = (storage: Storage) => {
    const receipt = { txHash: hashOf(1), status: "failed" as const, blockNumber: 108 };
    storage.journal.append([{ kind: "failure", atMs: NOW, receipt }]);
  };
  for (
    const [append, announcedTo] of [
      [(storage: Storage) => void appendDeposit(storage, 107), 107],
      [fail, 108],
    ] as const
  ) {
    assert.deepEqual(await resumeAfterKill(append), { headNumber: 0, announcedTo });
  }
});

Deno.test("Storage: a damaged or missing head is logged, and the chain continues above it", async () => {
  const logged = await logOf(async () => {
    for (const change of ["flip", "cut", "remove"]) {
      const resumed = await resumeAfterKill(
        (storage) => announce(storage, 60),
        (path) => damageHead(`${path}/head`, change),
      );
      assert.deepEqual(resumed, { headNumber: 0, announcedTo: 151 }, change);
    }
    await resumeAfterKill((storage) => announce(storage, 60)); // with its head
  });
  const warnings = logged.filter((line) => line.includes("head was missing or damaged"));
  assert.equal(warnings.length, 3);
});

async function damageHead(path: string, change: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  bytes[30]! ^= 4;
  if (change === "remove") await Deno.remove(path);
  else await Deno.writeFile(path, change === "flip" ? bytes : bytes.subarray(0, 40));
}

Deno.test("Storage: a chain that was stopped continues with the next number", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const storage = openStorage(resolveSettings({}), folder);
    announce(storage, 7);
    await storage.close(headAt(7));
    const again = openStorage(resolveSettings({}), folder);
    assert.deepEqual([again.resumeFrom?.head.hash, again.resumeFrom?.announcedTo], [
      headAt(7).hash,
      7,
    ]);
    await again.close(headAt(7));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
