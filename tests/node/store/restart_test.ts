/** A chain in a data directory over stops, kills and other settings. */
import assert from "node:assert/strict";
import { CoreClient } from "../../../lib/net/core_client.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Deposit } from "../../../lib/protocol/transaction.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { addressSchema } from "../../../lib/protocol/scalars.ts";
import { parseOptions } from "../../../lib/cli/options.ts";
import { options, startNode } from "../../../services/node/mod.ts";
import { inspectDataDir } from "../../../services/node/store/data_dir.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readSeries } from "../../support/http_answers.ts";
import { withSeed } from "../../support/random.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { withFolder } from "../../support/files.ts";
import { actors, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { addHistory, DiskChain, withDiskChain } from "../support/chains.ts";
import { startFakeOracle } from "../support/fake_oracle.ts";
import { logOf } from "../../support/recorded_logs.ts";
import { NodeProcess, testOptions } from "../support/running_node.ts";
import { SteppedNode } from "../support/stepped_node.ts";

const { user } = actors;
const oracleUrl = "http://127.0.0.1:9";
const ETH_PAIR = { base: ETH.base, quote: ETH.quote };

/** Rounds of the test that kills a node: more with `KILLS=300`. */
const KILLS = Number(Deno.env.get("KILLS") ?? 4);

function depositAt(timestamp: number, number: number): Deposit {
  return deposit({ timestamp, externalTxHash: hashOf(number) });
}

function processArgs(dataDir: string, url = oracleUrl): string[] {
  const { solver, relayer, admin } = actors;
  const permissions = ["--relayers", relayer.address, "--admins", admin.address];
  const genesis = [...permissions, "--balances", `${solver.address}=1000000000`];
  return ["--data-dir", dataDir, "--oracle-url", url, ...genesis];
}

async function blockNumber(url: string): Promise<number> {
  const socket = await RpcSocket.open(url.replace("http", "ws"));
  const { result } = await socket.call("eth_blockNumber", []);
  await socket.close();
  return Number(result);
}

Deno.test("Node: its metrics have the newest block from the start, before the first checkpoint", () =>
  withFolder(async (dataDir) => {
    const options = testOptions({ dataDir });
    await (await startNode(options)).stop();
    await using stepped = await SteppedNode.start(options, new FakeClock(Date.now() - 3_600_000));
    const { url } = stepped.node;
    const newest = await blockNumber(url);
    assert.deepEqual([newest > 0, await readSeries(url, "node_block_number")], [true, newest]);
  }));

Deno.test("Data directory: after a stop it has the same accounts, theses, receipts and prices", () =>
  withFolder(async (directory) => {
    const clock = new FakeClock();
    await using oracle = startFakeOracle(() => clock.now());
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

    await using after = await SteppedNode.start(options, clock);
    assert.deepEqual(await after.client.getAccount(user.address), seen.account);
    assert.deepEqual(await after.client.getTheses({}), seen.theses);
    assert.deepEqual(await after.client.getTransaction(receipt.txHash), receipt);
    assert.deepEqual(await after.client.getPriceHistory(query), seen.history);
    assert.ok(await blockNumber(after.node.url) > seen.block);
    assert.deepEqual((await after.client.sendTransaction(poor)).status, "failed");
  }));

Deno.test("Data directory: prices and the head are stored every second", () =>
  withDiskChain(async (disk, folder) => {
    const from = disk.clock.now() + 100;
    disk.run(75);
    disk.kill(`${folder}/copy`);
    await using copy = new DiskChain(`${folder}/copy`, disk.clock);
    const { ring } = copy.chain.state.historyOf(ETH);
    const known = Array.from({ length: 75 }, (_, slot) => ring.at(from + 100 * slot));
    assert.deepEqual(known.indexOf(undefined), 70, "more than the slots of one row");
    assert.ok(copy.chain.head.number > disk.chain.head.number, "above all that was announced");
  }));

Deno.test("Data directory: prices that the ring has passed are deleted", () =>
  withDiskChain((disk) => {
    disk.run(320);
    const count = "SELECT count(*) AS cells FROM prices WHERE market = 'ETH/USDT'";
    assert.equal(disk.storage.database.get(count)?.cells, 3, "of 64 slots each");
  }, { ringBufferSize: 128 }));

Deno.test("Data directory: a settled bet has the prices that decided it, also after a kill", () =>
  withDiskChain(async (disk, folder) => {
    disk.run(1);
    disk.deposit(1);
    disk.bet(500);
    const from = disk.clock.now();
    disk.run(6);
    disk.kill(`${folder}/copy`);
    await using copy = new DiskChain(`${folder}/copy`, disk.clock);
    const { ledger } = copy.chain.state;
    assert.equal(ledger.findThesis(1)?.status, "won");
    const { ring } = copy.chain.state.historyOf(ETH);
    const known = Array.from({ length: 5 }, (_, slot) => ring.at(from + 100 * slot));
    assert.deepEqual(known, Array(5).fill(3_000_000_000n));
  }));

Deno.test("Data directory: after each of several kills, it has everything that was committed", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    let disk = new DiskChain(`${folder}/0`, clock);
    const txs = addHistory(disk);
    for (let kills = 1; kills <= 3; kills++) {
      disk.run(1);
      txs.push(disk.deposit(100 + kills), disk.bet(3_600_000, 20 + kills));
      const before = disk.view(txs);
      disk.kill(`${folder}/${kills}`);
      await disk.close();
      disk = new DiskChain(`${folder}/${kills}`, clock);
      assert.deepEqual(disk.view(txs), before);
    }
    await disk.close();
  }));

Deno.test("Data directory: after each kill -9 under load, all answered deposits are there", {
  timeout: Math.max(60_000, KILLS * 2_000),
}, () =>
  withFolder((directory) =>
    withSeed(async (random) => {
      const answered = new Map<string, { tx: Deposit; receipt: Receipt }>();
      const unanswered: Deposit[] = [];
      let number = 0;
      let highestBlock = 0;
      for (let round = 0; round < KILLS; round++) {
        const node = await NodeProcess.start(processArgs(directory));
        const client = new CoreClient({ url: node.url });
        for (const { tx, receipt } of [...answered.values()].slice(-100)) {
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
            const tx = depositAt(Date.now(), number += 1);
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
      if (KILLS > 4) console.log(`${KILLS} kills, ${answered.size} deposits answered, none lost`);
      const node = await NodeProcess.start(processArgs(directory));
      const client = new CoreClient({ url: node.url });
      const { balance } = await client.getAccount(user.address);
      assert.ok(balance >= BigInt(answered.size) * 5_000_000n);
      assert.equal(await node.stop(), 0);
    })
  ));

Deno.test("Data directory: a bet survives kill -9, and lacks the prices of the time without a node", () =>
  withFolder(async (directory) => {
    await using oracle = startFakeOracle();
    const first = await NodeProcess.start(processArgs(directory, oracle.url));
    const client = new CoreClient({ url: first.url });
    await client.sendTransaction(depositAt(Date.now(), 1));
    let receipt: Receipt;
    do {
      const now = Date.now();
      receipt = await client.sendTransaction(rfqSubmit({ timestamp: now, endTime: now + 2_000 }));
    } while (receipt.error?.code === "ORACLE_STALE");
    const { endTime } = (await client.getThesis(1))!;
    await first.kill();

    const second = await NodeProcess.start(processArgs(directory, oracle.url));
    const again = new CoreClient({ url: second.url });
    const settled = await eventually("an attempt to settle", async () => {
      const thesis = await again.getThesis(1);
      return thesis?.status === "open" ? undefined : thesis;
    });
    // The time between the two processes is missing, and nothing was made up for it.
    assert.equal(settled?.status, "needs_backfill");
    await using socket = await RpcSocket.open(second.url.replace("http", "ws"));
    const refused = await socket.call("core_settleThesis", [1]);
    const { missing } = Object(refused.error?.data);
    assert.ok(missing[0].to <= Math.ceil(endTime / 100) * 100 && missing.length >= 1);
    const { locked } = await again.getAccount(user.address);
    assert.equal(locked, 1_000_000n);
    await second.stop();
  }));

Deno.test("Data directory: refuses a second node and another genesis; another ring keeps the prices", () =>
  withFolder(async (directory) => {
    const options = testOptions({ oracleUrl, dataDir: directory });
    const first = await startNode(options);
    await assert.rejects(() => startNode(options), /Another process has .* open: stop it first/);
    await first.stop();
    const others = [{ chainId: 7 }, { balances: new Map([[user.address, 1n]]) }];
    for (const other of others) {
      await assert.rejects(
        () => startNode({ ...options, ...other }),
        /another genesis or chain id/,
      );
    }
    // Without a genesis, the development accounts are used, whose keys are public.
    const nothing = { relayers: undefined, admins: undefined, balances: undefined };
    await assert.rejects(() => startNode({ ...options, ...nothing }), /another genesis/);
    const clock = new FakeClock();
    const [rich, poor, empty] = [[user, 2n], [actors.admin, 1n], [actors.stranger, 0n]] as const;
    for (const genesis of [[rich, poor], [empty, poor, rich]]) {
      const balances = new Map(genesis.map(([{ address }, balance]) => [address, balance]));
      await new DiskChain(`${directory}/same`, clock, { balances }).close();
    }
    for (const ringBufferSize of [64, 1_024, 128]) {
      await using disk = new DiskChain(`${directory}/ring`, clock, { ringBufferSize });
      disk.run(20);
    }
    await using disk = new DiskChain(`${directory}/ring`, clock, { ringBufferSize: 128 });
    const { ring } = disk.chain.state.historyOf(ETH);
    assert.ok(ring.at(clock.now() - 5_900) !== undefined, "from the first start");
  }));

Deno.test("Data directory: permissions are applied at every start, and changes are recorded and logged", () =>
  withDiskChain(async (first) => {
    first.run(1);
    first.deposit(1);
    await first.close();
    const relayers = [actors.stranger.address];
    const logged = await logOf(async () => {
      const disk = new DiskChain(first.path, first.clock, { relayers });
      const timestamp = first.clock.now();
      const byOld = depositAt(timestamp, 2);
      assert.equal(disk.chain.submit(byOld).error?.code, "PERMISSION_DENIED");
      disk.submit(deposit({ timestamp, externalTxHash: hashOf(2), by: actors.stranger }));
      const { ledger } = disk.chain.state;
      assert.deepEqual(ledger.account(relayers[0]!).permissions, ["relayer"]);
      assert.deepEqual(ledger.account(actors.relayer.address).permissions, []);
      assert.deepEqual(disk.storage.records.tables.permissions.get(2)?.relayers, relayers);
      assert.equal(disk.storage.records.state.totals.permissions.rows, 2);
      await disk.close();
      await new DiskChain(first.path, first.clock, { relayers }).close();
    });
    const changes = logged.filter((line) => line.startsWith("Permissions changed"));
    assert.equal(changes.length, 1, "once, not at each start");
    assert.match(changes[0]!, new RegExp(`${actors.relayer.address}.* to relayers ${relayers[0]}`));
  }));

Deno.test("docs/security.md: the documented command removes a leaked relayer from an existing chain", () =>
  withFolder(async (dataDir) => {
    const document = await Deno.readTextFile(new URL("../../../docs/security.md", import.meta.url));
    const flags = /deno task -q node (--relayers .*)/.exec(document)?.[1]?.split(" ");
    assert.ok(flags !== undefined);
    const args = ["--data-dir", dataDir, "--oracle-url", oracleUrl];
    const ports = ["--port", "0", "--read-port", "0"];
    const permissionsWith = async (flags: string[], addresses: string[]) => {
      const text = { name: "node", description: "", examples: [] };
      const argv = [...args, ...ports, ...flags];
      await using node = await startNode(parseOptions(text, options, argv, () => undefined));
      const client = new CoreClient({ url: node.url });
      const accounts = addresses.map((each) => client.getAccount(addressSchema.parse(each)));
      return (await Promise.all(accounts)).map(({ permissions }) => permissions);
    };
    const leaked = DEV_ACCOUNTS.relayer.address;
    assert.deepEqual(await permissionsWith([], [leaked]), [["relayer"]]);
    const [, relayer = "", , admin = ""] = flags;
    const after = await permissionsWith(flags, [leaked, relayer, admin]);
    assert.deepEqual(after, [[], ["relayer"], ["admin"]]);
  }));

Deno.test("Data directory: only settled theses and receipts are deleted, after the retention time", () =>
  withDiskChain((disk) => {
    const txs = addHistory(disk);
    const { totals } = disk.storage.records.state;
    const before = disk.view([]);
    disk.clock.jump(4_300_000);
    disk.run(3);
    const { theses, unsettled, ...after } = {
      ...disk.view([]),
      unsettled: disk.chain.state.settlements.unsettledCount,
    };
    const { theses: _, ...rest } = before;
    assert.deepEqual(after, rest, "accounts and what was issued");
    assert.deepEqual(theses.theses.map(({ status }) => status), ["open"]);
    assert.equal(unsettled, 1);
    const { receipts, quotes } = totals;
    assert.deepEqual([receipts.rows, totals.theses.rows, quotes.rows], [0, 1, 1]);
    assert.equal(totals.deposits.rows, 12, "external hashes are kept for ever");
    for (const tx of txs) assert.throws(() => disk.chain.submit(tx), /within 60 s/);
    const [first] = txs;
    assert.ok(first?.type === "Deposit");
    const again = deposit({ ...first, timestamp: disk.clock.now() });
    assert.equal(disk.chain.submit(again).error?.code, "DEPOSIT_ALREADY_PROCESSED");
    disk.clock.jump(-4_300_000); // set back
    for (const tx of txs) assert.throws(() => disk.chain.submit(tx), /within 60 s/);
    disk.clock.jump(4_300_000);
  }, { retain: 600_000 }));

Deno.test("Data directory: the quote of a lost bet stays used until the end of its window", () =>
  withDiskChain((disk) => {
    const { clock } = disk;
    disk.run(1);
    disk.deposit(1);
    const timestamp = clock.now();
    const endTime = timestamp + 3_600_000;
    const quoted = { timestamp, endTime, startTime: timestamp, deadline: endTime + 60_000 };
    disk.submit(rfqSubmit(quoted));
    disk.run(2, 9_000_000_000n);
    assert.equal(disk.theses.at(-1)?.status, "lost");
    const submitAgain = () => {
      disk.run(130); // the breach leaves the ring
      return disk.chain.submit(rfqSubmit({ ...quoted, timestamp: clock.now() })).error?.code;
    };
    clock.jump(700_000);
    assert.equal(submitAgain(), "QUOTE_ALREADY_USED");
    clock.jump(endTime - clock.now());
    assert.equal(submitAgain(), "INVALID_TIME_RANGE");
    assert.equal(disk.chain.state.ledger.theses.length, 1, "for the retention time");
    clock.jump(600_000);
    disk.run(1);
    assert.equal(disk.chain.state.ledger.theses.length, 0);
  }, { retain: 600_000, ringBufferSize: 128 }));

Deno.test("inspectDataDir: reports the chain of a directory without changing it", () =>
  withDiskChain(async (disk, directory) => {
    const identity = (chainId: number) => ({ chainId, balances: undefined });
    assert.equal(inspectDataDir(`${directory}/none`, identity(1337)), undefined);
    assert.equal(inspectDataDir(disk.path, identity(1337))?.isLocked, true);
    disk.run(1);
    disk.deposit(1);
    disk.kill(`${directory}/killed`);
    await disk.close();
    const sizes = () =>
      [...Deno.readDirSync(`${directory}/killed`)].map(({ name }) => {
        return [name, Deno.statSync(`${directory}/killed/${name}`).size];
      });
    const before = sizes();
    const found = inspectDataDir(`${directory}/killed`, identity(1337));
    assert.ok(found !== undefined && !found.isLocked && found.bytes > 0);
    assert.throws(() => inspectDataDir(`${directory}/killed`, identity(2)), /another genesis/);
    assert.deepEqual(sizes(), before);
  }));

Deno.test({
  name: "Data directory: only its owner can read it",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (folder) => {
      const path = `${folder}/chain`;
      await using disk = new DiskChain(path, new FakeClock());
      disk.run(10);
      const modeOf = (file: string) => (Deno.statSync(`${path}/${file}`).mode ?? 0) & 0o777;
      assert.equal(modeOf(""), 0o700);
      for (const { name } of Deno.readDirSync(path)) assert.equal(modeOf(name), 0o600, name);
    }),
});

Deno.test("Data directory: a block number never gets a second hash, after restores, kills or a clock set back", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const announced = new Map<number, string>();
    const run = (disk: DiskChain, checkpoints: number) => {
      for (let made = 0; made < checkpoints; made++) {
        disk.run(1);
        const { number, hash } = disk.chain.head;
        assert.ok(!announced.has(number) || announced.get(number) === hash, `${number} again`);
        announced.set(number, hash);
      }
    };
    let disk = new DiskChain(`${folder}/first`, clock);
    run(disk, 30);
    disk.kill(`${folder}/old`); // as a backup that is restored later
    for (let kills = 0; kills < 20; kills++) {
      const next = `${folder}/${kills}`;
      run(disk, 3);
      disk.kill(next);
      await disk.close();
      disk = new DiskChain(next, clock);
    }
    run(disk, 200);
    await disk.close();
    const restored = new DiskChain(`${folder}/old`, clock);
    run(restored, 30);
    await restored.close();
    clock.jump(-3_600_000);
    await using setBack = new DiskChain(`${folder}/old`, clock);
    const { number, hash } = setBack.chain.head;
    assert.ok(!announced.has(number), `${number} ${hash}`);
  }));
