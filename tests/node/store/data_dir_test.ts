/** Files of a data directory that are older, of another chain, moved or missing. */
import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../lib/clock.ts";
import { LockFile } from "../../../services/node/store/lock_file.ts";
import { APPLICATION_ID } from "../../../services/node/store/schema.ts";
import {
  checkInBackground,
  inspectDataDir,
  requireUndamaged,
} from "../../../services/node/store/data_dir.ts";
import { Database, StorageError } from "../../../services/node/store/database.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { startNode } from "../../../services/node/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { marketsToml, tomlOf, withFolder, withMarketsFile } from "../../support/files.ts";
import { addHistory, DiskChain, GENESIS, withDiskChain } from "../support/chains.ts";
import { withSeed } from "../../support/random.ts";
import { logOf } from "../../support/recorded_logs.ts";
import { damageMany } from "../damage.ts";
import { actors, backfill, CHAIN_ID, deposit, ETH, rfqSubmit } from "../support/actors.ts";
import { testOptions } from "../support/running_node.ts";
import { withSteppedNode } from "../support/stepped_node.ts";

function copy(from: string, to: string, ...names: string[]): void {
  Deno.mkdirSync(to, { recursive: true });
  const all = [...Deno.readDirSync(from)].map(({ name }) => name);
  for (const name of names.length > 0 ? names : all) {
    Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Copies of one chain's directory at several moments. */
async function withMoments(test: (folder: string, clock: FakeClock) => Promise<void>) {
  await withFolder(async (folder) => {
    const clock = new FakeClock();
    const first = new DiskChain(`${folder}/node`, clock);
    addHistory(first);
    first.kill(`${folder}/first-killed`);
    await first.close();
    copy(`${folder}/node`, `${folder}/first-closed`);
    const second = new DiskChain(`${folder}/node`, clock);
    second.deposit(50);
    second.kill(`${folder}/second-killed-early`);
    second.deposit(51);
    second.run(20);
    second.kill(`${folder}/second-killed`);
    await second.close();
    copy(`${folder}/node`, `${folder}/second-closed`);
    await test(folder, clock);
  });
}

const DATABASE = "chain.sqlite";
const LOG = "chain.sqlite-wal";

Deno.test("Data directory: mixed files of different moments are refused, and left unchanged", () =>
  withMoments((folder, clock) => {
    const mixtures: [name: string, base: string, others: string, names: string[]][] = [
      ["an older database", "second-closed", "first-closed", [DATABASE]],
      ["an older database with a newer log", "second-killed", "first-closed", [DATABASE]],
      ["an older log", "second-killed", "second-killed-early", [LOG]],
      ["the log of an earlier run", "second-killed", "first-killed", [LOG]],
      ["an old log beside a closed database", "second-closed", "first-killed", [LOG]],
      ["an older database with its log", "second-killed", "first-killed", [DATABASE, LOG]],
    ];
    for (const [name, base, others, names] of mixtures) {
      const path = `${folder}/mixture`;
      copy(`${folder}/${base}`, path);
      copy(`${folder}/${others}`, path, ...names);
      const before = names.map((name) => Deno.readFileSync(`${path}/${name}`));
      assert.throws(() => new DiskChain(path, clock), /[Rr]estore a backup/, name);
      assert.deepEqual(names.map((name) => Deno.readFileSync(`${path}/${name}`)), before, name);
      Deno.removeSync(path, { recursive: true });
    }
    return Promise.resolve();
  }));

Deno.test("Data directory: a missing log or database is refused; without the lock file the older state continues", () =>
  withMoments(async (folder, clock) => {
    const path = `${folder}/lost`;
    copy(`${folder}/second-killed`, path, DATABASE, "lock");
    assert.throws(() => new DiskChain(path, clock), /lacks \d+ commits that were on the disk/);
    Deno.removeSync(`${path}/lock`);
    await new DiskChain(path, clock).close();

    copy(`${folder}/second-killed`, `${folder}/gone`, "lock");
    assert.throws(() => new DiskChain(`${folder}/gone`, clock), /is missing or empty/);
    Deno.writeTextFileSync(`${folder}/gone/${DATABASE}`, "");
    assert.throws(() => new DiskChain(`${folder}/gone`, clock), /is missing or empty/);
  }));

Deno.test("Data directory: a copy that lacks only the last commit is refused", () =>
  withDiskChain((disk, folder) => {
    disk.kill(`${folder}/older`);
    disk.deposit(1);
    disk.records.commits.commit();
    copy(disk.path, `${folder}/older`, "lock");
    assert.throws(() => new DiskChain(`${folder}/older`, disk.clock), /lacks 1 commit/);
  }));

Deno.test("Data directory: after a start that was killed while it created the database or numbered its run, the next one works", () =>
  withDiskChain(async (disk, folder) => {
    disk.deposit(1);
    await disk.close();
    Deno.mkdirSync(`${folder}/new`);
    const created = new Database(`${folder}/new/${DATABASE}`);
    created.useLog();
    created.close();
    await new DiskChain(`${folder}/new`, disk.clock).close();
    const { emptyLog } = Database.prototype;
    let starts = 0;
    Database.prototype.emptyLog = function () {
      copy(disk.path, `${folder}/killed-${starts += 1}`);
      emptyLog.call(this);
    };
    try {
      await using second = new DiskChain(disk.path, disk.clock);
      second.deposit(2);
      second.kill(`${folder}/killed-3`);
    } finally {
      Database.prototype.emptyLog = emptyLog;
    }
    assert.equal(starts, 2);
    // A power loss may undo all that was written to the lock file since the run was numbered.
    copy(`${folder}/killed-2`, `${folder}/killed-3`, "lock");
    for (const [start, deposits] of [[1, 1], [2, 1], [3, 2]]) {
      await using next = new DiskChain(`${folder}/killed-${start}`, disk.clock);
      assert.equal(next.records.state.totals.deposits.rows, deposits);
    }
  }));

Deno.test("Data directory: a database that is a symbolic link is refused, since a restore would keep its log", () =>
  withDiskChain(async (disk, folder) => {
    await disk.close();
    Deno.renameSync(`${folder}/node/${DATABASE}`, `${folder}/${DATABASE}`);
    Deno.symlinkSync(`${folder}/${DATABASE}`, `${folder}/node/${DATABASE}`);
    assert.throws(() => new DiskChain(disk.path, new FakeClock()), /is a symbolic link/);
    Deno.mkdirSync(`${folder}/new`);
    Deno.symlinkSync(`${folder}/empty`, `${folder}/new/${DATABASE}`);
    assert.throws(() => new DiskChain(`${folder}/new`, new FakeClock()), /is a symbolic link/);
    Deno.writeTextFileSync(`${folder}/empty`, "");
    assert.throws(() => new DiskChain(`${folder}/new`, new FakeClock()), /is a symbolic link/);
  }));

Deno.test("Data directory: a database that the system does not open, and a disk that fails at start or stop, are reported in one sentence", () =>
  withFolder(async (folder) => {
    const refused = {
      code: "DATA_DIR",
      message: /\/node.* cannot be (used|written): .*\(os error/,
    };
    const open = () => new DiskChain(`${folder}/node`, new FakeClock());
    const disk = open();
    const { syncDataSync } = Deno.FsFile.prototype;
    Deno.FsFile.prototype.syncDataSync = () => {
      throw new Error("Stale file handle (os error 116)"); // without a code, as Deno throws it
    };
    try {
      await assert.rejects(disk.close(), refused);
      assert.throws(open, refused);
    } finally {
      Deno.FsFile.prototype.syncDataSync = syncDataSync;
    }
    const { exec } = Database.prototype;
    Database.prototype.exec = function (sql) {
      if (sql === "COMMIT") throw new StorageError("The chain cannot be written: disk is full");
      exec.call(this, sql);
    };
    try {
      assert.throws(open, /: disk is full$/);
    } finally {
      Database.prototype.exec = exec;
    }
    await open().close();
    Deno.renameSync(`${folder}/node/${DATABASE}`, `${folder}/${DATABASE}`);
    Deno.mkdirSync(`${folder}/node/${DATABASE}`); // to root, as to others a file of root
    assert.throws(open, refused);
    const identity = { chainId: CHAIN_ID, balances: GENESIS.balances };
    assert.throws(() => inspectDataDir(`${folder}/node`, identity), refused);
  }));

Deno.test("Data directory: the files of an earlier version are refused in one sentence", () =>
  withFolder(async (path) => {
    const refused = {
      code: "DATA_DIR",
      message: /^.* contains a chain of an earlier version, .*: choose another --data-dir, or move/,
    };
    const journal = `${path}/chain.journal`;
    Deno.writeTextFileSync(journal, "");
    assert.throws(() => new DiskChain(path, new FakeClock()), refused);
    Deno.removeSync(journal);
    await new DiskChain(path, new FakeClock()).close();
    const database = new Database(`${path}/${DATABASE}`);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID - 1}`);
    database.close();
    assert.throws(() => new DiskChain(path, new FakeClock()), refused);
  }));

Deno.test("Data directory: after another program changed the database, nothing is acknowledged", () =>
  withDiskChain(async (disk) => {
    disk.run(20);
    const other = new Database(`${disk.path}/${DATABASE}`);
    other.exec("DELETE FROM deposits WHERE key = 'none'");
    disk.deposit(1);
    disk.storage.records.commits.commit();
    assert.equal(disk.receipts.length, 1, "reading and changing nothing is harmless");
    other.exec("UPDATE receipts SET crc = 1");
    other.close();
    disk.deposit(2);
    const answered = disk.storage.records.commits.whenCommitted();
    disk.storage.records.commits.commit();
    await assert.rejects(answered, /Another program has changed .*: restart the node/);
    assert.equal(disk.receipts.length, 1);
    await assert.rejects(disk.close(), /Another program has changed/);
  }));

Deno.test("Data directory: a start while another program reads the chain is refused, and works afterwards", () =>
  withDiskChain(async (disk, folder) => {
    disk.run(20);
    const reader = new Database(`${folder}/node/${DATABASE}`);
    reader.exec("BEGIN");
    reader.get("SELECT key FROM meta");
    disk.deposit(1);
    const { issued } = disk.view([]);
    await disk.close();
    assert.throws(
      () => new DiskChain(disk.path, disk.clock),
      /is being read, for example by a backup/,
    );
    reader.exec("ROLLBACK");
    reader.close();
    await using again = new DiskChain(disk.path, disk.clock);
    assert.equal(again.view([]).issued, issued);
  }));

Deno.test("requireUndamaged: passes if a page cannot be read once, and fails if it cannot be read again", () =>
  withDiskChain((disk) => {
    addHistory(disk);
    disk.records.commits.commit();
    const db = disk.storage.database;
    let cuts = 1;
    db.iterate = function* (sql) {
      // As the runtime does if a read fails.
      if (!sql.includes("receipts") || cuts-- <= 0) yield* Database.prototype.iterate.call(db, sql);
    };
    requireUndamaged(db);
    cuts = 2;
    assert.throws(() => requireUndamaged(db), /table receipts: 0 rows instead of/);
  }));

Deno.test("Data directory: a node whose balances do not add up to the issued sum does not start, even with every row intact", () =>
  withDiskChain(async (disk) => {
    const { accounts, commits } = disk.records;
    commits.change(() => accounts.add(actors.user.address, { balance: 1n }));
    await disk.close();
    assert.throws(
      () => new DiskChain(disk.path, disk.clock),
      /balances and open theses are 1000000001, 1000000000 was issued/,
    );
  }));

Deno.test("requireUndamaged: fails if a row is as it was before its last change", () =>
  withDiskChain((disk) => {
    disk.deposit(1);
    disk.records.commits.commit();
    const db = disk.storage.database;
    const key = actors.user.address;
    const { value, crc } = db.get("SELECT value, crc FROM accounts WHERE key = ?", key) ?? {};
    disk.deposit(2);
    disk.records.commits.commit();
    requireUndamaged(db);
    db.run("UPDATE accounts SET value = ?, crc = ? WHERE key = ?", `${value}`, Number(crc), key);
    assert.throws(() => requireUndamaged(db), /table accounts: .* or older ones/);
  }));

Deno.test("Data directory: a node does not start on a damaged row, also one that nobody reads", () =>
  withDiskChain(async (disk) => {
    addHistory(disk);
    await disk.close();
    const other = new Database(`${disk.path}/${DATABASE}`);
    other.exec("UPDATE receipts SET value = replace(value, 'committed', 'failed')");
    other.close();
    assert.throws(
      () => new DiskChain(disk.path, disk.clock),
      /The chain is damaged \(row \w+ of the table receipts\)/,
    );
  }));

Deno.test("Data directory: a node does not start on an index that lacks a row", () =>
  withDiskChain(async (disk) => {
    addHistory(disk);
    await disk.close();
    const path = `${disk.path}/${DATABASE}`;
    const db = new Database(path);
    const query = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_receipts_1'";
    const { rootpage } = db.get(query) ?? {};
    db.close();
    const bytes = Deno.readFileSync(path);
    bytes[4_096 * Number(rootpage) - 10]! ^= 1; // in the first key, at the end of the page
    Deno.writeFileSync(path, bytes);
    assert.throws(() => new DiskChain(disk.path, disk.clock), /damaged \(.* missing from index/);
  }));

Deno.test("checkInBackground: passes after one failed read that also ended its transaction", () =>
  withDiskChain(async (disk) => {
    addHistory(disk);
    disk.records.commits.commit();
    const { iterate } = Database.prototype;
    let isCut = false;
    Database.prototype.iterate = function* (sql) {
      if (isCut || !sql.includes("receipts")) return yield* iterate.call(this, sql);
      isCut = true;
      this.rollBack();
      disk.deposit(99);
      disk.records.commits.commit();
    };
    try {
      assert.equal(await checkInBackground(disk.path, new AbortController().signal), true);
    } finally {
      Database.prototype.iterate = iterate;
    }
    assert(isCut);
  }));

Deno.test("checkInBackground: reports a damaged row of an open chain, and can be stopped early", () =>
  withDiskChain(async (disk) => {
    addHistory(disk);
    disk.run(20);
    const { signal } = new AbortController();
    assert.equal(await checkInBackground(disk.path, signal), true);
    assert.equal(await checkInBackground(disk.path, AbortSignal.abort()), false);
    const other = new Database(`${disk.path}/${DATABASE}`);
    other.exec("UPDATE theses SET value = replace(value, '1000001', '1000002')");
    other.close();
    await assert.rejects(checkInBackground(disk.path, signal), /\(row \d+ of the table theses\)/);
    disk.storage.records.commits.fail(new StorageError("The test is over", { isFinal: true }));
    await assert.rejects(disk.close(), /The test is over/);
  }));

for (const change of ["removed", "moved", "replaced", "without its log"]) {
  Deno.test(`Data directory: after the database is ${change}, nothing is acknowledged`, () =>
    withDiskChain(async (disk, folder) => {
      const { path } = disk;
      disk.run(20);
      disk.deposit(1);
      disk.kill(`${folder}/copy`);
      if (change === "removed") Deno.removeSync(`${path}/${DATABASE}`);
      if (change === "moved") Deno.renameSync(path, `${folder}/elsewhere`);
      if (change === "without its log") Deno.removeSync(`${path}/${LOG}`);
      if (change === "replaced") {
        Deno.renameSync(`${folder}/copy/${DATABASE}`, `${path}/${DATABASE}`);
      }
      const { commits } = disk.storage.records;
      disk.deposit(2);
      const answered = commits.whenCommitted();
      commits.commit();
      await assert.rejects(answered, /was removed, moved or replaced: restart the node/);
      assert.match(commits.failure!.message, /restart the node/);
      assert.throws(() => disk.deposit(3), /restart the node/);
      disk.run(20);
      assert.match(commits.failure!.message, /restart the node/, "for ever");
      assert.equal(disk.receipts.length, 1, "subscribers were not told either");
      await assert.rejects(disk.close(), /restart the node/);
    }));
}

const PROGRAMS = 100;

/** Starts programs one after the other in a thread of its own; reports when it begins and ends. */
const STARTER = `data:text/javascript,
  postMessage("begun");
  for (let at = 0; at < ${PROGRAMS}; at++) await new Deno.Command("true").output();
  postMessage("ended");
`;

Deno.test("LockFile: no node starts while files are inspected, and no inspection while a node runs", () =>
  withFolder((folder) => {
    const node = LockFile.lock(folder);
    assert.equal(LockFile.share(folder), undefined);
    assert(LockFile.isLocked(folder));
    node.close();
    {
      using _first = LockFile.share(folder) ?? assert.fail();
      using _second = LockFile.share(folder) ?? assert.fail();
      assert(!LockFile.isLocked(folder));
      assert.throws(() => LockFile.lock(folder), /Another process/);
    }
    LockFile.lock(folder).close();
    return Promise.resolve();
  }));

// A program that is being started has a copy of every open file for a moment.
Deno.test("LockFile: a closed lock is free at once, even while other threads start programs", () =>
  withFolder(async (folder) => {
    const starter = new Worker(STARTER, { type: "module" });
    const begun = Promise.withResolvers<void>();
    let isOver = false;
    starter.onmessage = ({ data }) => {
      begun.resolve();
      isOver = data === "ended";
    };
    await begun.promise;
    while (!isOver) {
      for (let count = 0; count < 100; count++) LockFile.lock(folder).close();
      await new Promise((resolve) => setTimeout(resolve));
    }
    starter.terminate();
  }));

Deno.test("Data directory: random damage is detected or harmless", () =>
  withSeed(async (random) => {
    const { refused, whole, lackPrices } = await damageMany(40, random);
    assert.equal(refused + whole + lackPrices, 40);
    assert.ok(refused > 0 && whole > 0, `${refused} refused, ${whole} whole`);
  }));

Deno.test("Data directory: a price damaged on the disk is left out, and every other one is kept", () =>
  withDiskChain(async (disk) => {
    disk.run(20);
    await disk.close();
    const time = disk.clock.now() - 1_000;
    const database = new Database(`${disk.path}/${DATABASE}`);
    const where = `market = 'ETH/USDT' AND cell = ${Math.floor(time / 6_400)}`;
    const { slots } = database.get(`SELECT slots FROM prices WHERE ${where}`) ?? {};
    assert.ok(slots instanceof Uint8Array);
    slots[time % 6_400 / 100 * 12 + 3]! ^= 1; // a bit of its price
    database.run(`UPDATE prices SET slots = ? WHERE ${where}`, slots);
    database.close();
    const lines = await logOf(async () => {
      await using reopened = new DiskChain(disk.path, disk.clock);
      const history = reopened.chain.state.historyOf(ETH);
      const known = [time - 100, time, time + 100].map((slot) => history.at(slot) !== undefined);
      assert.deepEqual(known, [true, false, true]);
    });
    assert.deepEqual(lines, ["Prices are damaged; these slots count as missing: ETH/USDT 1"]);
  }));

// A chain on the disk whose markets change between two starts.

async function placeBet(client: CoreClient, timestamp: number): Promise<void> {
  await client.sendTransaction(deposit({ timestamp }));
  const receipt = await client.sendTransaction(rfqSubmit({ timestamp }));
  assert.equal(receipt.status, "committed");
}

Deno.test("Node --data-dir: a market can be removed only if it has no open thesis", () =>
  withFolder(async (dataDir) => {
    const clock = new FakeClock();
    await withSteppedNode(
      async ({ client, stepped }) => {
        const timestamp = stepped.now;
        await placeBet(client, timestamp);
        const filled = backfill({ timestamp, startTime: timestamp - 1_000, prices: [1n] });
        assert.equal((await client.sendTransaction(filled)).filledSlots, 1);
      },
      { dataDir },
      clock,
    );

    await withMarketsFile(marketsToml(2), async (markets) => {
      await assert.rejects(startNode(testOptions({ dataDir, markets }), clock, clock.monotonic), {
        code: "DATA_DIR",
        message: new RegExp(
          `contains the open thesis 1 on ${ETH.base} / ${ETH.quote}, .* to the --markets file$`,
        ),
      });
    });
    // Settled with the market alone, after which it can go.
    await withMarketsFile(tomlOf([ETH]), async (markets) => {
      clock.advance(100);
      await withSteppedNode(
        async ({ client, stepped }) => {
          await stepped.runUntil(clock.now() + 1_100);
          const { status, endTime } = (await client.getThesis(1))!;
          assert(endTime < stepped.now);
          assert.notEqual(status, "open");
          const missing = backfill({
            timestamp: stepped.now,
            startTime: endTime - 1_000,
            prices: Array(10).fill(3_000_000_000n),
          });
          await client.sendTransaction(missing);
          assert.equal((await client.getThesis(1))?.status, "won");
        },
        { dataDir, markets },
        clock,
      );
    });
    await withMarketsFile(marketsToml(2), async (markets) => {
      await (await startNode(testOptions({ dataDir, markets }), clock, clock.monotonic)).stop();
    });
  }));

Deno.test("Node --data-dir: a market cannot get the tokens of another, whose bets its prices would decide", () =>
  withFolder(async (dataDir) => {
    const clock = new FakeClock();
    await withSteppedNode(
      async ({ client, stepped }) => {
        await placeBet(client, stepped.now);
        await stepped.run(5);
      },
      { dataDir },
      clock,
    );
    const [BTC] = MARKETS;
    const swapped = [{ ...BTC, symbol: ETH.symbol }, { ...ETH, symbol: BTC.symbol }];
    await withMarketsFile(tomlOf(swapped), async (markets) => {
      await assert.rejects(startNode(testOptions({ dataDir, markets }), clock, clock.monotonic), {
        code: "DATA_DIR",
        message: new RegExp(`prices of ${ETH.symbol} for ${ETH.base} / ${ETH.quote}, which would`),
      });
    });
    // Also after a start without the market: its prices stay where they are.
    await withMarketsFile(tomlOf([ETH]), async (markets) => {
      await (await startNode(testOptions({ dataDir, markets }), clock, clock.monotonic)).stop();
    });
    await withMarketsFile(tomlOf([ETH, { ...BTC, quote: ETH.base }]), async (markets) => {
      const options = testOptions({ dataDir, markets });
      await assert.rejects(startNode(options, clock, clock.monotonic), /prices of BTC\/USDT for/);
    });
  }));

Deno.test("Node --data-dir: wrong tokens of a market can be corrected as long as it has no prices", () =>
  withFolder(async (dataDir) => {
    const clock = new FakeClock();
    const mistake = tomlOf([{ ...ETH, base: ETH.quote, quote: ETH.base }]);
    // The oracle has no prices for these tokens.
    await withMarketsFile(mistake, async (markets) => {
      await withSteppedNode(({ stepped }) => stepped.run(5), { dataDir, markets }, clock);
    });
    await withMarketsFile(tomlOf([ETH]), async (markets) => {
      await withSteppedNode(({ stepped }) => stepped.run(5), { dataDir, markets }, clock);
    });
    await withMarketsFile(mistake, async (markets) => {
      await assert.rejects(
        startNode(testOptions({ dataDir, markets }), clock, clock.monotonic),
        new RegExp(`prices of ${ETH.symbol} for ${ETH.base} / ${ETH.quote}, which would`),
      );
    });
  }));

Deno.test("Data directory: a start that fails at any moment leaves it free for another node", () =>
  withFolder(async (folder) => {
    const options = testOptions({ dataDir: `${folder}/node`, oracleUrl: "http://127.0.0.1:9" });
    for (let failingCall = 1; failingCall <= 4; failingCall++) {
      let calls = 0;
      const mistake = new TypeError("A bug");
      const failing: Clock = {
        now() {
          if ((calls += 1) === failingCall) throw mistake;
          return systemClock.now();
        },
        after: (delayMs, task) => systemClock.after(delayMs, task),
      };
      await assert.rejects(startNode(options, failing), (thrown) => thrown === mistake);
      await (await startNode(options)).stop();
    }
  }));
