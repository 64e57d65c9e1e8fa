/** A data directory in which files are damaged or missing. */
import assert from "node:assert/strict";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { genesisBlock, sealBlock } from "../../../services/node/chain/block.ts";
import { DataDir, inspectDataDir } from "../../../services/node/storage/data_dir.ts";
import { encodeLine, openOnDisk } from "../../../services/node/storage/files.ts";
import { withFolder } from "../../support/with_folder.ts";
import { copyFolder } from "../support/copy_folder.ts";
import { actors, CHAIN_ID, deposit, ETH, hashOf } from "../support/actors.ts";
import { failingFiles } from "../support/failing_files.ts";
import { GENESIS } from "../support/test_chain.ts";
import { Program } from "../../support/process.ts";

const NOW = 1_700_000_000_000;
const RING_SLOTS = 1_024;
const settings = { chainId: CHAIN_ID, genesis: GENESIS, ringSlots: RING_SLOTS };

/** Runs a test with the directory of a stopped chain with a deposit and 20 prices per market. */
async function withChain(test: (path: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/node`;
  try {
    const dataDir = DataDir.open(path, settings);
    const tx = deposit({
      timestamp: NOW,
      user: actors.user.address,
      amount: 7n,
      externalTxHash: hashOf(2),
    });
    const receipt = { txHash: hashOf(1), status: "committed" as const, blockNumber: 1 };
    dataDir.journal.append([{ kind: "transaction", atMs: NOW, tx, receipt }]);
    for (const { ring } of dataDir.state.histories.values()) {
      for (let slot = 0; slot < 20; slot++) ring.append(NOW + 100 * slot, 3_000n);
    }
    await dataDir.close(sealBlock(20, hashOf(0), NOW + 1_900, []));
    await test(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const eth = MARKETS.find(({ base }) => base === ETH.base)!; // a supported market
const image = (path: string, symbol = "ETH") => `${path}/prices/${symbol}-USDT.ring`;

/** Prices of the market in the chain's 20 slots. */
async function knownPrices(
  path: string,
): Promise<{ prices: (bigint | undefined)[]; damaged: number }> {
  const dataDir = DataDir.open(path, settings);
  const history = dataDir.state.histories.get(eth);
  const prices = Array.from({ length: 20 }, (_, slot) => history?.at(NOW + 100 * slot));
  const damaged = dataDir.repairs.damagedSlots.get(eth) ?? 0;
  assert.equal(dataDir.state.ledger.account(actors.user.address).balance, 7n);
  await dataDir.close();
  return { prices, damaged };
}

Deno.test("Price images: each flipped bit of a slot makes that slot missing, and no other", () =>
  withChain(async (path) => {
    const bytes = await Deno.readFile(image(path));
    const first = (NOW / 100) % RING_SLOTS;
    for (let bit = 0; bit < 20 * 8; bit++) {
      const flipped = bytes.slice();
      flipped[(first + 3) * 20 + (bit >> 3)]! ^= 1 << (bit & 7);
      await Deno.writeFile(image(path), flipped);
      const { prices, damaged } = await knownPrices(path);
      assert.deepEqual(prices, prices.map((_, slot) => slot === 3 ? undefined : 3_000n));
      assert.equal(damaged, 1);
    }
  }));

Deno.test("Price images: a copied, moved or cut slot, and an image of another market, are no prices", () =>
  withChain(async (path) => {
    const whole = await Deno.readFile(image(path));
    const first = (NOW / 100) % RING_SLOTS;
    const moved = whole.slice();
    moved.copyWithin((first + 5) * 20, (first + 4) * 20, (first + 5) * 20);
    await Deno.writeFile(image(path), moved);
    const { prices } = await knownPrices(path);
    assert.deepEqual(prices.indexOf(undefined), 5);

    await Deno.writeFile(image(path), whole.subarray(0, (first + 2) * 20 + 7));
    const cut = await knownPrices(path);
    assert.deepEqual(cut.prices, prices.map((_, slot) => slot < 2 ? 3_000n : undefined));
    assert.ok(cut.damaged > 0);

    await Deno.copyFile(image(path, "BTC"), image(path));
    assert.ok((await knownPrices(path)).prices.every((price) => price === undefined));

    await Deno.remove(image(path));
    const gone = await knownPrices(path);
    assert.ok(gone.prices.every((price) => price === undefined));
    assert.equal(gone.damaged, RING_SLOTS);
  }));

Deno.test("Price images: an image that was never damaged has no damaged slots", () =>
  withChain(async (path) => {
    assert.deepEqual(await knownPrices(path), { prices: Array(20).fill(3_000n), damaged: 0 });
  }));

Deno.test("Data directory: a missing or empty journal beside prices or a head is refused", () =>
  withChain(async (path) => {
    for (const change of ["remove", "empty"]) {
      for (const left of ["head", "prices"]) {
        const copy = await Deno.makeTempDir();
        copyFolder(path, `${copy}/node`);
        if (change === "remove") await Deno.remove(`${copy}/node/chain.journal`);
        else await Deno.truncate(`${copy}/node/chain.journal`, 0);
        if (left === "head") await Deno.remove(`${copy}/node/prices`, { recursive: true });
        else await Deno.remove(`${copy}/node/head`);
        const message = /its journal is missing, empty or an older one: restore .*--new-chain/;
        assert.throws(() => inspectDataDir(`${copy}/node`, settings), message);
        assert.throws(() => DataDir.open(`${copy}/node`, settings), message);
        assert.throws(() => DataDir.open(`${copy}/node`, settings), message, "again");
        await Deno.remove(copy, { recursive: true });
      }
    }
  }));

Deno.test("Data directory: a journal alone is the whole chain, and a part of its first record is none", () =>
  withChain(async (path) => {
    const removeOthers = async () => {
      for (const name of ["head", "prices", "archive.sqlite"]) {
        await Deno.remove(`${path}/${name}`, { recursive: true });
      }
    };
    await removeOthers();
    assert.equal((await knownPrices(path)).damaged, RING_SLOTS); // and its balances
    await removeOthers();
    await Deno.truncate(`${path}/chain.journal`, 50);
    const dataDir = DataDir.open(path, settings);
    assert.equal(dataDir.resumeFrom, undefined);
    await dataDir.close();
    await DataDir.open(path, settings).close();
  }));

Deno.test("Data directory: a chain whose first record cannot be written is not created", () =>
  withFolder(async (path) => {
    const files = failingFiles(openOnDisk);
    files.fail("chain.journal", "No space left on device", 20);
    const open = () => DataDir.open(path, { ...settings, openFile: files.open });
    assert.throws(open, { code: "DATA_DIR", message: /cannot be created .*: No space left/ });
    files.heal();
    await open().close();
  }));

Deno.test("Data directory: a start that is refused has closed every file when it throws", () =>
  withChain(async (path) => {
    await Deno.remove(`${path}/archive.sqlite`);
    await Deno.mkdir(`${path}/archive.sqlite`); // opened last
    let open = 0;
    const openFile = (path: string) => {
      const file = openOnDisk(path);
      const close = file.close.bind(file);
      open += 1;
      return Object.assign(file, { close: () => (close(), void (open -= 1)) });
    };
    assert.throws(() => DataDir.open(path, { ...settings, openFile }), /archive/);
    assert.equal(open, 0);
  }));

Deno.test("Data directory: --new-chain keeps the files of a lost chain, and refuses to replace one", () =>
  withChain(async (path) => {
    assert.throws(
      () => DataDir.open(path, { ...settings, newChain: true }),
      /contains a chain: remove --new-chain/,
    );
    for (let number = 1; number <= 2; number++) {
      const left = ["head", "archive.sqlite", "archive.sqlite-wal", "archive.sqlite-shm"];
      for (const name of left.slice(2)) await Deno.writeTextFile(`${path}/${name}`, "of a crash");
      const texts = left.map((name) => Deno.readTextFileSync(`${path}/${name}`));
      await Deno.remove(`${path}/chain.journal`);
      const dataDir = DataDir.open(path, { ...settings, newChain: true });
      assert.equal(dataDir.state.ledger.account(actors.user.address).balance, 0n);
      assert.equal(dataDir.state.histories.get(eth)?.ring.newest, undefined);
      await dataDir.close(genesisBlock(NOW + number));
      const old = `${path}/old-${number}`;
      assert.deepEqual(left.map((name) => Deno.readTextFileSync(`${old}/${name}`)), texts);
      assert.ok((await Deno.stat(image(old))).size > 0);
    }
  }));

Deno.test("Data directory: a journal that is older than the head is refused, cut or from before a rewrite", () =>
  withChain(async (path) => {
    const journal = `${path}/chain.journal`;
    const text = await Deno.readTextFile(journal);
    const lines = text.trimEnd().split("\n");
    const write = (some: string[]) =>
      Deno.writeTextFile(journal, some.map((l) => `${l}\n`).join(""));
    // The head covers the deposit, but not the last record, which releases block numbers.
    await write(lines.slice(0, -2));
    assert.throws(() => DataDir.open(path, settings), /its end is lost/);
    await write(lines.slice(0, -1));
    const dataDir = DataDir.open(path, settings);
    await dataDir.rewrite(0, { sliceMs: 0, nextTurn: () => Promise.resolve() });
    await dataDir.close(sealBlock(20, hashOf(0), NOW + 1_900, []));
    const rewritten = await Deno.readTextFile(journal);
    await write(lines);
    assert.throws(() => DataDir.open(path, settings), /an older one: restore/);
    await Deno.writeTextFile(journal, rewritten);
    assert.deepEqual((await knownPrices(path)).damaged, 0);
  }));

Deno.test("Data directory: a chain is refused if any part of its genesis is another", () =>
  withChain((path) => {
    const { address } = actors.user;
    for (
      const change of [
        { chainId: CHAIN_ID + 1 },
        { genesis: { ...GENESIS, relayers: [address] } },
        { genesis: { ...GENESIS, admins: [address] } },
        { genesis: { ...GENESIS, balances: new Map([[address, 1n]]) } },
      ]
    ) {
      const message = /another genesis or chain id/;
      assert.throws(() => DataDir.open(path, { ...settings, ...change }), message);
      assert.throws(() => inspectDataDir(path, { ...settings, ...change }), message);
    }
    assert.equal(inspectDataDir(path, settings)?.isHeld, false);
  }));

Deno.test("Data directory: a chain keeps its genesis block over restarts, and another one has another", async () => {
  const folder = await Deno.makeTempDir();
  const open = async (name: string, nowMs: number) => {
    const clock = { now: () => nowMs, after: () => () => {} };
    const dataDir = DataDir.open(`${folder}/${name}`, { ...settings, clock });
    await dataDir.close();
    return genesisBlock(dataDir.createdAtMs).hash;
  };
  const first = await open("a", NOW);
  assert.equal(await open("a", NOW + 5_000), first);
  assert.notEqual(await open("b", NOW + 5_000), first);
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "Node: a directory that cannot be written is one line with the reason, not a stack trace",
  ignore: Deno.build.os === "windows",
  async fn() {
    const folder = await Deno.makeTempDir();
    await Deno.writeTextFile(`${folder}/file`, "");
    // No rights stop the superuser, but nobody can write to a lock that is a folder.
    await Deno.mkdir(`${folder}/node/lock`, { recursive: true });
    try {
      for (const [path, reason] of [["file/node", "created"], ["node", "written"]] as const) {
        const dataDir = `${folder}/${path}`;
        const program = new Program([
          "node",
          "--port",
          "0",
          "--read-port",
          "0",
          "--data-dir",
          dataDir,
        ]);
        const { code } = await program.finished();
        assert.equal(code, 1);
        assert.match(program.stderr, new RegExp(`Data directory ${dataDir} cannot be ${reason}: `));
        assert.doesNotMatch(program.stderr, /\n\s+at /);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("inspectDataDir: a journal of something else is reported", () =>
  withFolder(async (directory) => {
    const { bytes } = encodeLine('{"kind":"song"}');
    await Deno.writeFile(`${directory}/chain.journal`, bytes);
    const genesis = { relayers: [], admins: [], balances: new Map() };
    assert.throws(
      () => inspectDataDir(directory, { chainId: 1, genesis, ringSlots: 1_024 }),
      /has an unknown record at byte 0/,
    );
  }));
