/**
 * Faults at every file of a stopped or killed chain: it is refused with a clear message, or nothing is
 * wrong. `RANGEMAKER_FAULTS` sets the number of random faults.
 */
import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { type OpenFile, openOnDisk } from "../../../services/node/storage/files.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { casesFrom, withSeed } from "../../support/random.ts";
import { actors } from "../support/actors.ts";
import { copyFolder } from "../support/copy_folder.ts";
import { DiskChain, someHistory } from "../support/disk_chain.ts";
import { logOf } from "../support/log_of.ts";
import { withFolder } from "../../support/with_folder.ts";

const { user, solver } = actors;
const FAULTS = casesFrom("RANGEMAKER_FAULTS", 1_000);

const FILES = [
  "chain.journal",
  "head",
  "archive.sqlite",
  "prices/BTC-USDT.ring",
  "prices/ETH-USDT.ring",
  "prices/SOL-USDT.ring",
];

/** Files that only a process that was killed leaves behind. */
const FILES_OF_KILLED = ["archive.sqlite-wal", "archive.sqlite-shm"];

/** What is known of a chain that was opened again, after the theses that had ended were settled. */
interface Seen {
  balances: bigint[];
  issued: bigint;
  theses: (Thesis | undefined)[];
  /** Of all markets, the newest last. */
  prices: (bigint | undefined)[];
}

/**
 * Makes a chain with archived theses, open ones, and two that end while it is stopped.
 *
 * @param killedPath What a process that is killed before its stop leaves behind is copied to there.
 */
async function stoppedChain(path: string, killedPath?: string): Promise<number> {
  const clock = new FakeClock();
  const disk = new DiskChain(path, clock);
  someHistory(disk);
  await disk.rewrite();
  disk.deposit(50);
  // One that a recorded price has decided already, and one whose prices are all recorded.
  disk.bet(1_000, 11);
  disk.run(1, 9_000_000_000n);
  disk.run(1);
  disk.bet(500, 12);
  disk.run(4);
  if (killedPath !== undefined) {
    await disk.dataDir.journal.synced();
    disk.dataDir.flush(disk.chain.head);
    copyFolder(path, killedPath);
  }
  await disk.close();
  return clock.now();
}

/** Nobody loses power here: a sync would only take its time. */
const openUnsynced: OpenFile = (path) => {
  const file = openOnDisk(path);
  return Object.assign(file, {
    syncDataSync: () => void file.statSync(), // fails on a closed file, too
    syncData: () => Promise.resolve(file.statSync()).then(() => {}),
  });
};

/** Opens a chain and settles what has ended. @throws What opening throws. */
async function look(path: string, nowMs: number): Promise<Seen> {
  const disk = new DiskChain(path, new FakeClock(nowMs), openUnsynced);
  disk.run(10);
  const { ledger } = disk.chain.state;
  assert.equal(ledger.holdings, ledger.issued);
  const seen = {
    balances: [user, solver].map(({ address }) => ledger.account(address).balance),
    issued: ledger.issued,
    theses: Array.from({ length: ledger.lastThesisId }, (_, at) => disk.chain.thesis(at + 1)),
    prices: [...disk.chain.state.histories.values()].flatMap((history) =>
      Array.from({ length: 100 }, (_, slots) => history.at(nowMs - nowMs % 100 - 100 * slots))
    ),
  };
  await disk.close();
  return seen;
}

/** Fails if anything is wrong: a missing price may delay a settlement, and a settled thesis be gone. */
function assertRight(seen: Seen, right: Seen, fault: string): void {
  assert.equal(seen.issued, right.issued, fault);
  assert.equal(seen.theses.length, right.theses.length, fault);
  let waiting = [0n, 0n];
  for (const [index, expected] of right.theses.entries()) {
    const thesis = seen.theses[index];
    if (thesis?.status === "needs_backfill" && expected?.status !== "needs_backfill") {
      assert.deepEqual(termsOf(thesis), termsOf(expected), fault);
      const isUser = expected?.status === "won";
      waiting = waiting.map((sum, at) => (at === 0) === isUser ? sum + thesis.payout : sum);
    } else if (thesis !== undefined) assert.deepEqual(thesis, expected, fault);
    else assert.ok(expected?.settledAt !== undefined, `${fault}: an open thesis is gone`);
  }
  const isWrong = seen.prices.some((price, at) =>
    price !== undefined && price !== right.prices[at]
  );
  assert.ok(!isWrong, `${fault}: a wrong price`);
  const balances = seen.balances.map((balance, at) => balance + waiting[at]!); // two of each
  assert.deepEqual(balances, right.balances, fault);
}

/** A thesis without its outcome. */
function termsOf(thesis: Thesis | undefined) {
  return { ...thesis, status: undefined, settledAt: undefined, breach: undefined };
}

/** Changes the bytes of a file in one of the ways in which disks, tools and people do. */
function damage(
  bytes: Uint8Array,
  written: readonly number[],
  random: RandomSource,
): { kind: string; bytes: Uint8Array } {
  const at = written[Math.floor(random() * written.length)]!; // below the length
  const length = 1 + Math.floor(random() * 600);
  const head = bytes.subarray(0, at);
  const kinds: [string, () => Uint8Array][] = [
    ["flip", () => bytes.with(at, bytes[at]! ^ (1 << (length & 7)))], // one that was written
    ["cut", () => head],
    ["drop", () => concat(head, bytes.subarray(at + length))],
    ["duplicate", () => concat(head, bytes.subarray(at, at + length), bytes.subarray(at))],
    ["zeros", () => concat(head, new Uint8Array(length), bytes.subarray(at + length))],
    ["ones", () => concat(head, new Uint8Array(length).fill(255), bytes.subarray(at + length))],
  ];
  const [kind, change] = kinds[Math.floor(random() * kinds.length)]!; // below the length
  return { kind: `${kind} ${length} at ${at}`, bytes: change() };
}

function concat(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** Where a file has bytes: most of an image has never been written, and faults there prove little. */
function writtenIn(bytes: Uint8Array): number[] {
  const written: number[] = [];
  bytes.forEach((byte, index) => {
    if (byte !== 0) written.push(index);
  });
  assert.ok(written.length > 0, "An empty file cannot be damaged");
  return written;
}

/** Applies a change to a copy of the chain. @returns Whether it was refused. */
async function tryFault(
  folder: string,
  nowMs: number,
  right: Seen,
  fault: string,
  change: (copy: string) => void,
): Promise<boolean> {
  const copy = `${folder}/copy`;
  copyFolder(`${folder}/node`, copy);
  try {
    change(copy);
    assertRight(await look(copy, nowMs), right, fault);
    return false;
  } catch (thrown) {
    if (thrown instanceof assert.AssertionError || !(thrown instanceof RangemakerError)) {
      throw new Error(fault, { cause: thrown });
    }
    assert.match(thrown.message, new RegExp(`^.*${copy}.*: .*`), fault);
    return true;
  } finally {
    Deno.removeSync(copy, { recursive: true });
  }
}

/** Makes random faults, one after the other, at each of these files of `folder/node`. */
async function tryRandomFaults(
  folder: string,
  nowMs: number,
  files: readonly string[],
  random: RandomSource,
): Promise<void> {
  copyFolder(`${folder}/node`, `${folder}/right`);
  const right = await look(`${folder}/right`, nowMs);
  const statuses = right.theses.map((thesis) => thesis?.status);
  assert.ok(statuses.includes("won") && statuses.includes("lost") && statuses.includes("open"));
  let refused = 0;
  const originals = files.map((name) => {
    const whole = Deno.readFileSync(`${folder}/node/${name}`);
    return { name, whole, written: writtenIn(whole) };
  });
  await logOf(async () => {
    for (let made = 0; made < FAULTS; made++) {
      const { name, whole, written } = originals[made % files.length]!; // below the length
      const { kind, bytes } = damage(whole, written, random);
      const isRefused = await tryFault(
        ...[folder, nowMs, right, `${name}: ${kind}`] as const,
        (copy) => Deno.writeFileSync(`${copy}/${name}`, bytes),
      );
      if (isRefused) refused += 1;
    }
  });
  assert.ok(refused > FAULTS / files.length / 2, `${refused} were refused`);
}

Deno.test("Data directory: at random faults of its files no balance and no settlement is wrong", {
  timeout: 60_000 + 100 * FAULTS,
}, () =>
  withFolder((folder) =>
    withSeed(async (random) => {
      const nowMs = await stoppedChain(`${folder}/node`);
      await tryRandomFaults(folder, nowMs, FILES, random);
    })
  ));

Deno.test("Data directory: at random faults of what a killed node leaves behind nothing is wrong", {
  timeout: 60_000 + 100 * FAULTS,
}, () =>
  withFolder((folder) =>
    withSeed(async (random) => {
      const nowMs = await stoppedChain(`${folder}/stopped`, `${folder}/node`);
      await tryRandomFaults(folder, nowMs, [...FILES, ...FILES_OF_KILLED], random);
    })
  ));

Deno.test("Data directory: with any file missing, empty or replaced by another nothing is wrong", () =>
  withFolder(async (folder) => {
    const nowMs = await stoppedChain(`${folder}/node`);
    copyFolder(`${folder}/node`, `${folder}/right`);
    const right = await look(`${folder}/right`, nowMs);
    for (const name of FILES) {
      const others = FILES.filter((other) => other !== name);
      const changes: [string, (copy: string) => void][] = [
        ["missing", (copy) => Deno.removeSync(`${copy}/${name}`)],
        ["empty", (copy) => Deno.truncateSync(`${copy}/${name}`, 0)],
        ...others.map((other): (typeof changes)[number] => [
          other,
          (copy) => Deno.copyFileSync(`${copy}/${other}`, `${copy}/${name}`),
        ]),
      ];
      for (const [what, change] of changes) {
        await tryFault(folder, nowMs, right, `${name}: ${what}`, change);
      }
    }
  }));
