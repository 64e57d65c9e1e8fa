/**
 * Damages the files of a chain at random, opens each copy, and compares it with the truth. Run many
 * with `deno run --allow-all tests/node/damage.ts [count] [seed]`; the suite runs a few.
 */
import assert from "node:assert/strict";
import { RangemakerError } from "../../lib/errors.ts";
import { type RandomSource, seededRandom } from "../../lib/random.ts";
import type { Transaction } from "../../lib/protocol/transaction.ts";
import { deposit } from "./support/actors.ts";
import { addHistory, DiskChain } from "./support/chains.ts";
import { FakeClock } from "../support/fake_clock.ts";

const DATABASE = "chain.sqlite";
const LOG = "chain.sqlite-wal";
const SECTOR_BYTES = 512;

/** How a damaged copy was answered. */
interface DamageCounts {
  /** Refused at the start, or by the first call. */
  refused: number;
  /** Opened with everything that was acknowledged. */
  whole: number;
  /** Of those, the ones with missing prices. */
  lackPrices: number;
}

/** A chain in several states: the content of its files, and the state to expect. */
class DamagedChains {
  readonly #folder: string;
  readonly #clock: FakeClock;
  readonly #txs: readonly Transaction[];
  readonly #truth: ReturnType<DiskChain["view"]>;
  readonly #prices: ReadonlyMap<string, bigint>;

  private constructor(folder: string, disk: DiskChain, txs: readonly Transaction[]) {
    this.#folder = folder;
    this.#clock = disk.clock;
    this.#txs = txs;
    this.#truth = disk.view(txs);
    this.#prices = pricesOf(disk);
  }

  static async create(folder: string): Promise<DamagedChains> {
    const disk = new DiskChain(`${folder}/node`, new FakeClock());
    const txs = addHistory(disk);
    disk.run(20);
    disk.kill(`${folder}/older`);
    txs.push(disk.deposit(50), disk.bet(3_600_000, 51));
    disk.run(20);
    disk.kill(`${folder}/killed`);
    const chains = new DamagedChains(folder, disk, txs);
    await disk.close();
    return chains;
  }

  /** Damages a copy and opens it. @throws {AssertionError} If anything is wrong or lost in silence. */
  async check(random: RandomSource): Promise<keyof DamageCounts> {
    const path = `${this.#folder}/copy`;
    const from = random() < 0.5 ? "node" : "killed"; // closed, or killed with its log
    Deno.mkdirSync(path);
    for (const { name } of Deno.readDirSync(`${this.#folder}/${from}`)) {
      Deno.copyFileSync(`${this.#folder}/${from}/${name}`, `${path}/${name}`);
    }
    const what = this.#damage(path, from === "killed" ? [DATABASE, LOG] : [DATABASE], random);
    try {
      return await this.#open(path);
    } catch (thrown) {
      if (thrown instanceof RangemakerError) return "refused";
      throw new Error(`${from}: ${what}`, { cause: thrown });
    } finally {
      Deno.removeSync(path, { recursive: true });
    }
  }

  async #open(path: string): Promise<keyof DamageCounts> {
    const clock = new FakeClock(this.#clock.now());
    const disk = new DiskChain(path, clock);
    try {
      assert.deepEqual(disk.view(this.#txs), this.#truth);
      // No deposit counts twice, whatever row was hit.
      for (const tx of this.#txs) {
        if (tx.type !== "Deposit") continue;
        const again = deposit({ ...tx, timestamp: clock.now() + 1 });
        assert.equal(disk.chain.submit(again).error?.code, "DEPOSIT_ALREADY_PROCESSED");
      }
      const prices = pricesOf(disk);
      for (const [slot, price] of prices) assert.equal(price, this.#prices.get(slot), slot);
      return prices.size < this.#prices.size ? "lackPrices" : "whole";
    } finally {
      await disk.close();
    }
  }

  #damage(path: string, names: readonly string[], random: RandomSource): string {
    const below = (bound: number) => Math.floor(random() * bound);
    const file = `${path}/${names[below(names.length)]}`;
    const bytes = Deno.readFileSync(file);
    const roll = random();
    if (roll < 0.6) {
      const at = below(bytes.length);
      bytes[at]! ^= 1 << below(8);
      Deno.writeFileSync(file, bytes);
      return `a bit of byte ${at} of ${file}`;
    }
    if (roll < 0.75) {
      const at = below(bytes.length / SECTOR_BYTES) * SECTOR_BYTES;
      bytes.fill(0, at, at + SECTOR_BYTES);
      Deno.writeFileSync(file, bytes);
      return `a sector of zeros at ${at} of ${file}`;
    }
    if (roll < 0.85) {
      const length = below(bytes.length);
      Deno.truncateSync(file, length);
      return `${file} cut to ${length}`;
    }
    if (roll < 0.95) {
      const name = names[below(names.length)]!;
      Deno.copyFileSync(`${this.#folder}/older/${name}`, `${path}/${name}`);
      return `an older ${name}`;
    }
    Deno.removeSync(file);
    return `${file} removed`;
  }
}

/** The known prices of the last ten seconds, by market and slot. */
function pricesOf({ chain, clock }: DiskChain): Map<string, bigint> {
  const prices = new Map<string, bigint>();
  for (const [{ symbol }, history] of chain.state.histories) {
    for (let slot = 0; slot < 100; slot++) {
      const time = clock.now() - clock.now() % 100 - slot * 100;
      const price = history.at(time);
      if (price !== undefined) prices.set(`${symbol} at ${time}`, price);
    }
  }
  return prices;
}

/** Damages copies of a chain. @throws {Error} If one is opened and wrong. */
export async function damageMany(count: number, random: RandomSource): Promise<DamageCounts> {
  const folder = Deno.makeTempDirSync();
  const counts: DamageCounts = { refused: 0, whole: 0, lackPrices: 0 };
  try {
    const chains = await DamagedChains.create(folder);
    for (let made = 0; made < count; made++) counts[await chains.check(random)] += 1;
    return counts;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const [count = "1000", seed = "1"] = Deno.args;
  console.log(await damageMany(Number(count), seededRandom(Number(seed))));
}
