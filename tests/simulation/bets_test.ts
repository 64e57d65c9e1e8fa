/**
 * Nobody can turn the moment of a submission, or a signature that it saw, against somebody else.
 * `TEST_SCHEDULES` sets the number of schedules.
 */
import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import type { Quote } from "../../lib/protocol/quote.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import { toWire } from "../../lib/json.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { betOf } from "../../lib/protocol/bet.ts";
import { isUnsettled } from "../../lib/protocol/thesis.ts";
import { casesFrom, playSchedules } from "../support/random.ts";
import { actors, CHAIN_ID, ETH } from "../node/support/actors.ts";
import { BetsSolver, loyal } from "./bets_solver.ts";
import { BetsWorld } from "./bets_world.ts";
import { reservedIntents } from "../support/intents.ts";
import { signTransaction } from "../support/signing.ts";

const SCHEDULES = casesFrom("TEST_SCHEDULES", 80);
const STEPS = 180;

Deno.test(
  "Bets: despite strangers, an attacker and crashing solvers, the total is unchanged and every bet is signed",
  { timeout: 60_000 + 2_000 * SCHEDULES },
  async () => {
    let committed = 0;
    await playSchedules("TEST_SCHEDULES", SCHEDULES, async (random) => {
      const schedule = new BetsSchedule(random);
      for (let step = 0; step < STEPS; step++) await schedule.step();
      await schedule.finish();
      committed += schedule.committed;
    });
    assert.ok(SCHEDULES < 20 || committed > SCHEDULES, `only ${committed} bets were opened`);
  },
);

/** A quote, and what the world knows about it. */
interface KnownQuote {
  quote: Quote;
  quoteHash: Hex;
  /** Undefined until its user has signed. */
  userSignature?: Hex;
}

/** Users, strangers, a rogue solver and honest ones that die, each acting at random moments. */
export class BetsSchedule {
  readonly #world: BetsWorld;
  readonly #users = [...["b1", "b2"].map((byte) => new LocalSigner(`0x${byte.repeat(32)}`)), loyal];
  readonly #rogue = actors.stranger;
  readonly #quotes: KnownQuote[] = [];
  readonly #solvers: BetsSolver[];
  readonly #executions: Promise<unknown>[] = [];
  #violation: assert.AssertionError | undefined;

  constructor(random: RandomSource) {
    this.#world = new BetsWorld(random, [
      ...this.#users.map((user): [Address, bigint] => [
        user.address,
        user === loyal ? 10_000n : 900_000n,
      ]),
      [this.#rogue.address, 50_000_000n],
    ]);
    this.#solvers = [new BetsSolver(this.#world), new BetsSolver(this.#world)];
    this.#world.listeners.push((thesis) => this.#solvers.forEach((solver) => solver.hear(thesis)));
  }

  /** Bets that were opened. */
  get committed(): number {
    return this.#world.committed;
  }

  /** One random action of somebody. */
  async step(): Promise<void> {
    const actions: [weight: number, act: () => void][] = [
      [9, () => this.#quote()],
      [3, () => this.#sign()],
      [12, () => this.#execute(this.#recent())],
      [2, () => this.#quotes.slice(-8).forEach((known) => this.#execute(known))],
      [3, () => this.#submitAsStranger()],
      [2, () => this.#rogueQuote()],
      [3, () => this.#rogueSubmit()],
      [1, () => this.#deposit()],
      [4, () => this.#world.run(1 + this.#world.below(6), this.#world.random() < 0.95)],
      [0.4, () => this.#world.run(20 + this.#world.below(60), this.#world.random() < 0.8)],
      [1, () => this.#world.jump()],
      [1, () => this.#world.pick(this.#solvers).doom(this.#world.below(10))],
      [4, () => this.#restart()],
      [1, () => this.#world.pick(this.#solvers).disconnect()],
      [4, () => this.#world.pick(this.#solvers).connect()],
      [4, () => this.#world.pick(this.#solvers).finishReading()],
    ];
    const total = actions.reduce((sum, [weight]) => sum + weight, 0);
    let roll = this.#world.random() * total;
    const [, act] = actions.find(([weight]) => (roll -= weight) < 0) ?? actions[0]!;
    act();
    if (this.#world.random() < 0.7) await this.#world.settle();
    this.#check();
  }

  /** Everything works again: all executions and theses come to their end. */
  async finish(): Promise<void> {
    this.#world.lossRate = 0;
    this.#restart();
    for (let wait = 0;; wait++) {
      for (const solver of this.#solvers) {
        solver.disconnect();
        solver.connect();
        solver.finishReading();
      }
      this.#world.run(220, true);
      await this.#world.settle();
      this.#world.backfill();
      this.#check();
      const held = await reservedIntents(this.#world.store);
      const isDone = this.#world.theses.every(({ status }) => !isUnsettled(status)) &&
        await this.#world.store.countUnfinished() === 0 && held.length === 0;
      if (isDone) break;
      assert.ok(wait < 50, "every execution and every thesis comes to its end");
    }
    await Promise.allSettled(this.#executions);
    if (this.#solvers.some(({ book }) => book.total > 0n)) {
      // The other solver ended an execution that both knew: the next reconciliation finds it.
      this.#world.run(310, true);
      await this.#world.settle();
    }
    for (const solver of this.#solvers) {
      assert.equal(solver.book.total, 0n, "nothing is left at risk");
      await solver.stop();
    }
    await this.#world.store.close();
  }

  /** Ignores failures, which are for callers, except assertions. */
  #noteViolation(thrown: unknown): void {
    if (thrown instanceof assert.AssertionError) this.#violation ??= thrown;
  }

  #deposit(): void {
    const user = this.#world.pick(this.#users);
    const amount = BigInt(this.#world.below(user === loyal ? 5_000 : 3_000_000));
    this.#world.deposit(user.address, amount);
  }

  #quote(): void {
    const now = this.#world.now;
    // Narrow ranges soon have no price in common: then the solver can lose one of them only.
    const isNarrow = this.#world.random() < 0.7;
    const startTime = now +
      (isNarrow ? this.#world.below(3_000) : this.#world.below(6_300) - 2_100);
    const width = this.#world.price *
      BigInt(isNarrow ? 15 + this.#world.below(15) : 60 + this.#world.below(100)) /
      10_000n;
    const offset = isNarrow ? width * BigInt(this.#world.below(201) - 100) / 100n : 0n;
    const request = {
      user: this.#world.pick([...this.#users, loyal, loyal, this.#rogue, actors.solver]).address,
      thesisType: "box" as const,
      base: ETH.base,
      quote: ETH.quote,
      lowerPrice: this.#world.price + offset - width,
      upperPrice: this.#world.price + offset + width,
      betAmount: BigInt(1 + this.#world.below(isNarrow ? 15_000 : 400_000)),
      startTime,
      endTime: startTime + 1_000 + this.#world.below(isNarrow ? 5_000 : 15_000),
      deadline: now + 200 + this.#world.below(10_000),
    };
    try {
      const { quote, quoteHash } = this.#world.pick(this.#solvers).quoter.quote(request);
      this.#world.note(quote.solver, quote);
      this.#quotes.push({ quote, quoteHash });
      if (this.#world.random() < 0.7) this.#signAs(this.#quotes.at(-1));
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
    }
  }

  /** The attacker quotes anything. */
  #rogueQuote(): void {
    const template = this.#quotes.at(-1)?.quote;
    if (template === undefined) return;
    const { signature: _other, ...terms } = template;
    const payout = terms.betAmount * BigInt(10 + this.#world.below(40)) / 10n;
    const user = this.#world.pick(this.#users.filter((one) => one !== loyal)).address;
    const own = { ...terms, solver: this.#rogue.address, user, payout };
    const quoteHash = hashQuote(own, CHAIN_ID);
    this.#world.note(own.solver, own);
    this.#quotes.push({ quote: { ...own, signature: this.#rogue.sign(quoteHash) }, quoteHash });
  }

  #sign(): void {
    this.#signAs(this.#recent());
  }

  #signAs(known: KnownQuote | undefined): void {
    const user = [...this.#users, this.#rogue].find(({ address }) => address === known?.quote.user);
    if (known === undefined || user === undefined) return;
    known.userSignature = user.sign(known.quoteHash);
    this.#world.note(user.address, known.quote);
  }

  /** Anybody may request an execution: with the right signature, none, or somebody else's. */
  #execute(known: KnownQuote | undefined): void {
    if (known === undefined) return;
    const userSignature = this.#world.random() < 0.93 ? known.userSignature : this.#anySignature();
    if (userSignature === undefined) return;
    const solver = this.#world.pick(this.#solvers);
    const execution = solver.execute({ quote: known.quote, userSignature });
    this.#executions.push(execution.catch((thrown) => this.#noteViolation(thrown)));
  }

  /** A stranger or a user submits somebody else's terms with any signatures it has seen. */
  #submitAsStranger(): void {
    const known = this.#recent();
    if (known === undefined) return;
    const by = this.#world.pick([this.#rogue, ...this.#users]);
    const signature = this.#world.random() < 0.5 ? known.quote.signature : this.#anySignature();
    // It may sign the other side's part again, in its own name.
    const own = { ...known.quote, solver: by.address };
    const solverSignature = signature !== undefined && this.#world.random() < 0.5
      ? signature
      : by.sign(hashQuote(own, CHAIN_ID));
    if (solverSignature !== signature) this.#world.note(by.address, own);
    const userSignature = known.userSignature ?? this.#anySignature() ?? known.quote.signature;
    this.#submitAs(by, known.quote, solverSignature, userSignature);
  }

  /** The attacker keeps a bet until a moment that suits it. */
  #rogueSubmit(): void {
    const own = this.#quotes.filter(({ quote, userSignature }) =>
      quote.solver === this.#rogue.address && userSignature !== undefined
    );
    const known = own[this.#world.below(own.length)];
    if (known?.userSignature === undefined) return;
    this.#submitAs(this.#rogue, known.quote, known.quote.signature, known.userSignature);
  }

  #submitAs(by: LocalSigner, quote: Quote, solverSignature: Hex, userSignature: Hex): void {
    const { user, payout, deadline } = quote;
    const { tx } = signTransaction(
      {
        type: "RfqSubmit" as const,
        timestamp: this.#world.now,
        from: by.address,
        user,
        ...betOf(quote),
        payout,
        deadline,
        solverSignature,
        userSignature,
      },
      by,
      CHAIN_ID,
    );
    this.#world.submit(JSON.stringify(toWire(tx)));
  }

  #restart(): void {
    this.#solvers.forEach((solver, index) => {
      if (solver.isDead || this.#world.lossRate === 0) {
        solver.kill();
        this.#solvers[index] = new BetsSolver(this.#world);
      }
    });
  }

  #recent(): KnownQuote | undefined {
    const recent = this.#quotes.slice(-8);
    return recent[this.#world.below(recent.length)];
  }

  #anySignature(): Hex | undefined {
    const { quote, userSignature } = this.#recent() ?? {};
    return this.#world.random() < 0.5 ? quote?.signature : userSignature;
  }

  #check(): void {
    if (this.#violation !== undefined) throw this.#violation;
    this.#world.check();
  }
}
