import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import type {
  BackfillOracle,
  Deposit,
  RfqSubmit,
  Transaction,
} from "../../lib/protocol/transaction.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import type { Chain } from "../../services/node/chain/chain.ts";
import { SettlementError } from "../../services/node/chain/errors.ts";
import { CHECKPOINTS_PER_SAVE } from "../../services/node/store/storage.ts";
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
import { DiskChain, GENESIS } from "./support/chains.ts";
import { pricesBody } from "./support/fake_oracle.ts";

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
  #decisions = 0;
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
    else if (roll < 0.73) this.#jumpClock();
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
      timestamp,
      user: this.#pick(people),
      solver: this.#pick(people),
      lowerPrice: 90n,
      upperPrice: 110n,
      betAmount,
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
      this.#storeDecisions();
      this.#checkpoints += 1;
      if (this.#checkpoints % CHECKPOINTS_PER_SAVE === 0) this.#storedMs = this.#recordedMs;
    }
  }

  #price(): void {
    const value = BigInt(this.#random() < 0.97 ? 92 + this.#below(17) : 80 + this.#below(40));
    const lastUpdate = this.clock.now();
    this.chain.oraclePrices.update(pricesBody(lastUpdate, { "ETH/USDT": value }), lastUpdate);
    this.naive.price = { value, lastUpdate };
  }

  #jumpClock(): void {
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
    this.#storeDecisions();
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
    this.#storeDecisions();
  }

  /** Prices are stored with the theses that they decide. */
  #storeDecisions(): void {
    if (this.naive.decisions > this.#decisions) this.#storedMs = this.#recordedMs;
    this.#decisions = this.naive.decisions;
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

function assertTwins({ chain, disk, naive, committed }: Twins): void {
  const { ledger } = chain.state;
  assert.equal(disk.requireConserved(), naive.issued);
  for (const { address } of people) {
    const { balance, locked } = ledger.account(address);
    assert.deepEqual([balance, locked], [naive.balances.get(address) ?? 0n, naive.locked(address)]);
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

/** A thesis as the naive chain sees it. */
interface NaiveThesis {
  user: Address;
  solver: Address;
  betAmount: bigint;
  payout: bigint;
  lower: bigint;
  upper: bigint;
  start: number;
  end: number;
  /** Slots that no attempt has seen inside the box yet. */
  unknown: Set<number>;
  status: "open" | "needs_backfill" | "won" | "lost";
}

/**
 * The rules of the protocol page in the plainest way there is: one market, every slot looked at one
 * by one, nothing cached, nothing on the disk.
 */
class NaiveChain {
  readonly balances = new Map<Address, bigint>(GENESIS.balances);
  readonly theses: NaiveThesis[] = [];
  readonly externalHashes = new Set<Hex>();
  readonly quotes = new Set<string>();
  /** How often a thesis has changed its status. */
  decisions = 0;
  issued = [...GENESIS.balances.values()].reduce((sum, balance) => sum + balance, 0n);
  price: { value: bigint; lastUpdate: number } | undefined;
  readonly #ringSlots: number;
  readonly #maxStaleMs: number;
  readonly #recorded = new Map<number, bigint>();
  readonly #filled = new Map<number, bigint>();
  #newest = -1;

  constructor(ringSlots: number, maxStaleMs: number) {
    this.#ringSlots = ringSlots;
    this.#maxStaleMs = maxStaleMs;
  }

  /** @returns The code of the receipt's error, or "committed". */
  deposit(tx: Deposit): string {
    if (tx.from !== actors.relayer.address) return "PERMISSION_DENIED";
    if (this.externalHashes.has(tx.externalTxHash)) return "DEPOSIT_ALREADY_PROCESSED";
    this.externalHashes.add(tx.externalTxHash);
    this.#credit(tx.user, tx.amount);
    this.issued += tx.amount;
    return "committed";
  }

  /** @param quote Identifies a quote. */
  submit(tx: RfqSubmit, quote: string, nowMs: number): string {
    if (this.quotes.has(quote)) return "QUOTE_ALREADY_USED";
    if (!this.#isFresh(nowMs)) return "ORACLE_STALE";
    for (let time = Math.ceil(tx.startTime / 100) * 100; time < tx.endTime; time += 100) {
      const price = this.#at(time / 100);
      if (price !== undefined && (price < tx.lowerPrice || price > tx.upperPrice)) {
        return "RANGE_BROKEN";
      }
    }
    const isSame = tx.user === tx.from;
    const userStake = isSame ? tx.payout : tx.betAmount;
    if (this.#balance(tx.user) < userStake) return "INSUFFICIENT_BALANCE";
    if (!isSame && this.#balance(tx.from) < tx.payout - tx.betAmount) return "INSUFFICIENT_BALANCE";
    this.quotes.add(quote);
    this.#credit(tx.user, -tx.betAmount);
    this.#credit(tx.from, tx.betAmount - tx.payout);
    const unknown = new Set<number>();
    for (let time = Math.ceil(tx.startTime / 100) * 100; time < tx.endTime; time += 100) {
      unknown.add(time / 100);
    }
    this.theses.push({
      user: tx.user,
      solver: tx.from,
      betAmount: tx.betAmount,
      payout: tx.payout,
      lower: tx.lowerPrice,
      upper: tx.upperPrice,
      start: tx.startTime,
      end: tx.endTime,
      unknown,
      status: "open",
    });
    return "committed";
  }

  /** Records the price if it is fresh, and settles what has ended or is broken. */
  checkpoint(timeMs: number): void {
    this.#newest = timeMs / 100;
    if (this.price !== undefined && this.#isFresh(timeMs)) {
      this.#recorded.set(this.#newest, this.price.value);
    }
    for (const thesis of this.theses) {
      if (thesis.status !== "open") continue;
      const isBroken = thesis.unknown.has(this.#newest) && this.#isOutside(this.#newest, thesis);
      if (isBroken || thesis.end <= timeMs) this.#attempt(thesis);
    }
  }

  /** Fills what is missing and within reach. @returns How many slots. */
  backfill(tx: BackfillOracle): number {
    const taken: number[] = [];
    for (const [index, price] of tx.prices.entries()) {
      const slot = tx.startTime / 100 + index;
      const isNeeded = this.theses.some((thesis) =>
        !isSettled(thesis) && slot * 100 >= thesis.start && slot * 100 < thesis.end
      );
      if (this.#at(slot) !== undefined || !(isNeeded || this.#inRing(slot))) continue;
      this.#filled.set(slot, price);
      taken.push(slot);
    }
    for (const thesis of this.theses) {
      const helped = [...thesis.unknown].filter((slot) =>
        slot >= taken[0]! && slot <= taken.at(-1)!
      );
      if (isSettled(thesis) || taken.length === 0 || helped.length === 0) continue;
      const isBroken = [...thesis.unknown].some((slot) => this.#isOutside(slot, thesis));
      if (thesis.status === "needs_backfill" || isBroken) this.#attempt(thesis);
    }
    return taken.length;
  }

  /** Tries to settle a thesis that has ended or has a breach. */
  settle(thesis: NaiveThesis, headMs: number): void {
    if (isSettled(thesis)) return;
    const isBroken = [...thesis.unknown].some((slot) => this.#isOutside(slot, thesis));
    if (isBroken || thesis.end <= headMs) this.#attempt(thesis);
  }

  /** After a killed process, everything since the last flush is lost, and so is the last price. */
  die(flushedMs: number): void {
    for (const slot of this.#recorded.keys()) {
      if (slot * 100 > flushedMs) this.#recorded.delete(slot);
    }
    this.price = undefined;
  }

  /** Stakes of a party in theses that are not settled. */
  locked(address: Address): bigint {
    return this.theses.filter((thesis) => !isSettled(thesis))
      .map(({ user, solver, betAmount, payout }) =>
        (user === address ? betAmount : 0n) + (solver === address ? payout - betAmount : 0n)
      ).reduce((sum, stake) => sum + stake, 0n);
  }

  #attempt(thesis: NaiveThesis): void {
    const before = thesis.status;
    if ([...thesis.unknown].some((slot) => this.#isOutside(slot, thesis))) {
      thesis.status = "lost";
      this.decisions += 1;
      return this.#credit(thesis.solver, thesis.payout);
    }
    for (const slot of thesis.unknown) {
      if (this.#at(slot) !== undefined) thesis.unknown.delete(slot);
    }
    thesis.status = thesis.unknown.size === 0 ? "won" : "needs_backfill";
    if (thesis.status !== before) this.decisions += 1;
    if (thesis.status === "won") this.#credit(thesis.user, thesis.payout);
  }

  #isOutside(slot: number, { lower, upper }: NaiveThesis): boolean {
    const price = this.#at(slot);
    return price !== undefined && (price < lower || price > upper);
  }

  #at(slot: number): bigint | undefined {
    return (this.#inRing(slot) ? this.#recorded.get(slot) : undefined) ?? this.#filled.get(slot);
  }

  #inRing(slot: number): boolean {
    return slot <= this.#newest && slot > this.#newest - this.#ringSlots;
  }

  #isFresh(nowMs: number): boolean {
    return this.price !== undefined && nowMs - this.price.lastUpdate <= this.#maxStaleMs;
  }

  #balance(address: Address): bigint {
    return this.balances.get(address) ?? 0n;
  }

  #credit(address: Address, amount: bigint): void {
    this.balances.set(address, this.#balance(address) + amount);
  }
}

function isSettled({ status }: NaiveThesis): boolean {
  return status === "won" || status === "lost";
}
