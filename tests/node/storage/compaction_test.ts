/** When the journal is rewritten, and when archived rows are deleted. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { genesisBlock } from "../../../services/node/chain/block.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import { KEEP_MS } from "../../../services/node/storage/compaction.ts";
import { openOnDisk } from "../../../services/node/storage/files.ts";
import { FLUSH_CHECKPOINTS, openStorage } from "../../../services/node/storage/storage.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { hashOf } from "../support/actors.ts";
import { DiskChain, someHistory } from "../support/disk_chain.ts";
import { failingFiles } from "../support/failing_files.ts";
import { logOf } from "../support/log_of.ts";
import { GENESIS } from "../support/test_chain.ts";
import { withFolder } from "../../support/with_folder.ts";

Deno.test("Storage: rewrites the journal when it has doubled, and drops what is older than retained", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const first = new DiskChain(folder, clock);
    const txs = someHistory(first);
    const { bytes } = first.dataDir.journal;
    const [{ txHash } = { txHash: hashOf(0) }] = first.view(txs).receipts;
    await first.close();
    const settings = resolveSettings({
      relayers: [...GENESIS.relayers],
      admins: [...GENESIS.admins],
      balances: GENESIS.balances,
      ringBufferSize: 1_024,
    });
    const logged = await logOf(async () => {
      const storage = openStorage(settings, folder, {
        ...{ clock, retainMs: 3_600_000, rewriteBytesMin: bytes },
      });
      const second = (jumpMs: number) => {
        clock.jump(jumpMs);
        for (let made = 0; made < FLUSH_CHECKPOINTS; made++) {
          storage.afterCheckpoint(first.chain.head);
        }
      };
      second(0);
      const rewritten = await eventually("a rewrite", () => {
        const { journalBytes } = storage;
        return journalBytes < bytes ? journalBytes : undefined;
      });
      assert.ok(rewritten !== undefined);
      second(0);
      assert.equal(storage.journalBytes, rewritten, "it has not doubled");
      assert.equal(storage.archive?.receipt(txHash)?.status, "committed");
      assert.ok(storage.archive?.thesis(1));
      const { theses } = storage.state.ledger;
      assert.deepEqual(theses.map(({ id }) => id), [6, 7, 8, 9, 10, 11, 12], "the newer ones");
      clock.jump(3_600_000 + KEEP_MS);
      await eventually("their end", () => {
        second(0);
        return storage.archive?.receipt(txHash) === undefined ? true : undefined;
      });
      assert.equal(storage.archive?.thesis(1), undefined);
      await storage.close(first.chain.head);
    });
    assert.equal(logged.filter((line) => line.startsWith("Rewrote the journal")).length, 1);
  }));

Deno.test("Storage: a failed rewrite is logged, and tried again later and later", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const files = failingFiles(openOnDisk);
    const settings = resolveSettings({ ringBufferSize: 1_024 });
    const head = genesisBlock(clock.now());
    const logged = await logOf(async () => {
      const storage = openStorage(settings, folder, {
        ...{ clock, rewriteBytesMin: 1, openFile: files.open },
      });
      files.fail("chain.journal.new", "No space left on device", "open");
      for (let minute = 0; minute < 10; minute++) {
        for (let made = 0; made < FLUSH_CHECKPOINTS; made++) storage.afterCheckpoint(head);
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        clock.jump(60_000);
      }
      await storage.close(head);
    });
    const waits = logged.flatMap((line) => / in (\d+) ms$/.exec(line)?.[1] ?? []);
    assert.deepEqual(waits, ["60000", "120000", "240000", "480000"]);
  }));

Deno.test("Storage: an archive that cannot be written is logged, and tried again a minute later", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const head = genesisBlock(clock.now());
    const logged = await logOf(async () => {
      const storage = openStorage(resolveSettings({ ringBufferSize: 1_024 }), folder, { clock });
      const other = new DatabaseSync(`${folder}/archive.sqlite`);
      other.exec("BEGIN IMMEDIATE");
      for (const jumpMs of [0, 59_999, 1, 120_000]) {
        clock.jump(jumpMs);
        for (let made = 0; made < FLUSH_CHECKPOINTS; made++) storage.afterCheckpoint(head);
        if (jumpMs === 1) other.close();
      }
      await storage.close(head);
    });
    assert.equal(logged.filter((line) => line.includes("cannot be made shorter")).length, 2);
  }));
