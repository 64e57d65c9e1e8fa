/** Rewriting the journal: what is settled and old goes, and nobody can tell except by the size. */
import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { RejectedTransactionError } from "../../../services/node/chain/errors.ts";
import { statOf } from "../../../lib/files.ts";
import { UINT64_MAX } from "../../../lib/protocol/scalars.ts";
import { KEEP_MS } from "../../../services/node/storage/compaction.ts";
import { openOnDisk } from "../../../services/node/storage/files.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withSeed } from "../../support/random.ts";
import { actors, backfill, deposit, hashOf, rfqSubmit } from "../support/actors.ts";
import { copyFolder } from "../support/copy_folder.ts";
import { DiskChain, someHistory } from "../support/disk_chain.ts";
import { failingFiles } from "../support/failing_files.ts";
import { withFolder } from "../../support/with_folder.ts";

const { user } = actors;

Deno.test("Rewrite: accounts, theses, receipts and the journal's replay stay the same", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    const txs = someHistory(disk);
    const before = disk.view(txs);
    const { bytes } = disk.dataDir.journal;
    await disk.rewrite();
    assert.ok(
      disk.dataDir.journal.bytes < bytes * 0.7,
      `${disk.dataDir.journal.bytes} of ${bytes}`,
    );
    assert.deepEqual(disk.chain.state.ledger.theses.map(({ id }) => id), [6, 7, 8, 9, 10, 11, 12]);
    assert.deepEqual(disk.view(txs), before);
    txs.push(disk.deposit(99));
    txs.push(disk.bet(60_000, 8));
    const after = disk.view(txs);
    await disk.close();

    for (let start = 0; start < 2; start++) {
      const again = new DiskChain(folder, clock);
      assert.deepEqual(again.view(txs), after, "after a restart");
      assert.ok(again.chain.state.settler.unsettledCount === 3);
      clock.jump(KEEP_MS + 1_000);
      await again.rewrite();
      assert.deepEqual(again.view(txs), after, "after another rewrite");
      await again.close();
    }
  }));

Deno.test("Rewrite: a dropped deposit, bet or quote is never accepted again, with the clock set back too", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    disk.run(1);
    const sentAtMs = clock.now();
    const first = disk.deposit(1);
    const quote = { timestamp: sentAtMs, endTime: sentAtMs + 500 };
    const bet = disk.submit(rfqSubmit(quote));
    disk.run(8);
    clock.jump(KEEP_MS + 60_000);
    disk.run(1);
    await disk.rewrite();
    const { balance } = disk.chain.state.ledger.account(user.address);
    assert.equal(disk.chain.state.ledger.theses.length, 0);

    for (const isArchived of [true, false]) {
      if (!isArchived) { while (disk.dataDir.archive.dropBefore(Infinity) > 0); }
      for (const nowMs of [clock.now(), sentAtMs]) {
        clock.jump(nowMs - clock.now());
        for (const tx of [first, bet]) {
          if (isArchived) {
            assert.equal(disk.chain.submit(tx).status, "committed", "the first receipt");
          } else assert.throws(() => disk.chain.submit(tx), RejectedTransactionError);
        }
        clock.jump(KEEP_MS + 120_000);
        const timestamp = clock.now();
        const again = deposit({
          timestamp,
          user: user.address,
          amount: 5_000_000n,
          externalTxHash: hashOf(1),
        });
        assert.equal(disk.chain.submit(again).error?.code, "DEPOSIT_ALREADY_PROCESSED");
        const { error } = disk.chain.submit(
          rfqSubmit({ ...quote, timestamp, startTime: sentAtMs, deadline: timestamp + 60_000 }),
        );
        assert.equal(error?.code, "INVALID_TIME_RANGE");
      }
    }
    assert.equal(disk.chain.thesis(1), undefined);
    assert.equal(
      disk.chain.receipt(disk.chain.simulate(disk.deposit(5)).txHash)?.status,
      "committed",
    );
    assert.equal(disk.chain.state.ledger.account(user.address).balance, balance + 5_000_000n);
    await disk.close();
  }));

Deno.test("Rewrite: dropped deposits may sum up to more than 64 bits", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    disk.run(1);
    for (const number of [1, 2, 3]) {
      const tx = deposit({
        timestamp: clock.now(),
        user: user.address,
        amount: UINT64_MAX,
        externalTxHash: hashOf(number),
      });
      assert.equal(disk.submit(tx).type, "Deposit");
    }
    const before = disk.chain.state.ledger.account(user.address).balance;
    assert.ok(before > 3n * UINT64_MAX - 1n);
    clock.jump(KEEP_MS + 60_000);
    disk.run(1);
    await disk.rewrite();
    await disk.close();
    const again = new DiskChain(folder, clock);
    assert.equal(again.chain.state.ledger.account(user.address).balance, before);
    await again.close();
  }));

Deno.test("Rewrite: however much was dropped, its summary is written in short steps", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    disk.run(1);
    const { journal, state } = disk.dataDir;
    for (let number = 1; number <= 4_000; number++) {
      const record = {
        ...{ kind: "transaction" as const, atMs: clock.now() },
        tx: deposit({
          ...{ timestamp: clock.now(), user: user.address, amount: 1n },
          externalTxHash: hashOf(number),
        }),
        receipt: { txHash: hashOf(10_000 + number), status: "committed" as const, blockNumber: 2 },
      };
      journal.append([record]);
      state.applyTransaction(record);
    }
    clock.jump(KEEP_MS + 60_000);
    disk.run(1);
    let bytes = 0;
    let longest = 0;
    await disk.rewrite(() => {
      const { size } = statOf(`${folder}/chain.journal.new`) ?? { size: bytes };
      longest = Math.max(longest, size - bytes);
      bytes = size;
      return Promise.resolve();
    });
    assert.ok(bytes > 250_000, "all hashes");
    assert.ok(longest < 128 * 1024, `${longest} bytes in one step`);
    await disk.close();
  }));

Deno.test("Rewrite: what is appended meanwhile is in the new journal, in order", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    const txs = someHistory(disk);
    let number = 200;
    await disk.rewrite(() => {
      if (number < 230) txs.push(disk.deposit(number += 1));
      disk.run(1);
      return Promise.resolve();
    });
    assert.ok(number > 200, "something was appended meanwhile");
    txs.push(disk.deposit(199));
    const seen = disk.view(txs);
    await disk.close();
    const again = new DiskChain(folder, clock);
    assert.deepEqual(again.view(txs), seen);
    await again.close();
  }));

Deno.test("Rewrite: prices that were backfilled for an open thesis are kept", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    disk.run(1);
    disk.deposit(1);
    const startTime = clock.now() + 100;
    disk.bet(1_200_000);
    clock.jump(300_000);
    disk.run(1);
    const prices = Array(2_990).fill(3_000_000_000n);
    const timestamp = clock.now();
    disk.submit(backfill({ timestamp, startTime, prices }));
    clock.jump(KEEP_MS + 10_000);
    disk.run(1);
    await disk.rewrite();
    const history = disk.chain.state.historyOf(rfqSubmit({ timestamp }));
    assert.equal(history.at(startTime), 3_000_000_000n);
    await disk.close();
    const again = new DiskChain(folder, clock);
    assert.equal(
      again.chain.state.historyOf(rfqSubmit({ timestamp })).at(startTime),
      3_000_000_000n,
    );
    await again.close();
  }));

Deno.test("Rewrite: keeps a thesis until its window has ended, new failures and reserved numbers", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(`${folder}/node`, clock);
    const fail = () => {
      const timestamp = clock.now();
      const poor = rfqSubmit({ timestamp, betAmount: 9_000_000n, payout: 9_000_001n });
      assert.equal(disk.chain.submit(poor).status, "failed");
      return poor;
    };
    disk.run(1);
    const txs = [disk.deposit(1), disk.bet(2 * KEEP_MS), fail()];
    disk.run(1, 9_000_000_000n);
    assert.equal(disk.chain.settle(1).status, "lost");
    clock.jump(KEEP_MS + 60_000);
    disk.run(1);
    txs.push(fail());
    const seen = disk.view(txs);
    const { ledger } = disk.chain.state;
    await disk.rewrite();
    const inMemory = seen.receipts.map(({ txHash }) => ledger.receipt(txHash) !== undefined);
    assert.deepEqual(inMemory, [false, true, false, true]);
    copyFolder(`${folder}/node`, `${folder}/killed`);
    const { reservedTo } = disk.dataDir.numbers;
    await disk.close();
    for (const name of ["node", "killed"]) {
      const again = new DiskChain(`${folder}/${name}`, clock);
      assert.deepEqual(again.view(txs), seen, name);
      assert.equal(again.chain.state.ledger.theses.length, 1);
      if (name === "killed") assert.equal(again.dataDir.resumeFrom?.announcedTo, reservedTo);
      await again.close();
    }
  }));

Deno.test("Rewrite: a disk that fails at any write leaves the old journal in use", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const files = failingFiles(openOnDisk);
    const disk = new DiskChain(folder, clock, files.open);
    const txs = someHistory(disk);
    for (const after of [0, 700, "open"] as const) {
      files.fail("chain.journal.new", "No space left on device", after);
      await assert.rejects(() => disk.rewrite(), /No space left on device/);
      assert.equal(statOf(`${folder}/chain.journal.new`), undefined);
      files.heal();
      txs.push(disk.deposit(300 + txs.length));
    }
    const seen = disk.view(txs);
    await disk.close();
    const again = new DiskChain(folder, clock);
    assert.deepEqual(again.view(txs), seen);
    await again.close();
  }));

Deno.test("Rewrite: a process that dies at any moment of it loses nothing", () =>
  withFolder((folder) =>
    withSeed(async (random: RandomSource) => {
      const clock = new FakeClock();
      const disk = new DiskChain(`${folder}/node`, clock);
      const txs = someHistory(disk);
      const seen = disk.view(txs);
      const copies: string[] = [];
      const copy = () => {
        copies.push(`${folder}/copy-${copies.length}`);
        copyFolder(`${folder}/node`, copies.at(-1)!); // just pushed
        return Promise.resolve();
      };
      await disk.rewrite(copy);
      await copy();
      await disk.close();
      assert.ok(copies.length > txs.length);
      for (const path of copies.filter((_, number) => number % 4 === 0)) {
        // What the process had written of the draft may be any part of it.
        const draft = `${path}/chain.journal.new`;
        const size = await Deno.stat(draft).then((info) => info.size, () => undefined);
        if (size !== undefined) await Deno.truncate(draft, Math.floor(random() * size));
        const again = new DiskChain(path, clock);
        assert.equal(statOf(draft), undefined);
        assert.deepEqual(again.view(txs), seen, path);
        await again.rewrite();
        assert.deepEqual(again.view(txs), seen, `${path}, rewritten`);
        await again.close();
      }
    })
  ));

Deno.test("Storage: stops in the middle of a rewrite, and the next start has everything", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const disk = new DiskChain(folder, clock);
    const txs = someHistory(disk);
    const seen = disk.view(txs);
    let turns = 0;
    await assert.rejects(
      () =>
        disk.rewrite(() => turns++ < 5 ? Promise.resolve() : Promise.reject(new Error("stops"))),
      /stops/,
    );
    await disk.close();
    const again = new DiskChain(folder, clock);
    assert.deepEqual(again.view(txs), seen);
    await again.close();
  }));
