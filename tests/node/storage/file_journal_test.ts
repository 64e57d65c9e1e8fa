import assert from "node:assert/strict";
import { FileJournal } from "../../../services/node/storage/file_journal.ts";
import { encodeLine } from "../../../services/node/storage/files.ts";
import { JournalError, type JournalRecord } from "../../../services/node/chain/journal.ts";
import { withSeed } from "../../support/random.ts";
import { actors, backfill, deposit, hashOf, rfqSubmit } from "../support/actors.ts";

const NOW = 1_700_000_000_000;

const records: JournalRecord[] = [
  {
    ...{ kind: "genesis", version: 2, createdAtMs: NOW, rewrites: 0 },
    chainId: 1337,
    balances: { [actors.solver.address]: 2n ** 64n - 1n },
    relayers: [actors.relayer.address],
    admins: [],
  },
  {
    kind: "transaction",
    atMs: NOW,
    tx: deposit({
      timestamp: NOW,
      user: actors.user.address,
      amount: 5n,
      externalTxHash: hashOf(1),
    }),
    receipt: { txHash: hashOf(11), status: "committed", blockNumber: 3 },
  },
  {
    kind: "transaction",
    atMs: NOW + 1,
    tx: rfqSubmit({ timestamp: NOW }),
    receipt: {
      txHash: hashOf(12),
      status: "failed",
      blockNumber: 3,
      error: { code: "ORACLE_STALE", message: "Price is stale: ß, 漢\n" },
    },
    quoteHash: hashOf(5),
  },
  {
    kind: "transaction",
    atMs: NOW + 2,
    tx: backfill({ timestamp: NOW, startTime: NOW, prices: Array(6_000).fill(2n ** 64n - 1n) }),
    receipt: { txHash: hashOf(13), status: "committed", blockNumber: 4, filledSlots: 6_000 },
    filled: [{ from: NOW, to: NOW + 600_000 }],
  },
  { kind: "settlement", atMs: NOW, id: 1, outcome: { status: "won" } },
  {
    kind: "settlement",
    atMs: NOW,
    id: 2,
    outcome: { status: "lost", breach: { time: NOW, price: 7n } },
  },
  {
    kind: "settlement",
    atMs: NOW,
    id: 3,
    outcome: { status: "needs_backfill", missing: [{ from: NOW, to: NOW + 100 }] },
  },
];

/** Runs a test with the path of a journal that does not exist yet. */
async function withPath(test: (path: string) => void | Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await test(`${directory}/chain.journal`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function open(path: string) {
  const seen: JournalRecord[] = [];
  return { ...FileJournal.open(path, (record) => seen.push(record)), seen };
}

async function write(path: string, some: JournalRecord[]): Promise<void> {
  const { journal } = open(path);
  journal.append(some);
  await journal.close();
}

/** The records as they come back: members that are undefined are gone. */
function plain(some: JournalRecord[]): unknown {
  return structuredClone(some).map((record) =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
  );
}

Deno.test("FileJournal: gives back every kind of record, in order, over several openings", () =>
  withPath(async (path) => {
    await write(path, records.slice(0, 4));
    await write(path, records.slice(4));
    const { journal, seen, cutBytes } = open(path);
    assert.deepEqual(plain(seen), plain(records));
    assert.equal(cutBytes, 0);
    await journal.close();
  }));

Deno.test("FileJournal: cuts a torn record off the end, wherever it was torn", () =>
  withPath(async (path) => {
    await write(path, records);
    const whole = await Deno.readFile(path);
    await write(path, [records[1]!]);
    const more = await Deno.readFile(path);
    const last = more.length - whole.length;
    await withSeed(async (random) => {
      const lengths = [1, last - 2, 1 + Math.floor(random() * (last - 2))];
      for (const length of lengths) {
        await Deno.writeFile(path, more.subarray(0, whole.length + length));
        const { journal, seen, cutBytes } = open(path);
        assert.deepEqual([seen.length, cutBytes], [records.length, length]);
        const kept = await Deno.readFile(`${path}.cut-${whole.length}`);
        assert.deepEqual(
          kept.subarray(-length),
          more.subarray(whole.length, whole.length + length),
        );
        journal.append([records[4]!]);
        await journal.close();
        const again = open(path);
        assert.deepEqual([again.seen.length, again.cutBytes], [records.length + 1, 0]);
        await again.journal.close();
      }
    });
  }));

Deno.test("FileJournal: refuses damage anywhere in a complete record, the last one included", () =>
  withPath(async (path) => {
    await write(path, records);
    const whole = await Deno.readFile(path);
    const lastAt = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (const [at, line] of [[40, 0], [lastAt + 40, lastAt], [lastAt + 2, lastAt]] as const) {
      const bytes = whole.slice();
      bytes[at]! ^= 1;
      await Deno.writeFile(path, bytes);
      const message = new RegExp(
        `Journal ${path} is damaged at byte ${line}: the record there is complete.* Restore`,
      );
      assert.throws(() => open(path), { name: "JournalError", message });
      assert.deepEqual(await Deno.readFile(path), bytes, "the file is left as it is");
    }
  }));

Deno.test("FileJournal: a complete last record counts although its newline is damaged or missing", () =>
  withPath(async (path) => {
    await write(path, records);
    const whole = await Deno.readFile(path);
    const damaged = whole.slice();
    damaged[whole.length - 1]! ^= 1;
    for (const bytes of [damaged, whole.subarray(0, -1)]) {
      await Deno.writeFile(path, bytes);
      const { journal, seen } = open(path);
      assert.equal(seen.length, records.length);
      await journal.close();
      assert.deepEqual(await Deno.readFile(path), whole);
    }
  }));

Deno.test("FileJournal: refuses a record that is missing, doubled or in another place", () =>
  withPath(async (path) => {
    await write(path, records);
    const lines = (await Deno.readTextFile(path)).split("\n").slice(0, -1);
    const [first = "", second = "", third = "", ...rest] = lines;
    const wrong = [
      [first, third, ...rest],
      [first, second, second, third, ...rest],
      [first, third, second, ...rest],
    ];
    for (const some of wrong) {
      await Deno.writeTextFile(path, some.map((line) => `${line}\n`).join(""));
      assert.throws(() => open(path), /is damaged at byte/);
    }
  }));

Deno.test("FileJournal: refuses a journal that is shorter than it was on the disk", () =>
  withPath(async (path) => {
    await write(path, records);
    const { size } = await Deno.stat(path);
    await Deno.truncate(path, size - 50);
    assert.throws(
      () => FileJournal.open(path, () => {}, { syncedBytes: () => size }),
      new RegExp(`but ${size} were on the disk before: its end is lost. Restore`),
    );
    assert.equal((await Deno.stat(path)).size, size - 50, "nothing was cut");
  }));

Deno.test("FileJournal: refuses records that it does not know, and endless lines", () =>
  withPath(async (path) => {
    await Deno.writeFile(path, encodeLine('{"kind":"later"}').bytes);
    assert.throws(() => open(path), JournalError);
    await Deno.writeTextFile(path, "x".repeat(2 * 1024 * 1024));
    assert.throws(() => open(path), { name: "JournalError", message: /line over 1048576 bytes/ });
    assert.throws(() => open(`${path}/not/there`), /cannot be opened/);
  }));

Deno.test("FileJournal: one sync serves all that wait for it", () =>
  withPath(async (path) => {
    const { journal } = open(path);
    await journal.synced();
    const waits = records.map((record) => {
      journal.append([record]);
      return journal.synced();
    });
    assert.equal(new Set(waits).size, 1);
    await Promise.all(waits);
    await journal.close();
  }));

Deno.test({
  name: "FileJournal: what a full disk did not take does not count, and is not left behind",
  // Linux has a file system of fixed size that needs no rights: a limit on the size of a file.
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withPath(async (path) => {
      const script = `
        import { FileJournal } from ${
        JSON.stringify(import.meta.resolve("../../../services/node/storage/file_journal.ts"))
      };
        const { journal } = FileJournal.open(${JSON.stringify(path)}, () => {});
        const record = { kind: "settlement", atMs: 1, id: 1, outcome: { status: "won" } };
        let written = 0;
        try {
          for (;;) { journal.append([record]); written += 1; }
        } catch (thrown) {
          console.log(JSON.stringify({ written, code: thrown.code }));
        }
        await journal.close();
      `;
      const limited = new Deno.Command("bash", {
        args: [
          "-c",
          'trap "" XFSZ; unset DENO_COVERAGE_DIR; ulimit -f 8; exec "$0" run -A --quiet --config "$1" -',
          Deno.execPath(),
          new URL(import.meta.resolve("../../../deno.json")).pathname,
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = limited.stdin.getWriter();
      await writer.write(new TextEncoder().encode(script));
      await writer.close();
      const { stdout, stderr } = await limited.output();
      const text = new TextDecoder().decode(stdout);
      assert.match(text, /"code":"JOURNAL"/, new TextDecoder().decode(stderr));
      const { seen, journal, cutBytes } = open(path);
      assert.deepEqual([seen.length, cutBytes], [JSON.parse(text).written, 0]);
      await journal.close();
    }),
});
