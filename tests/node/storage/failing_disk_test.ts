/** What the node answers and logs while its files cannot be written. */
import assert from "node:assert/strict";
import { toWire } from "../../../lib/protocol/wire.ts";
import { CoreNode } from "../../../services/node/core_node.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import { openOnDisk } from "../../../services/node/storage/files.ts";
import {
  FLUSH_CHECKPOINTS,
  openStorage,
  type Storage,
} from "../../../services/node/storage/storage.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { actors, deposit, hashOf, rfqSubmit } from "../support/actors.ts";
import { failingFiles } from "../support/failing_files.ts";
import { pricesBody } from "../support/fake_oracle.ts";
import { logOf } from "../support/log_of.ts";
import { SOLVER_BALANCE } from "../support/test_chain.ts";

const settings = resolveSettings({
  relayers: [actors.relayer.address],
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
  ringBufferSize: 1_024,
});

/** A node without ports whose files fail when the test says so. */
class Node {
  readonly clock = new FakeClock();
  readonly files = failingFiles(openOnDisk);
  readonly storage: Storage;
  readonly core: CoreNode;
  #deposits = 0;

  constructor(folder: string) {
    const { clock, files } = this;
    this.storage = openStorage(settings, folder, { clock, openFile: files.open });
    this.core = new CoreNode(settings, this.storage, clock, clock.monotonic);
  }

  /** Checkpoints of a second, with fresh prices. */
  second(): void {
    for (let made = 0; made < FLUSH_CHECKPOINTS; made++) {
      this.clock.advance(100);
      const nowMs = this.clock.now();
      this.core.chain.oraclePrices.update(pricesBody(nowMs), nowMs);
      this.storage.afterCheckpoint(this.core.chain.checkpoint(nowMs));
    }
  }

  async deposit() {
    const timestamp = this.clock.now();
    const externalTxHash = hashOf(this.#deposits += 1);
    const fields = { timestamp, user: actors.user.address, amount: 5_000_000n, externalTxHash };
    return await this.call("core_sendTransaction", toWire(deposit(fields)));
  }

  async call(method: string, ...params: unknown[]) {
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await this.core.dispatcher.handle(text, { isReadOnly: false, path: () => [] });
    return JSON.parse(answer.text ?? "null");
  }

  async health() {
    const response = this.core.health();
    const { status, error } = await response.json();
    return { http: response.status, status, error };
  }
}

/** Runs a test with a node on the disk. @returns What was logged after its start. */
async function withNode(test: (node: Node, folder: string) => Promise<void>): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    const lines = await logOf(async () => {
      const node = new Node(folder);
      node.second();
      await test(node, folder);
      await node.storage.close(node.core.chain.head);
    });
    return lines.filter((line) => !line.startsWith("New chain"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("Node: on a full disk it refuses with a stable code, reports failed, logs once, and recovers", async () => {
  const logged = await withNode(async (node, folder) => {
    const prices = node.core.chain.state.histories;
    node.files.fail("chain.journal", "No space left on device (os error 28)");
    for (let sent = 0; sent < 5; sent++) {
      const { error } = await node.deposit();
      assert.deepEqual([error.code, error.data], [-32002, { code: "JOURNAL" }]);
      assert.ok(!JSON.stringify(error).includes(folder), "no path");
      node.second();
    }
    const { http, status, error } = await node.health();
    assert.deepEqual([http, status], [503, "failed"]);
    assert.match(error, /^The journal cannot be written: No space left/);
    const { balance } = (await node.call("core_getAccount", actors.user.address)).result;
    assert.equal(balance, "0", "nothing of it happened");
    for (const { ring } of prices.values()) assert.ok(ring.at(node.clock.now()), "prices go on");

    node.files.heal();
    node.second();
    assert.deepEqual(await node.health(), { http: 200, status: "healthy", error: undefined });
    assert.equal((await node.deposit()).result.status, "committed");
  });
  assert.deepEqual(logged.map((line) => line.replace(/: .*/, "")), [
    "The journal cannot be written",
    "The data directory can be written again",
  ]);
});

Deno.test("Node: without a reserved number it announces no block, and continues when there are numbers again", async () => {
  await withNode(async (node) => {
    node.files.fail("chain.journal", "No space left on device");
    for (let seconds = 0; seconds < 30; seconds++) node.second();
    assert.equal(node.core.chain.head.number, 100);
    node.files.heal();
    node.second();
    await node.storage.journal.synced();
    node.second();
    assert.ok(node.core.chain.head.number > 100);
  });
});

Deno.test("Node: while prices cannot be written it is degraded, and accepts transactions", async () => {
  const logged = await withNode(async (node) => {
    node.files.fail("ETH-USDT.ring", "Input/output error (os error 5)");
    node.second();
    node.second();
    const { http, status, error } = await node.health();
    assert.deepEqual([http, status], [200, "degraded"]);
    assert.match(error, /Prices cannot be written: Input\/output error/);
    assert.equal((await node.deposit()).result.status, "committed");
    node.files.heal();
    node.second();
    assert.equal((await node.health()).status, "healthy");
  });
  assert.equal(logged.length, 2, logged.join("\n"));
});

Deno.test("Node: with its clock an hour behind the newest block it is degraded and opens no thesis", async () => {
  await withNode(async (node) => {
    await node.deposit();
    node.clock.jump(-3_600_000);
    const { http, status, error } = await node.health();
    assert.deepEqual([http, status], [200, "degraded"]);
    assert.match(error, /The clock is 3600000 ms behind the newest block/);
    const timestamp = node.clock.now();
    const bet = rfqSubmit({ timestamp, endTime: timestamp + 60_000 });
    const { result } = await node.call("core_sendTransaction", toWire(bet));
    assert.equal(result.error.code, "ORACLE_STALE");
    node.clock.jump(3_600_000);
    node.second();
    assert.equal((await node.health()).status, "healthy");
  });
});

Deno.test("Storage: a first start on a full disk can be repeated when there is room", async () => {
  const folder = await Deno.makeTempDir();
  const files = failingFiles(openOnDisk);
  const path = `${folder}/node`;
  try {
    for (const name of ["chain.journal", "BTC-USDT.ring", "SOL-USDT.ring"]) {
      files.fail(name, "No space left on device", 100);
      assert.throws(
        () => openStorage(settings, path, { openFile: files.open }),
        new RegExp(`${folder}.*No space left on device`),
      );
      files.heal();
    }
    const storage = openStorage(settings, path, { openFile: files.open });
    assert.equal(storage.state.histories.size, 3);
    const clock = new FakeClock();
    await storage.close(new CoreNode(settings, storage, clock, clock.monotonic).chain.head);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Storage: a file that cannot be opened is named, with the reason", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["chain.journal", "head", "ETH-USDT.ring"]) {
      const files = failingFiles(openOnDisk);
      files.fail(name, "Read-only file system (os error 30)", "open");
      assert.throws(
        () => openStorage(settings, folder, { openFile: files.open }),
        new RegExp(`${folder}.*Read-only file system`),
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
