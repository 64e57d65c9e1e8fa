import { getLogger } from "@logtape/logtape";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { StoreError } from "../../lib/intents/errors.ts";
import { TransactionBuilder } from "../../lib/intents/transactions.ts";
import { createRetryLoop } from "../../lib/intents/retry_loop.ts";
import { ReservationTable } from "../../lib/intents/reservation_table.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import { PollingLoop } from "../../lib/timing/polling_loop.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import type { ExecuteResult } from "../../lib/protocol/answers.ts";
import type { UnsignedQuote } from "../../lib/protocol/quote.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { pageOfTheses } from "../../services/node/rpc/query_pages.ts";
import { decodeBet, type ExecutionRequest } from "../../services/solver/execution/execution.ts";
import { ExecutionPreparation } from "../../services/solver/execution/execution_preparation.ts";
import { Executor } from "../../services/solver/execution/executor.ts";
import type { Hedge } from "../../services/solver/execution/hedge.ts";
import { ReservationReleaser } from "../../services/solver/execution/reservation_releaser.ts";
import { forecastOf } from "../../services/solver/pricing/volatility_forecast.ts";
import { BarrierStrategy } from "../../services/solver/pricing/barrier_strategy.ts";
import { QuoteSigner } from "../../services/solver/quoting/quote_signer.ts";
import { Quoter } from "../../services/solver/quoting/quoter.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { ExposureLimit } from "../../services/solver/risk/exposure_limit.ts";
import { PreTradeChecks } from "../../services/solver/risk/pre_trade_checks.ts";
import { onlyChain } from "../support/intents.ts";
import { type FaultPoints, withFaultPoints } from "../support/fault_points.ts";
import { actors, CHAIN_ID, ETH } from "../node/support/actors.ts";
import { type BetsWorld, EXPOSURE_MAX } from "./bets_world.ts";

class Died extends Error {}

/** As often as a solver reads all open theses and reservations. */
const RECONCILE_MS = 30_000;

const HEDGE_MS = 50;

/** A user without much money, who bets with no other solver. */
export const loyal = new LocalSigner(`0x${"b3".repeat(32)}`);

/** Volatility a year of the world's prices: a uniform step of up to 0.1 % every 100 ms. */
const VOLATILITY = 10;

/** One solver; after its death, nothing that its code still does reaches the store or the node. */
export class BetsSolver {
  readonly book = new ExposureBook(EXPOSURE_MAX, decodeBet);
  readonly quoter: Quoter;
  readonly #world: BetsWorld;
  readonly #executor: Executor;
  readonly #submitter: Submitter;
  readonly #retries: PollingLoop;
  readonly #releaser: ReservationReleaser;
  readonly #reconciler: PollingLoop;
  readonly #started: Promise<void>;
  #isConnected = false;
  #snapshot: Thesis[] | undefined;
  #isDead = false;
  #doomedAfter = Number.POSITIVE_INFINITY;

  constructor(world: BetsWorld) {
    this.#world = world;
    const { book } = this;
    const { clock } = world.chain;
    const signer = actors.solver;
    const faults = () => {
      this.#doomedAfter -= 1;
      if (this.#doomedAfter < 0) this.#isDead = true;
      if (this.#isDead) throw new Died("Killed by the simulation");
    };
    const store = killable("store", world.newStore(), faults);
    const reservations = killable("reservations", new ReservationTable(store, book), faults);
    const node = killable("node", nodeOf(world), faults);
    const strategy = strategyOf(world);
    const quoteSigner = new QuoteSigner(signer);
    this.quoter = new Quoter({
      markets: SPEC_MARKETS,
      exposureLimit: { requireEstimateFits() {} },
      strategy,
      signer: quoteSigner,
      chainId: CHAIN_ID,
      clock,
      timeBounds: { maxStartAheadMs: 4_000, maxStartBehindMs: 2_000, maxDeadlineMs: 10_000 },
    });
    const hedge = hedgeOf(world);
    // A process that is dead reports nothing.
    const dead = (thrown: unknown) => {
      throw thrown instanceof Died ? new StoreError(thrown.message) : thrown;
    };
    this.#releaser = new ReservationReleaser({
      store: {
        find: (key) => store.find(key).catch(dead),
        release: (key) => store.release(key).catch(dead),
      },
      reservations: { refresh: () => reservations.refresh().catch(dead) },
      book,
      node,
      guard: onlyChain(clock),
      clock,
    });
    const checks = new PreTradeChecks({
      markets: SPEC_MARKETS,
      node,
      solver: signer.address,
      clock,
      maxRisk: EXPOSURE_MAX,
      hedgeMs: HEDGE_MS,
      strategy,
      guard: onlyChain(clock),
    });
    const preparation = new ExecutionPreparation({
      checks,
      exposure: book,
      hedge: withFaultPoints("hedge", hedge, faults),
      quoteSigner,
      chainId: CHAIN_ID,
      clock,
    });
    this.#submitter = new Submitter({
      store,
      node,
      clock,
      guard: onlyChain(clock),
      transactions: new TransactionBuilder(signer, CHAIN_ID, clock),
      handler: {
        termsOf: (intent) => preparation.termsOf(intent),
        beforeSigning: (intent) => preparation.prepare(intent),
        onFinished: (intent) => this.#releaser.onExecutionFinished(intent),
      },
    });
    this.#retries = createRetryLoop(this.#submitter, {
      store,
      node,
      clock,
      random: world.random,
      log: getLogger("test"),
    });
    this.#executor = new Executor({
      store,
      reservations,
      submitter: this.#submitter,
      guard: onlyChain(clock),
      preparation,
      checks,
      exposureLimit: new ExposureLimit(book),
      releaseSettled: () => this.#releaser.reconcile(),
      quoteSigner,
      chainId: CHAIN_ID,
      clock,
    });
    this.#reconciler = new PollingLoop({
      clock,
      intervalMs: RECONCILE_MS,
      poll: async (signal) => void await this.#releaser.reconcile(signal).catch(dead),
    });
    this.#started = reservations.refresh().then(() => {
      this.#retries.start();
      this.#reconciler.start(RECONCILE_MS);
    }).catch(dead);
    this.#started.catch(() => {});
    this.connect();
    this.finishReading();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  async execute(request: ExecutionRequest): Promise<ExecuteResult> {
    await this.#started;
    return await this.#executor.execute(request);
  }

  /** Dies after passing this many more places before or after a call. */
  doom(places: number): void {
    this.#doomedAfter = places;
  }

  /** Dies now. */
  kill(): void {
    this.#isDead = true;
  }

  async stop(): Promise<void> {
    await this.#started.catch(() => {});
    const stops = [this.#submitter, this.#retries, this.#reconciler];
    await Promise.all(stops.map((each) => each.stop()));
  }

  /** The node reports a thesis. */
  hear(thesis: Thesis): void {
    if (!this.#isConnected || this.#isDead || thesis.solver !== actors.solver.address) return;
    this.book.apply(thesis);
    void this.#releaser.onThesisChanged(thesis).catch(() => {}); // killed
  }

  disconnect(): void {
    this.#isConnected = false;
    this.#snapshot = undefined;
    this.book.invalidate();
  }

  /** The feed is back, and the open theses are asked for. */
  connect(): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.book.beginReading();
    this.#snapshot = this.#world.openTheses;
  }

  /** The answer arrives. */
  finishReading(): void {
    if (this.#snapshot === undefined) return;
    this.book.endReading(this.#snapshot);
    this.#snapshot = undefined;
  }
}

/** A port with fault points whose failures are always rejections, as no real port throws. */
function killable<T extends object>(name: string, port: T, faults: FaultPoints): T {
  const faulty = withFaultPoints(name, port, faults);
  return new Proxy(faulty, {
    get(target, property) {
      const member = Reflect.get(target, property, target);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]) => await Reflect.apply(member, target, args);
    },
  });
}

/** The node as a solver sees it. */
function nodeOf(world: BetsWorld) {
  const { chain } = world.chain;
  const { ledger } = chain.state;
  return {
    sendTransactionText: (text: string) => world.call(() => world.submit(text)),
    getTransaction: (txHash: Hex) => world.call(() => ledger.findReceipt(txHash) ?? null),
    simulateTransactionText: () => Promise.reject(new Error("Bets are not simulated")),
    url: "http://node",
    getHead: () => world.call(() => chain.head),
    getThesis: (id: number) => world.call(() => ledger.findThesis(id) ?? null),
    getTheses: () => world.call(() => pageOfTheses(ledger, { limit: 1 })),
    getAccount: (address: Address) => world.call(() => ledger.account(address)),
    getPrices: () =>
      world.call(() => {
        const { base, quote, symbol } = ETH;
        const price = chain.oraclePrices.freshPrice(ETH, world.now);
        const state = price === undefined ? "stale" as const : "fresh" as const;
        const times = { decimals: 6 as const, lastUpdate: world.now, ageMs: 0 };
        return { [symbol]: { base, quote, price: price ?? 0n, ...times, state } };
      }),
  };
}

function strategyOf(world: BetsWorld): BarrierStrategy {
  const { chain, clock } = world.chain;
  return new BarrierStrategy({
    market: () => {
      const price = chain.oraclePrices.freshPrice(ETH, world.now);
      return {
        symbol: ETH.symbol,
        spot: price === undefined ? undefined : { price, lastUpdateMs: world.now, fresh: true },
        volatility: { forecast: () => forecastOf(VOLATILITY, 0.3) },
        stillness: { share: 0, tick: undefined },
        history: chain.state.historyOf(ETH),
        historyEndMs: chain.head.timestampMs + SLOT_MS,
      };
    },
    clock,
    margin: 0.05,
    userLeadMs: 0,
    maxPriceAgeMs: 2_000,
    minDurationMs: 1_000,
    minWidthTicks: 0,
  });
}

function hedgeOf(world: BetsWorld): Hedge {
  return {
    async cover(_quoteHash: Hex, terms: UnsignedQuote) {
      world.checkHedge(terms);
      if (terms.user === loyal.address) await world.checkFunds(terms.user);
      await new Promise<void>((resolve) => world.chain.clock.after(HEDGE_MS, resolve));
    },
  };
}
