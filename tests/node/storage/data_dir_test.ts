import assert from "node:assert/strict";
import { CoreClient } from "../../../lib/net/core_client.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Deposit } from "../../../lib/protocol/transaction.ts";
import { DataDir, inspectDataDir } from "../../../services/node/storage/data_dir.ts";
import { startNode } from "../../../services/node/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withSeed } from "../../support/random.ts";
import { actors, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { startFakeOracle } from "../support/fake_oracle.ts";
import { copyFolder } from "../support/copy_folder.ts";
import { NodeProcess } from "../support/node_process.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { testOptions } from "../support/running_node.ts";
import { SteppedNode, withSteppedNode } from "../support/stepped_node.ts";
import { SOLVER_BALANCE } from "../support/test_chain.ts";

const { user, solver, relayer, admin } = actors;

async function withDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const oracle = startFakeOracle();
  oracleUrl = oracle.url;
  try {
    await test(directory);
  } finally {
    await oracle.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

/** The oracle of the test that runs. */
let oracleUrl = "";

function processArgs(directory: string): string[] {
  return [
    ...["--data-dir", directory, "--oracle-url", oracleUrl, "--oracle-timeout-ms", "90"],
    ...["--relayers", relayer.address, "--admins", admin.address],
    ...["--balances", `${solver.address}=${SOLVER_BALANCE}`],
  ];
}

const ETH_PAIR = { base: ETH.base, quote: ETH.quote };

function depositAt(timestamp: number, number: number): Deposit {
  const fields = { timestamp, user: user.address, amount: 5_000_000n };
  return deposit({ ...fields, externalTxHash: hashOf(number) });
}

function depositNow(number: number): Deposit {
  return depositAt(Date.now(), number);
}

async function call(url: string, method: string, params: unknown[] = []) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", body });
  return (await response.json()).result;
}

async function blockNumber(url: string): Promise<number> {
  return Number(await call(url, "eth_blockNumber"));
}

Deno.test("Data directory: a stopped node comes back with accounts, theses, receipts and prices", () =>
  withDirectory(async (directory) => {
    const clock = new FakeClock();
    const oracle = startFakeOracle(() => clock.now());
    const options = testOptions({ oracleUrl: oracle.url, dataDir: directory });
    const before = await SteppedNode.start(options, clock);
    await before.run(1);
    const { client } = before;
    const receipt = await client.sendTransaction(depositAt(before.now, 1));
    const timestamp = before.now;
    const short = rfqSubmit({ timestamp, endTime: timestamp + 300 });
    const long = rfqSubmit({ timestamp, endTime: timestamp + 3_600_000 });
    const poor = rfqSubmit({ timestamp, betAmount: 9_000_000n, payout: 9_000_001n });
    const statuses: string[] = [];
    for (const tx of [short, long, poor]) statuses.push((await client.sendTransaction(tx)).status);
    assert.deepEqual(statuses, ["committed", "committed", "failed"]);
    await before.run(14);
    const query = { ...ETH_PAIR, from: timestamp - 100, to: before.now + 100 };
    const seen = {
      account: await client.getAccount(user.address),
      theses: await client.getTheses({}),
      history: await client.getPriceHistory(query),
      block: await blockNumber(before.node.url),
    };
    assert.deepEqual(seen.theses.theses.map(({ status }) => status), ["won", "open"]);
    assert.deepEqual([seen.history.prices.length, seen.history.missing.length], [15, 1]);
    await before.stop();

    const after = await SteppedNode.start(options, clock);
    assert.deepEqual(await after.client.getAccount(user.address), seen.account);
    assert.deepEqual(await after.client.getTheses({}), seen.theses);
    assert.deepEqual(await after.client.getTransaction(receipt.txHash), receipt);
    assert.deepEqual(await after.client.getPriceHistory(query), seen.history);
    assert.equal(await blockNumber(after.node.url), seen.block);
    assert.deepEqual((await after.client.sendTransaction(poor)).status, "failed");
    await after.run(1);
    assert.ok(await blockNumber(after.node.url) > seen.block);
    await after.stop();
    await oracle.stop();
  }));

Deno.test("Data directory: prices and the head are written once a second, not only at the end", () =>
  withDirectory(async (directory) => {
    const clock = new FakeClock();
    const oracle = startFakeOracle(() => clock.now());
    const options = testOptions({ oracleUrl: oracle.url, dataDir: `${directory}/node` });
    const node = await SteppedNode.start(options, clock);
    const from = clock.now() + 100;
    await node.run(25);
    copyFolder(`${directory}/node`, `${directory}/copy`);
    await node.stop();

    const copy = await SteppedNode.start({ ...options, dataDir: `${directory}/copy` }, clock);
    assert.equal(await blockNumber(copy.node.url), 101, "above everything that was announced");
    const { prices } = await copy.client.getPriceHistory({ ...ETH_PAIR, from, to: from + 2_500 });
    assert.deepEqual([prices.length, prices.at(-1)?.time], [20, from + 1_900]);
    await copy.stop();
    await oracle.stop();
  }));

Deno.test("Data directory: survives kill -9 under load, again and again", () =>
  withDirectory((directory) =>
    withSeed(async (random) => {
      const answered = new Map<string, { tx: Deposit; receipt: Receipt }>();
      const unanswered: Deposit[] = [];
      let number = 0;
      let highestBlock = 0;
      for (let round = 0; round < 4; round++) {
        const node = await NodeProcess.start(processArgs(directory));
        const client = new CoreClient({ url: node.url });
        for (const { tx, receipt } of answered.values()) {
          assert.deepEqual(await client.sendTransaction(tx), receipt);
        }
        for (const tx of unanswered.splice(0)) {
          const receipt = await client.sendTransaction(tx);
          assert.equal(receipt.status, "committed");
          answered.set(receipt.txHash, { tx, receipt });
        }
        const { balance } = await client.getAccount(user.address);
        assert.equal(balance, BigInt(answered.size) * 5_000_000n);
        assert.ok(await blockNumber(node.url) > highestBlock || round === 0, "heads never go back");

        const killAfter = answered.size + 5 + Math.floor(random() * 20);
        const enough = Promise.withResolvers<void>();
        const sender = async () => {
          for (;;) {
            const tx = depositNow(number += 1);
            try {
              const receipt = await client.sendTransaction(tx);
              answered.set(receipt.txHash, { tx, receipt });
              highestBlock = Math.max(highestBlock, receipt.blockNumber);
              if (answered.size >= killAfter) enough.resolve();
            } catch {
              unanswered.push(tx);
              return;
            }
          }
        };
        const senders = [sender(), sender(), sender()];
        await enough.promise;
        await node.kill();
        await Promise.all(senders);
      }
      const node = await NodeProcess.start(processArgs(directory));
      const client = new CoreClient({ url: node.url });
      const { balance } = await client.getAccount(user.address);
      assert.ok(balance >= BigInt(answered.size) * 5_000_000n);
      assert.equal(await node.stop(), 0);
    })
  ));

Deno.test("Data directory: a bet outlives kill -9, and lacks the prices of the time without a node", () =>
  withDirectory(async (directory) => {
    const first = await NodeProcess.start(processArgs(directory));
    const client = new CoreClient({ url: first.url });
    await client.sendTransaction(depositNow(1));
    let receipt: Receipt;
    do {
      const now = Date.now();
      receipt = await client.sendTransaction(rfqSubmit({ timestamp: now, endTime: now + 2_000 }));
    } while (receipt.error?.code === "ORACLE_STALE");
    const { endTime } = (await client.getThesis(1))!;
    await first.kill();

    const second = await NodeProcess.start(processArgs(directory));
    const again = new CoreClient({ url: second.url });
    const settled = await eventually("an attempt to settle", async () => {
      const thesis = await again.getThesis(1);
      return thesis?.status === "open" ? undefined : thesis;
    });
    // The time between the two processes is missing, and nothing was made up for it.
    assert.equal(settled?.status, "needs_backfill");
    const socket = await RpcSocket.open(second.url.replace("http", "ws"));
    const refused = await socket.call("core_settleThesis", [1]);
    const { missing } = Object(refused.error?.data);
    assert.ok(missing[0].to <= Math.ceil(endTime / 100) * 100 && missing.length >= 1);
    const { locked } = await again.getAccount(user.address);
    assert.equal(locked, 1_000_000n);
    await socket.close();
    await second.stop();
  }));

Deno.test("Node: while its process stands still nothing is made up, and it goes on afterwards", () =>
  withSteppedNode(async ({ stepped, client, clock }) => {
    const from = stepped.now;
    clock.jump(1_500);
    await stepped.run(5);
    const page = await client.getPriceHistory({ ...ETH_PAIR, from, to: stepped.now + 100 });
    assert.deepEqual(page.missing, [{ from: from + 100, to: from + 1_500 }]);
    const times = page.prices.map(({ time }) => time - from);
    assert.deepEqual(times, [0, 1_500, 1_600, 1_700, 1_800, 1_900, 2_000]);
  }));

Deno.test("Data directory: a torn tail is cut and logged", () =>
  withDirectory(async (directory) => {
    const options = testOptions({ oracleUrl, dataDir: directory });
    const first = await startNode(options);
    await new CoreClient({ url: first.url }).sendTransaction(depositNow(1));
    await first.stop();
    const path = `${directory}/chain.journal`;
    await Deno.writeTextFile(path, '12345678 {"kind":"transac', { append: true });

    const second = await NodeProcess.start(processArgs(directory));
    assert.match(second.log, /Cut 25 bytes of a torn record off the journal/);
    const files = [...Deno.readDirSync(directory)].map(({ name }) => name);
    assert.ok(files.some((name) => name.startsWith("chain.journal.cut-")), "the bytes are kept");
    const { balance } = await new CoreClient({ url: second.url }).getAccount(user.address);
    assert.equal(balance, 5_000_000n);
    await second.stop();
  }));

Deno.test("Data directory: refuses a second node, another genesis and another ring", () =>
  withDirectory(async (directory) => {
    const options = testOptions({ oracleUrl, dataDir: directory });
    const first = await startNode(options);
    await assert.rejects(() => startNode(options), /Another node has .* open: stop it first/);
    await first.stop();
    await assert.rejects(
      () => startNode({ ...options, chainId: 7 }),
      /another genesis or chain id/,
    );
    await assert.rejects(
      () => startNode({ ...options, admins: [] }),
      /another genesis or chain id/,
    );
    await assert.rejects(
      () => startNode({ ...options, ringBufferSize: 1_024 }),
      /has 65536 slots: set ring_buffer_size to that instead of 1024/,
    );
    await (await startNode(options)).stop();
  }));

Deno.test("inspectDataDir: tells what is there, and leaves it as it is", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/node`;
    const settings = (chainId: number) => ({
      chainId,
      genesis: { relayers: [], admins: [], balances: new Map() },
      ringSlots: 1_024,
    });
    assert.equal(inspectDataDir(path, settings(1)), undefined);
    const open = DataDir.open(path, settings(1));
    assert.equal(inspectDataDir(path, settings(1))?.isHeld, true);
    await open.close();
    // A record that was cut off is for the node to remove.
    await Deno.writeTextFile(`${path}/chain.journal`, "0000", { append: true });
    const { size } = await Deno.stat(`${path}/chain.journal`);
    assert.deepEqual(inspectDataDir(path, settings(1)), { isHeld: false, journalBytes: size });
    assert.throws(() => inspectDataDir(path, settings(2)), /another genesis or chain id/);
    assert.equal((await Deno.stat(`${path}/chain.journal`)).size, size);
  }));

Deno.test({
  name: "Data directory: only the owner can read its files and enter its folders",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withDirectory(async (directory) => {
      const dataDir = `${directory}/chain`;
      const node = await startNode(testOptions({ oracleUrl, dataDir }));
      await node.stop();
      const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
      const files = ["chain.journal", "head", "lock", "prices/ETH-USDT.ring", "archive.sqlite"];
      for (const folder of ["", "prices"]) {
        assert.equal(await modeOf(`${dataDir}/${folder}`), 0o700);
      }
      for (const file of files) assert.equal(await modeOf(`${dataDir}/${file}`), 0o600, file);
    }),
});
