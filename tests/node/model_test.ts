import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/clock.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import type { RfqSubmit, Transaction } from "../../lib/protocol/transaction.ts";
import type { Chain } from "../../services/node/chain/chain.ts";
import { SettlementError } from "../../services/node/chain/errors.ts";
import { SAVE_CHECKPOINTS } from "../../services/node/store/storage.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";
import {
  actors,
  backfill,
  deposit,
  hashOf,
  type QuoteFields,
  rfqSubmit,
} from "./support/actors.ts";
import { DiskChain } from "./support/disk_chain.ts";
import { pricesBody } from "./support/fake_oracle.ts";
import { NaiveChain } from "./support/naive_chain.ts";

const RING_SLOTS = 64;
const MAX_STALE_MS = 500;
const STEPS = 400;

const people: LocalSigner[] = [actors.user, actors.solver, actors.stranger];

/** A chain on the disk and a naive one, which get the same operations. */
class Twins {
  readonly clock = new FakeClock();
  readonly naive = new NaiveChain(RING_SLOTS, MAX_STALE_MS);
  #directory: string;
  readonly #random: RandomSource;
  readonly #quotes: [quote: string, fields: QuoteFields][] = [];
  readonly committed: Transaction[] = [];
  disk!: DiskChain;
  #copies = 0;
  #recordedMs = 0;
  #storedMs = 0;
  #checkpoints = 0;

  constructor(directory: string, random: RandomSource) {
    this.#directory = directory;
    this.#random = random;
    this.#open();
  }

  get chain(): Chain {
    return this.disk.chain;
  }

  /** One random operation. */
  async step(): Promise<void> {
    const roll = this.#random();
    this.clock.advance(1 + this.#below(20));
    if (roll < 0.2) this.#deposit();
    else if (roll < 0.45) this.#quote();
    else if (roll < 0.7) this.#run(1 + this.#below(12), this.#random() < 0.75);
    else if (roll < 0.73) this.#holdUp();
    else if (roll < 0.85) this.#backfill();
    else if (roll < 0.93) this.#settle();
    else await this.#restart();
  }

  #deposit(): void {
    const tx = deposit({
      timestamp: this.clock.now(),
      user: this.#pick(people).address,
      amount: BigInt(1 + this.#below(3_000)),
      externalTxHash: hashOf(this.#below(80)),
      by: this.#random() < 0.9 ? actors.relayer : actors.stranger,
    });
    this.#submit(tx, () => this.naive.deposit(tx));
  }

  #quote(): void {
    const timestamp = this.clock.now();
    const betAmount = BigInt(1 + this.#below(2_000));
    const fresh: QuoteFields = {
      ...{ timestamp, user: this.#pick(people), solver: this.#pick(people) },
      ...{ lowerPrice: 90n, upperPrice: 110n, betAmount },
      payout: betAmount + BigInt(this.#below(2_000)),
      startTime: timestamp + this.#below(300),
      endTime: timestamp + 400 + this.#below(this.#random() < 0.8 ? 2_000 : 10_000),
      deadline: timestamp + 1_000_000,
    };
    const [quote, fields] = this.#random() < 0.15 && this.#quotes.length > 0
      ? this.#pick(this.#quotes)
      : [`${this.#quotes.length}`, fresh];
    // An old quote whose window has ended is refused for that, which is tested elsewhere.
    if (fields.endTime! <= timestamp) return;
    this.#quotes.push([quote, fields]);
    const tx = rfqSubmit({ ...fields, timestamp });
    this.#submit(tx, () => this.naive.submit(tx, quoteKey(tx), timestamp));
  }

  #submit(tx: Transaction, expect: () => string): void {
    const receipt = this.chain.submit(tx);
    assert.equal(receipt.error?.code ?? receipt.status, expect());
    if (receipt.status === "committed") this.committed.push(tx);
    assert.deepEqual(this.chain.submit(tx), receipt, "sent again, the first receipt");
  }

  #run(checkpoints: number, hasPrices: boolean): void {
    for (let made = 0; made < checkpoints; made++) {
      this.clock.advance(100 - this.clock.now() % 100);
      if (hasPrices) this.#price();
      this.#recordedMs = this.clock.now();
      this.disk.checkpoint();
      this.naive.checkpoint(this.#recordedMs);
      this.#checkpoints += 1;
      if (this.#checkpoints % SAVE_CHECKPOINTS === 0) this.#storedMs = this.#recordedMs;
    }
  }

  #price(): void {
    const value = BigInt(this.#random() < 0.97 ? 92 + this.#below(17) : 80 + this.#below(40));
    const lastUpdate = this.clock.now();
    this.chain.oraclePrices.update(pricesBody(lastUpdate, { "ETH/USDT": value }), lastUpdate);
    this.naive.price = { value, lastUpdate };
  }

  #holdUp(): void {
    this.clock.jump(this.#below(RING_SLOTS * 130));
    this.#run(1, false);
  }

  #backfill(): void {
    const newestMs = this.chain.head.timestampMs;
    const length = 1 + this.#below(RING_SLOTS);
    const startTime = newestMs - 100 * (length - 1 + this.#below(2 * RING_SLOTS));
    const prices = Array.from({ length }, () => BigInt(this.#random() < 0.99 ? 100 : 70));
    const tx = backfill({ timestamp: this.clock.now(), startTime, prices });
    const { status, filledSlots } = this.chain.submit(tx);
    assert.deepEqual([status, filledSlots], ["committed", this.naive.backfill(tx)]);
    this.disk.storage.records.commits.commit();
  }

  #settle(): void {
    if (this.naive.theses.length === 0) return;
    const id = 1 + this.#below(this.naive.theses.length);
    const headMs = this.chain.head.timestampMs;
    try {
      this.chain.settle(id);
    } catch (thrown) {
      assert.ok(thrown instanceof SettlementError);
    }
    this.naive.settle(this.naive.theses[id - 1]!, headMs);
  }

  /** Ends like a process, in order or killed, and starts again. */
  async #restart(): Promise<void> {
    const copy = `${this.#directory}-${this.#copies += 1}`;
    if (this.#random() < 0.5) {
      this.disk.kill(copy);
      await this.disk.close();
      this.#directory = copy;
    } else {
      this.#storedMs = this.#recordedMs;
      await this.disk.close();
    }
    this.naive.die(this.#storedMs);
    this.#open();
    this.#run(1, false);
  }

  #open(): void {
    const options = { ringBufferSize: RING_SLOTS, maxStaleMs: MAX_STALE_MS };
    this.disk = new DiskChain(this.#directory, this.clock, options);
    this.#checkpoints = 0;
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!; // never called with an empty list
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }
}

/** Equal for quotes with equal terms. */
function quoteKey(tx: RfqSubmit): string {
  const { user, from, lowerPrice, upperPrice, betAmount, payout, startTime, endTime, deadline } =
    tx;
  return [user, from, lowerPrice, upperPrice, betAmount, payout, startTime, endTime, deadline]
    .join();
}

function assertTwins({ chain, naive, committed }: Twins): void {
  const { ledger } = chain.state;
  assert.equal(ledger.issued, naive.issued);
  assert.equal(ledger.holdings, ledger.issued, "balances and open theses equal what was issued");
  for (const { address } of people) {
    assert.equal(ledger.account(address).balance, naive.balances.get(address) ?? 0n);
  }
  assert.deepEqual(
    ledger.theses.map(({ status }) => status),
    naive.theses.map(({ status }) => status),
  );
  const hashes = committed.flatMap((tx) => tx.type === "Deposit" ? [tx.externalTxHash] : []);
  assert.equal(new Set(hashes).size, hashes.length, "an external hash counts once");
  const quotes = committed.flatMap((tx) => tx.type === "RfqSubmit" ? [quoteKey(tx)] : []);
  assert.equal(new Set(quotes).size, quotes.length, "a quote counts once");
}

Deno.test("Node model: random bets, outages, backfills and restarts agree with a naive chain", () =>
  withSeed(async (random) => {
    const directory = await Deno.makeTempDir();
    const twins = new Twins(`${directory}/node`, random);
    try {
      for (let step = 0; step < STEPS; step++) {
        await twins.step();
        assertTwins(twins);
      }
      const statuses = new Set(twins.naive.theses.map(({ status }) => status));
      assert.ok(statuses.size >= 2, `the run reached ${[...statuses]}`);
    } finally {
      await twins.disk.close();
      await Deno.remove(directory, { recursive: true });
    }
  }));
