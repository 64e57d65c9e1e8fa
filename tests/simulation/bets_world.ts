/**
 * Users, solvers and strangers with every signature that they ever saw, on a real chain in memory.
 * The solvers are real ones on one store, and die at random; prices move at random and are late at
 * times.
 */
import assert from "node:assert/strict";
import { RangemakerError } from "../../lib/errors.ts";
import type { RandomSource } from "../../lib/random.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import { RpcCode, RpcError } from "../../lib/protocol/jsonrpc.ts";
import type { UnsignedQuote } from "../../lib/protocol/quote.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { betOf } from "../../lib/protocol/bet.ts";
import { isUnsettled, type Thesis } from "../../lib/protocol/thesis.ts";
import { transactionSchema } from "../../lib/protocol/transaction.ts";
import { decodeExecution } from "../../services/solver/execution/execution.ts";
import { actors, backfill, deposit, ETH, hashOf } from "../node/support/actors.ts";
import { GENESIS, MemoryChain } from "../node/support/chains.ts";
import { settled } from "../support/eventually.ts";

/** What the solvers may lose together, USDC with 6 decimals. */
export const EXPOSURE_MAX = 100_000n;

/**
 * The worst loss of a solver: that of the most expensive set of bets that can all win. Two bets of
 * one market cannot both win if a slot is in both windows and their ranges have no common price.
 * Ranges that overlap in pairs have a price that is in all of them.
 */
function worstCase(bets: readonly Thesis[]): bigint {
  const contested = bets.find((bet) => bets.some((other) => excludes(bet, other)));
  if (contested === undefined) {
    return bets.reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);
  }
  const others = bets.filter((bet) => bet !== contested);
  const without = worstCase(others);
  const compatible = others.filter((other) => !excludes(contested, other));
  const withIt = contested.payout - contested.betAmount + worstCase(compatible);
  return withIt > without ? withIt : without;
}

function excludes(one: Thesis, other: Thesis): boolean {
  const startTime = Math.max(one.startTime, other.startTime);
  const endTime = Math.min(one.endTime, other.endTime);
  if (Math.ceil(startTime / SLOT_MS) * SLOT_MS >= endTime) return false;
  return one.lowerPrice > other.upperPrice || other.lowerPrice > one.upperPrice;
}

/** How much a checkpoint moves the price at most: one in a thousand. */
const MOVE_MAX = 0.001;

/** What two sides agree on. */
type Agreement = Omit<UnsignedQuote, "deadline">;

function agreementOf(terms: Agreement): string {
  const { solver, user, payout } = terms;
  return [solver, user, payout, ...Object.values(betOf(terms))].join(" ");
}

/** Those of the solvers that are unsettled. */
function openOf(theses: readonly Thesis[]): Thesis[] {
  return theses.filter(({ status, solver }) =>
    isUnsettled(status) && solver === actors.solver.address
  );
}

/** The world, step by step; {@link check} must pass after each. */
export class BetsWorld {
  readonly chain: MemoryChain;
  readonly database = SqliteDriver.open(":memory:");
  readonly store = this.newStore();
  readonly random: RandomSource;
  /** Share of calls of the node that are lost, on the way there and on the way back. */
  lossRate = 0.05;
  /** Who hears of every change of a thesis. */
  readonly listeners: ((thesis: Thesis) => void)[] = [];
  /** What each address has agreed to, as {@link agreementOf} writes it: no hash is trusted here. */
  readonly #signed = new Map<Address, Set<string>>();
  /** The price of every slot, including those that the oracle never reported. */
  readonly #path = new Map<number, bigint>();
  price = 3_000_000_000n;
  #deposits = 0;
  #checkedTheses = 0;
  committed = 0;

  /** @param balances What users have at genesis, beside the solver's. */
  constructor(random: RandomSource, balances: Iterable<[Address, bigint]>) {
    this.chain = new MemoryChain({
      balances: new Map([...GENESIS.balances, ...balances]),
    });
    this.random = random;
    this.run(20, true);
  }

  /** The database as one process sees it. */
  newStore(): IntentStore {
    return new IntentStore(this.database, "solver");
  }

  get now(): number {
    return this.chain.now;
  }

  /** The chain's theses, as a solver reads them. */
  get theses(): readonly Thesis[] {
    return this.chain.chain.state.ledger.theses;
  }

  /** Unsettled theses of the solvers. */
  get openTheses(): Thesis[] {
    return openOf(this.theses);
  }

  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void> {
    return settled(12);
  }

  /** Invariants at every moment. */
  check(): void {
    this.chain.requireConserved();
    const { theses } = this; // each time they are read anew
    const atRisk = worstCase(openOf(theses));
    assert.ok(atRisk <= EXPOSURE_MAX, `exposure ${atRisk} is above ${EXPOSURE_MAX}`);
    const hashes = new Set(theses.map(({ quoteHash }) => quoteHash));
    assert.equal(hashes.size, theses.length, "a quote opens one thesis at most");
    for (const thesis of theses.slice(this.#checkedTheses)) this.#checkNew(thesis);
    this.#checkedTheses = theses.length;
  }

  /** Both sides have signed this very bet against each other. */
  #checkNew(thesis: Thesis): void {
    const agreement = agreementOf(thesis);
    for (const address of [thesis.user, thesis.solver]) {
      assert.ok(this.#signed.get(address)?.has(agreement), `${address} never signed ${agreement}`);
    }
    this.committed += 1;
  }

  /** A call of the node over a network that loses things. */
  async call<T>(work: () => T): Promise<T> {
    await Promise.resolve();
    const requireNetwork = (what: string) => {
      if (this.random() < this.lossRate) throw new NodeUnreachableError("world", `${what} lost`);
    };
    requireNetwork("request");
    const answer = work();
    requireNetwork("answer");
    return answer;
  }

  /** Submits a transaction to the chain, and checks that the moment was not turned against anybody. */
  submit(text: string): Receipt {
    const tx = transactionSchema.parse(JSON.parse(text));
    const outside = tx.type === "RfqSubmit" ? this.brokenAt(tx) : undefined;
    const { ledger } = this.chain.chain.state;
    const known = ledger.lastThesisId;
    let receipt: Receipt;
    try {
      receipt = this.chain.chain.submit(tx);
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      throw new RpcError(RpcCode.transactionRejected, thrown.message);
    }
    const isNew = ledger.lastThesisId > known;
    if (isNew && tx.type === "RfqSubmit") {
      assert.ok(tx.endTime > this.now && tx.deadline >= this.now, "a bet is opened in its time");
      assert.equal(outside, undefined, "a lost bet is nobody's to submit");
    }
    return receipt;
  }

  /** The first recorded price that decides a bet against its user. */
  brokenAt({ startTime, endTime, lowerPrice, upperPrice }: Omit<UnsignedQuote, "solver">) {
    const range = { lower: lowerPrice, upper: upperPrice };
    const knownTo = Math.min(endTime, this.chain.chain.head.timestampMs + SLOT_MS);
    if (startTime >= knownTo) return undefined;
    return this.chain.chain.state.historyOf(ETH).checkRange(startTime, knownTo, range).outside;
  }

  /** A solver is about to spend money on a bet: nothing of it may be decided. */
  checkHedge(terms: UnsignedQuote): void {
    assert.equal(this.brokenAt(terms), undefined, "no hedge for a bet that its user has lost");
    const lastSlot = Math.ceil(terms.endTime / SLOT_MS) * SLOT_MS - SLOT_MS;
    const head = this.chain.chain.head.timestampMs;
    const isWon = lastSlot <= head;
    // At a payout of the bet itself the solver has nothing to lose.
    assert.ok(
      !isWon || terms.payout === terms.betAmount,
      "no hedge for a bet that its user has won",
    );
    const { balance } = this.chain.chain.state.ledger.account(terms.user);
    assert.ok(balance > 0n, "no hedge for a user without any money");
  }

  /** What solvers hedge at one time for a user that bets with them alone is covered by its balance. */
  async checkFunds(user: Address): Promise<void> {
    const unfinished = await this.store.listUnfinished({
      limit: 1_000,
      after: 0,
      nowMs: this.now,
      unchangedForMs: 0,
    });
    const opened = new Set<string>(this.theses.map(({ quoteHash }) => quoteHash));
    const needed = unfinished
      .filter(({ key, user: owner }) => owner === user && !opened.has(key))
      .reduce((sum, { payload }) => sum + decodeExecution(payload).quote.betAmount, 0n);
    const { balance } = this.chain.chain.state.ledger.account(user);
    assert.ok(needed <= balance, `bets of ${needed} are under way, the balance is ${balance}`);
  }

  deposit(user: Address, amount: bigint): void {
    if (amount === 0n) return;
    const externalTxHash = hashOf(this.#deposits += 1);
    this.chain.chain.submit(deposit({ timestamp: this.now, user, amount, externalTxHash }));
  }

  run(checkpoints: number, hasPrices: boolean): void {
    for (let n = 0; n < checkpoints; n++) {
      const move = 1 + (this.random() - 0.5) * 2 * MOVE_MAX;
      this.price = BigInt(Math.round(Number(this.price) * move));
      const heard = this.chain.theses.length;
      if (hasPrices) this.#answerOfOracle();
      this.chain.run(1, null);
      this.#path.set(this.now, this.price);
      for (const thesis of this.chain.theses.slice(heard)) {
        for (const hear of this.listeners) hear(thesis);
      }
    }
  }

  /** The price leaves most ranges at once. */
  jump(): void {
    this.price = this.price * (this.random() < 0.5 ? 990n : 1_010n) / 1_000n;
  }

  /** The oracle answers for the next checkpoint, with the one market that is bet on. */
  #answerOfOracle(): void {
    const { base, quote, symbol } = ETH;
    const lastUpdate = this.now + SLOT_MS;
    const price = { base, quote, price: this.price.toString(), decimals: 6, lastUpdate };
    const prices = { [symbol]: { ...price, sources: ["provider_a"] } };
    this.chain.chain.oraclePrices.update({ prices }, lastUpdate);
  }

  /** The admin fills every slot that an ended bet lacks. */
  backfill(): void {
    for (const { startTime, endTime, status } of this.theses) {
      if (status !== "needs_backfill") continue;
      const from = Math.ceil(startTime / SLOT_MS) * SLOT_MS;
      const prices: bigint[] = [];
      for (let time = from; time < endTime; time += SLOT_MS) {
        prices.push(this.#path.get(time) ?? 3_000_000_000n);
      }
      this.chain.chain.submit(backfill({ timestamp: this.now, startTime: from, prices }));
    }
  }

  note(address: Address, terms: Agreement): void {
    const signed = this.#signed.get(address) ?? new Set();
    this.#signed.set(address, signed.add(agreementOf(terms)));
  }

  /** A whole number below a bound. */
  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!; // never empty
  }
}
