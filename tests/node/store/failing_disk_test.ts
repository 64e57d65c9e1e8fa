/** What the node answers and logs while its disk is full. */
import assert from "node:assert/strict";
import { ShiftedClock } from "../../../lib/clock.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { toWire } from "../../../lib/json.ts";
import { CoreNode, SETTLEMENT_MS } from "../../../services/node/core_node.ts";
import { SETTLEMENTS_PER_SLICE } from "../../../services/node/chain/state.ts";
import { resolveSettings } from "../../../services/node/options.ts";
import { BLOCKS_RESERVED } from "../../../services/node/store/chain_records.ts";
import { Database, StorageError } from "../../../services/node/store/database.ts";
import { LockFile } from "../../../services/node/store/lock_file.ts";
import {
  CHECKPOINTS_PER_SAVE,
  openStorage,
  type Storage,
} from "../../../services/node/store/storage.ts";
import { hashKey } from "../../../services/node/store/schema.ts";
import { eventually, settled } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withFolder } from "../../support/files.ts";
import { actors, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { DiskChain, openTheses, requireConserved, withDiskChain } from "../support/chains.ts";
import { pricesBody } from "../support/fake_oracle.ts";
import { logOf } from "../../support/recorded_logs.ts";
import { testOptions } from "../support/running_node.ts";

const settings = resolveSettings(testOptions({ ringBufferSize: 1_024 }), SPEC_MARKETS);

/** A node without ports whose disk the test can fill. */
class Node {
  readonly clock = new FakeClock();
  readonly storage: Storage;
  readonly core: CoreNode;
  #deposits = 0;

  constructor(readonly folder: string) {
    const { clock } = this;
    this.storage = openStorage({ ...settings, dataDir: folder }, clock);
    const nodeClock = new ShiftedClock(clock);
    this.core = new CoreNode(settings, this.storage, nodeClock, clock.monotonic);
  }

  fillDisk(isFull: boolean): void {
    const pages = isFull ? 1 : 1_000_000;
    this.storage.database.exec(`PRAGMA max_page_count = ${pages}`); // at least what it has
  }

  /** Makes all queries for several rows fail, or succeed again. */
  failQueries(isFailing: boolean): void {
    const db = this.storage.database;
    Reflect.deleteProperty(db, "all"); // that of the class counts again
    if (!isFailing) return;
    db.all = () => {
      throw new StorageError("The chain cannot be read or written: disk I/O error");
    };
  }

  /** Checkpoints of a second, with fresh prices. */
  second(price?: bigint): void {
    for (let made = 0; made < CHECKPOINTS_PER_SAVE; made++) this.checkpoint(price);
  }

  checkpoint(price?: bigint): void {
    this.clock.advance(100);
    const nowMs = this.clock.now();
    const prices = price === undefined ? undefined : { "ETH/USDT": price };
    this.core.chain.oraclePrices.update(pricesBody(nowMs, prices), nowMs);
    this.storage.afterCheckpoint(this.core.chain.checkpoint(nowMs));
    this.storage.records.commits.commit();
  }

  /** Opens theses that the user wins in 300 ms. */
  openTheses(count: number): void {
    const { chain } = this.core;
    const { records } = this.storage;
    const timestamp = this.clock.now();
    const fields = { timestamp, endTime: timestamp + 300, user: actors.solver };
    openTheses(chain, records, rfqSubmit({ ...fields, betAmount: 1n, payout: 2n }), count);
    records.commits.commit();
  }

  async deposit() {
    const timestamp = this.clock.now();
    const externalTxHash = hashOf(this.#deposits += 1);
    return await this.call("core_sendTransaction", toWire(deposit({ timestamp, externalTxHash })));
  }

  /** Deposits until the disk is full. @returns How many were committed, and the answer of the last. */
  async depositUntilFull() {
    this.fillDisk(true);
    for (let committed = 0;; committed++) {
      const { result, error } = await this.deposit();
      if (result === undefined) return { committed, error };
    }
  }

  async account(): Promise<{ balance: string; frozen?: boolean }> {
    return (await this.call("core_getAccount", actors.user.address)).result;
  }

  async balance(): Promise<string> {
    return (await this.account()).balance;
  }

  async call(method: string, ...params: unknown[]) {
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await this.core.dispatcher.handle(text, { isReadOnly: false, groups: () => [] });
    return JSON.parse(answer.text ?? "null");
  }

  async health() {
    const response = this.core.health();
    const { status, error } = await response.json();
    return { http: response.status, status, error };
  }
}

/** Runs a test with a node on the disk. */
function withNode(test: (node: Node) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const node = new Node(folder);
    node.second();
    await test(node);
    await node.storage.close(node.core.chain.head);
  });
}

/** Declares a test with a node on the disk. */
const test = (name: string, run: (node: Node) => Promise<void>) =>
  Deno.test(`CoreNode: ${name}`, () => withNode(run));

test("a deposit is not answered as committed if a query of the same turn fills the disk", async (node) => {
  node.fillDisk(true);
  for (let round = 0; round < 20; round++) {
    const before = BigInt(await node.balance());
    // Queries commit what is only in memory so far.
    const query = () => node.call("core_getTheses", {});
    const answers = await Promise.all([
      node.deposit(),
      query(),
      query(),
      node.deposit(),
      query(),
    ]);
    const committed = answers.filter(({ result }) => result?.status === "committed").length;
    assert.equal(BigInt(await node.balance()) - before, 5_000_000n * BigInt(committed));
  }
  assert.equal((await node.health()).status, "failed", "there was no room in the end");
  node.fillDisk(false);
  node.second();
});

Deno.test('CoreNode: on a full disk it refuses writes with one code, reports "failed", logs once, and recovers', async () => {
  const logged = await logOf(() =>
    withNode(async (node) => {
      const { committed, error } = await node.depositUntilFull();
      assert.deepEqual([error.code, error.data], [-32002, { code: "STORAGE" }]);
      assert.ok(!JSON.stringify(error).includes(node.folder), "no path");
      for (let sent = 0; sent < 5; sent++) {
        assert.equal((await node.deposit()).error.code, -32002);
        node.second();
      }
      const { http, status, error: reason } = await node.health();
      assert.deepEqual([http, status], [503, "failed"]);
      assert.match(reason, /^The chain cannot be written: database or disk is full/);
      const { chain, problems } = await (await node.core.readiness()).json();
      assert.deepEqual([chain, problems[0]], [false, reason]);
      const { registry } = node.core.metrics;
      const gauge = registry.getSingleMetric("node_storage_writable") ?? assert.fail("no gauge");
      const writable = async () => (await gauge.get()).values[0]?.value;
      assert.equal(await writable(), 0);
      assert.equal((await node.account()).frozen, true);
      assert.equal(await node.balance(), `${committed * 5_000_000}`, "what was answered, no more");
      const { ledger, histories } = node.core.chain.state;
      requireConserved(ledger, node.storage.records);
      for (const { ring } of histories.values()) {
        assert.ok(ring.at(node.clock.now()), "prices go on");
      }

      node.fillDisk(false);
      node.second();
      assert.deepEqual(await node.health(), { http: 200, status: "healthy", error: undefined });
      assert.equal(await writable(), 1);
      const spaceTest = "SELECT key FROM meta WHERE key = 'probe'";
      assert.equal(node.storage.database.get(spaceTest), undefined, "no space is left taken");
      assert.equal((await node.account()).frozen, undefined);
      assert.equal((await node.deposit()).result.status, "committed");
      assert.equal(await node.balance(), `${(committed + 1) * 5_000_000}`);
    })
  );
  assert.deepEqual(logged.slice(1).map((line) => line.replace(/: .*/, "")), [
    "The chain cannot be written",
    "The data directory can be written again",
  ]);
});

Deno.test("CoreNode: if its database is moved away, callers get a code without the path, which health has", () =>
  withFolder(async (folder) => {
    const node = new Node(folder);
    node.second();
    Deno.renameSync(`${folder}/chain.sqlite`, `${folder}/moved.sqlite`);
    const { error } = await node.deposit();
    assert.deepEqual([error.code, error.data], [-32002, { code: "STORAGE" }]);
    assert.ok(!error.message.includes(folder), error.message);
    const { status, error: reason } = await node.health();
    assert.equal(status, "failed");
    assert.ok(
      reason.startsWith(`${folder}/chain.sqlite or its log was removed, moved or replaced`),
    );
    await assert.rejects(node.storage.close(node.core.chain.head), StorageError);
  }));

test("a thesis that is breached or ends while the disk is full is settled afterwards", async (node) => {
  await node.deposit();
  const timestamp = node.clock.now();
  const bet = (endTime: number, lowerPrice: bigint) =>
    node.call("core_sendTransaction", toWire(rfqSubmit({ timestamp, endTime, lowerPrice })));
  assert.equal((await bet(timestamp + 60_000, 2_850_000_000n)).result.status, "committed");
  assert.equal((await bet(timestamp + 3_000, 1n)).result.status, "committed");
  await node.depositUntilFull();
  node.second(2_000_000_000n);
  for (let seconds = 0; seconds < 3; seconds++) node.second();
  const statuses = () => node.core.chain.state.ledger.theses.map(({ status }) => status);
  assert.deepEqual(statuses(), ["open", "open"]);
  node.fillDisk(false);
  node.second();
  node.second();
  assert.deepEqual(statuses(), ["lost", "won"]);
  const { breach } = node.core.chain.state.ledger.findThesis(1)!;
  assert.deepEqual(breach, { time: timestamp + 100, price: 2_000_000_000n });
});

test("theses that end while the disk is full are all settled later, over several turns", async (node) => {
  const count = 2 * SETTLEMENTS_PER_SLICE;
  node.openTheses(count);
  node.fillDisk(true);
  node.second();
  const unsettled = () => node.core.chain.state.settlements.unsettledCount;
  assert.equal(unsettled(), count);
  assert.equal(node.core.chain.settleDue(), false, "not tried in every turn");
  assert.equal((await node.health()).status, "failed");
  node.fillDisk(false);
  node.second(); // finds out that there is room
  node.second();
  assert.equal(unsettled(), 0);
  assert.equal((await node.health()).status, "healthy");
});

Deno.test("Chain: a settlement whose commit failed is announced after it is stored, its block at once", () =>
  withDiskChain((disk) => {
    disk.run(1);
    disk.deposit(1);
    disk.bet(300);
    disk.run(2);
    disk.failCommits(true);
    disk.run(1);
    const { chain, theses } = disk;
    const heads = () => disk.heads.map(({ number }) => number);
    assert.equal(chain.state.ledger.findThesis(1)?.status, "open");
    assert.equal(heads().at(-1), chain.head.number);
    disk.failCommits(false);
    disk.run(2 * CHECKPOINTS_PER_SAVE);
    assert.deepEqual(theses.map(({ status }) => status), ["open", "won"]);
    const [first = 0] = heads();
    assert.deepEqual(heads(), heads().map((_, index) => first + index), "no block is left out");
  }));

Deno.test("Chain: a breach whose commit failed is settled when commits succeed, though the price is back inside", () =>
  withDiskChain((disk) => {
    disk.run(1);
    disk.deposit(1);
    disk.bet(60_000);
    disk.run(1);
    disk.failCommits(true);
    disk.run(1, 9_000_000_000n);
    const time = disk.clock.now();
    disk.failCommits(false);
    disk.run(2 * CHECKPOINTS_PER_SAVE);
    assert.deepEqual(disk.chain.findThesis(1)?.breach, { time, price: 9_000_000_000n });
  }));

Deno.test("Chain: prices whose commits failed are stored by a later one", () =>
  withDiskChain(async (disk, folder) => {
    const from = disk.clock.now() + 100;
    disk.run(10);
    disk.failCommits(true);
    disk.run(80); // more than one row has
    disk.failCommits(false);
    disk.run(20);
    disk.kill(`${folder}/copy`);
    await using copy = new DiskChain(`${folder}/copy`, disk.clock);
    const { ring } = copy.chain.state.historyOf(ETH);
    assert.deepEqual(ring.checkRange(from, disk.clock.now() - 1_000).missing, []);
  }));

test("theses that end together are settled in slices, but not shortly before a checkpoint", async (node) => {
  const count = 4 * SETTLEMENTS_PER_SLICE + 1;
  node.openTheses(count);
  const { chain } = node.core;
  const { settlements } = chain.state;
  const checkpoint = async (lateMs: number) => {
    node.clock.advance(100 - node.clock.now() % 100);
    const dueMs = node.clock.now();
    node.clock.jump(lateMs);
    chain.oraclePrices.update(pricesBody(dueMs), dueMs);
    await eventually("a checkpoint", () => chain.head.timestampMs === dueMs);
  };
  node.core.start();
  for (const lateMs of [0, 0, SETTLEMENT_MS]) await checkpoint(lateMs);
  const left = () => settlements.unsettledCount;
  await eventually("a turn", () => left() <= count - 2 * SETTLEMENTS_PER_SLICE);
  await settled(10);
  assert.equal(left(), count - 2 * SETTLEMENTS_PER_SLICE);
  await checkpoint(0);
  await eventually("settlement", () => left() === 0);
  await node.core.stop();
});

test("without a reserved number it announces no block, and continues once numbers are reserved", async (node) => {
  await node.depositUntilFull();
  for (let seconds = 0; seconds < 30; seconds++) node.second();
  const { number } = node.core.chain.head;
  assert.ok(number <= 120, `${number}`);
  node.fillDisk(false);
  node.second();
  node.second();
  assert.ok(node.core.chain.head.number > number);
});

/** Makes checkpoints with a problem and without it: it is reported, and does not end the node. */
async function requireRecovery(node: Node, reason: RegExp, setProblem: (on: boolean) => void) {
  setProblem(true);
  node.checkpoint();
  const { status, error } = await node.health();
  assert.equal(status, "failed");
  assert.match(error, reason);
  setProblem(false);
  node.second();
  node.second();
  assert.equal((await node.health()).status, "healthy");
}

test("a database that another program locks fails its health, not the checkpoint that prunes", async (node) => {
  node.clock.jump(120_000);
  const other = new Database(`${node.folder}/chain.sqlite`);
  const lock = (on: boolean) => other.exec(on ? "BEGIN IMMEDIATE" : "ROLLBACK");
  await requireRecovery(node, /database is locked/, lock);
  other.close();
});

test("an error when it reads old rows fails its health, not the checkpoint", (node) =>
  requireRecovery(node, /disk I\/O error/, (on) => node.failQueries(on)));

Deno.test("CoreNode: a damaged row that a call reads is logged once, with its table and key", async () => {
  const [, ...lines] = await logOf(() =>
    withNode(async (node) => {
      const { txHash } = (await node.deposit()).result;
      node.storage.database.exec("UPDATE receipts SET value = '{}'");
      for (let call = 0; call < 2; call++) {
        const { error } = await node.call("core_getTransaction", txHash);
        assert.equal(error.data.code, "STORAGE");
      }
    })
  );
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]!,
    /A call cannot be answered: .*\(row [0-9a-f]{64} of the table receipts\)/,
  );
});

test("degraded with the clock an hour behind the newest block", async (node) => {
  node.clock.jump(-3_600_000);
  const { http, status, error } = await node.health();
  assert.deepEqual([http, status], [200, "degraded"]);
  assert.match(error, /The clock is 3600000 ms behind the newest block/);
  node.clock.jump(3_600_000);
  node.second();
  assert.equal((await node.health()).status, "healthy");
});

Deno.test("Chain: a change that is stored is announced, even if the lock file cannot record its commit", () =>
  withDiskChain((disk) => {
    disk.run(1);
    const { prototype } = LockFile;
    const { write } = prototype;
    prototype.write = () => {
      throw new Error("No space left on device");
    };
    try {
      disk.deposit(1);
      disk.run(1);
      assert.equal(disk.receipts.length, 1);
      assert.throws(() => disk.deposit(2), /cannot be written: No space left/);
    } finally {
      prototype.write = write;
    }
    disk.run(CHECKPOINTS_PER_SAVE);
    disk.deposit(2);
    disk.run(1);
    assert.equal(disk.receipts.length, 2);
  }));

Deno.test("Chain: continues after prices that are newer than its head, even if the clock is set back", () =>
  withDiskChain(async (disk, folder) => {
    const { commits, reservedTo } = disk.records;
    disk.failCommits(true);
    disk.run(2 * BLOCKS_RESERVED);
    assert.equal(disk.chain.head.number, reservedTo, "no number is announced that is not stored");
    disk.failCommits(false);
    while (commits.failure !== undefined) disk.run(1);
    disk.kill(`${folder}/copy`);
    await disk.close();
    disk.clock.jump(-3_600_000);
    const { chain, storage } = new DiskChain(`${folder}/copy`, disk.clock);
    chain.checkpoint(chain.head.timestampMs + 100, () => 3_000_000_000n);
    await storage.close(chain.head);
  }));

test("receipts and reads show a change only after its commit", async (node) => {
  const order: string[] = [];
  const { commits } = node.storage.records;
  commits.change(() => {});
  commits.afterCommit(() => order.push("committed"));
  const answers = ["core_getAccount", "eth_blockNumber"].map((method) =>
    node.call(method, ...(method === "core_getAccount" ? [actors.user.address] : []))
      .then(() => order.push(method))
  );
  await Promise.all(answers);
  assert.equal(order[0], "committed");
});

Deno.test("CoreNode: a read that fails between two changes undoes both, and none is half stored", () =>
  withFolder(async (folder) => {
    const node = new Node(folder);
    node.second();
    const { database } = node.storage;
    const { chain } = node.core;
    for (const deposits of [1, 2]) {
      const timestamp = node.clock.now();
      const submit = (number: number) =>
        chain.submit(deposit({ timestamp, externalTxHash: hashOf(10 * deposits + number) }));
      submit(1);
      // As SQLite does if it cannot read a page, or has no space to make room for one.
      database.exec("ROLLBACK");
      if (deposits === 2) assert.throws(() => submit(2), StorageError);
      node.storage.records.commits.commit();
      assert.equal((await node.health()).status, "failed");
      assert.equal(await node.balance(), "0");
      node.second();
      assert.equal((await node.health()).status, "healthy");
    }
    await node.storage.close(chain.head);
    await new Node(folder).storage.close(undefined); // its rows and sums are consistent
  }));

test("an error within a change rolls all of it back", async (node) => {
  await node.deposit();
  const { records } = node.storage;
  const view = async () => [await node.balance(), JSON.stringify(records.state.totals)];
  const before = await view();
  const { address } = actors.user;
  const fail = () => {
    records.accounts.add(address, { balance: 1n });
    records.tables.deposits.add(hashKey(hashOf(99)), true);
    throw new Error("A mistake");
  };
  assert.throws(() => records.commits.change(fail), /A mistake/);
  assert.deepEqual(await view(), before);
  assert.equal(records.tables.deposits.has(hashKey(hashOf(99))), false);
  assert.equal((await node.deposit()).result.status, "committed");
});
