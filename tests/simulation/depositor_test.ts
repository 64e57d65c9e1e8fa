/**
 * Two bridges on one store in a world where requests, answers, the node and the bridges themselves
 * are lost at random, replayed by its seed. In the end every deposit has a correct final state:
 * committed deposits are credited once, failed ones are not, and unrecorded ones were never
 * accepted.
 */
import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import type { RandomSource } from "../../lib/random.ts";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import type { PollingLoop } from "../../lib/timing/polling_loop.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { CLOCK_DIFFERENCE_MAX_MS } from "../../lib/intents/clock_comparison.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { createRetryLoop } from "../../lib/intents/retry_loop.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import type { SubmissionNode } from "../../lib/intents/node_answer.ts";
import { TransactionBuilder } from "../../lib/intents/transactions.ts";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { externalHashOf } from "../../lib/protocol/hashes.ts";
import { RpcCode, RpcError } from "../../lib/protocol/jsonrpc.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  transactionSchema,
} from "../../lib/protocol/transaction.ts";
import {
  depositKey,
  Depositor,
  requireDepositTerms,
  wasCreditedBefore,
} from "../../services/bridge/depositor.ts";
import { onlyChain } from "../support/intents.ts";
import { withFaultPoints } from "../support/fault_points.ts";
import { signedRequest } from "../bridge/support.ts";
import { settled } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";

const CHAIN_ID = 1337;
const STEPS = 120;
const USERS = [1, 2, 3].map((n) => new LocalSigner(`0x${n.toString().padStart(64, "0")}`));

/** A chain that accepts deposits by the protocol, over a lossy network. */
class World implements SubmissionNode {
  readonly receipts = new Map<Hex, Receipt>();
  /** How often each external hash was credited. */
  readonly credited = new Map<Hex, number>();
  /** When a transaction for each external hash was last sent, Unix milliseconds. */
  readonly sentAtMs = new Map<Hex, number>();
  /** Share of calls that never arrive, and of answers that never come back. */
  lossRate = 0.2;
  up = true;
  readonly #used = new Set<Hex>();
  readonly #clock: FakeClock;
  readonly #random: RandomSource;

  constructor(clock: FakeClock, random: RandomSource) {
    this.#clock = clock;
    this.#random = random;
  }

  sendTransactionText(text: string): Promise<Receipt> {
    const tx = transactionSchema.parse(JSON.parse(text));
    assert.ok(tx.type === "Deposit");
    this.sentAtMs.set(tx.externalTxHash, this.#clock.now());
    // Some lost requests arrive late.
    if (this.#random() < this.lossRate) {
      this.#clock.after(this.#random() * 90_000, () => this.#late(tx));
    }
    return this.#call(() => this.#take(tx));
  }

  getTransaction(txHash: Hex): Promise<Receipt | null> {
    return this.#call(() => this.receipts.get(txHash) ?? null);
  }

  simulateTransactionText(): Promise<Receipt> {
    return Promise.reject(new RpcError(RpcCode.transactionRejected, "Refused"));
  }

  readonly url = "http://node";

  probe(): Promise<void> {
    return this.#call(() => {});
  }

  async #call<T>(work: () => T): Promise<T> {
    await Promise.resolve();
    const lost = () => !this.up || this.#random() < this.lossRate;
    if (lost()) throw new NodeUnreachableError("world", "request lost");
    const answer = work();
    if (lost()) throw new NodeUnreachableError("world", "answer lost");
    return answer;
  }

  /** The sender gets no answer. */
  #late(tx: Deposit): void {
    try {
      this.#take(tx);
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
    }
  }

  #take(tx: Deposit): Receipt {
    const txHash = hashTransaction(tx, CHAIN_ID);
    const earlier = this.receipts.get(txHash);
    if (earlier !== undefined) return earlier;
    // The node's clock may be this far behind without an alarm.
    const nodeMs = this.#clock.now() - CLOCK_DIFFERENCE_MAX_MS;
    if (Math.abs(nodeMs - tx.timestamp) > 60_000) {
      throw new RpcError(RpcCode.transactionRejected, "Timestamp is too far from now");
    }
    const blockNumber = this.receipts.size + 1;
    const receipt: Receipt = this.#used.has(tx.externalTxHash)
      ? {
        txHash,
        status: "failed",
        blockNumber,
        error: { code: "DEPOSIT_ALREADY_PROCESSED", message: "Used" },
      }
      : { txHash, status: "committed", blockNumber };
    if (receipt.status === "committed") {
      this.#used.add(tx.externalTxHash);
      this.credited.set(tx.externalTxHash, (this.credited.get(tx.externalTxHash) ?? 0) + 1);
    }
    this.receipts.set(txHash, receipt);
    return receipt;
  }
}

class Died extends Error {}

/** One bridge; after its death, nothing that its code still does reaches the store or the node. */
class Bridge {
  readonly depositor: Depositor;
  readonly #submitter: Submitter;
  readonly #retries: PollingLoop;
  #dead = false;
  #doomedAfter = Number.POSITIVE_INFINITY;

  constructor(store: IntentStore, world: World, clock: FakeClock, random: RandomSource) {
    const faults = () => {
      this.#doomedAfter -= 1;
      if (this.#doomedAfter < 0) this.#dead = true;
      if (this.#dead) throw new Died("Killed by the simulation");
    };
    const ownStore = withFaultPoints("store", store, faults);
    const node = withFaultPoints("node", world, faults);
    const signer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);
    const transactions = new TransactionBuilder(signer, CHAIN_ID, clock);
    this.#submitter = new Submitter({
      store: ownStore,
      node,
      clock,
      guard: onlyChain(clock),
      transactions,
      handler: {
        termsOf: (intent) => requireDepositTerms(intent, CHAIN_ID),
        wasDoneBefore: wasCreditedBefore,
      },
    });
    this.depositor = new Depositor({
      store: ownStore,
      submitter: this.#submitter,
      guard: { ...onlyChain(clock), requireChain: () => node.probe() },
      findNodeRefusal: () => Promise.resolve(undefined),
      transactions,
      chainId: CHAIN_ID,
      clock,
      onRefused() {},
    });
    const log = getLogger("test");
    this.#retries = createRetryLoop(this.#submitter, { store: ownStore, node, clock, random, log });
    this.#retries.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#submitter.stop(), this.#retries.stop()]);
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Dies after passing this many more places before or after a call. */
  doom(places: number): void {
    this.#doomedAfter = places;
  }
}

async function simulate(random: RandomSource): Promise<void> {
  const clock = new FakeClock();
  const world = new World(clock, random);
  const store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const start = () => new Bridge(store, world, clock, random);
  const bridges = [start(), start()];
  const below = (bound: number) => Math.floor(random() * bound);
  const requests: ReturnType<typeof newRequest>[] = [];
  const promised = new Set<string>();

  function newRequest() {
    const signer = USERS[below(USERS.length)] ?? assert.fail("There are users");
    const deadline = clock.now() + (random() < 0.5 ? 5_000 + below(20_000) : 200_000);
    const nonce = BigInt(below(1_000_000));
    const terms = { user: signer.address, amount: BigInt(1 + below(1_000)), nonce, deadline };
    return depositRequestSchema.parse(signedRequest(terms, { signer }));
  }

  const deposit = async (request: ReturnType<typeof newRequest>) => {
    const bridge = bridges[below(bridges.length)];
    // Errors are for callers; only promises made to them are checked here.
    await bridge?.depositor.deposit(request)
      .then(() => promised.add(depositKey(request.user, request.nonce)), () => {});
  };
  const asked: Promise<unknown>[] = [];

  const actions: (() => unknown)[] = [
    () => {
      const request = newRequest();
      requests.push(request);
      return deposit(request);
    },
    () => {
      const again = requests[below(requests.length)];
      return again && Promise.all([deposit(again), deposit(again)]);
    },
    () => clock.advance(below(3_000)),
    () => random() < 0.3 && clock.advance(below(90_000)),
    () => world.up = random() < 0.7,
    () => bridges[below(bridges.length)]?.doom(below(8)),
    () => {
      bridges.forEach((bridge, index) => {
        if (bridge.dead) bridges[index] = start();
      });
    },
  ];

  for (let step = 0; step < STEPS; step += 1) {
    // Not awaited: the next step may interrupt it.
    asked.push(Promise.resolve(actions[below(actions.length)]?.()));
    if (random() < 0.7) await settled(30);
  }

  world.up = true;
  world.lossRate = 0;
  await Promise.all(asked);
  bridges.push(start());
  for (let wait = 0; await store.countUnfinished() > 0; wait += 1) {
    assert.ok(wait < 60, "every deposit reaches a final state");
    await settled(30);
    clock.advance(10_000);
  }
  await settled(30);
  for (const request of requests) {
    const key = depositKey(request.user, request.nonce);
    const externalHash = externalHashOf(request, CHAIN_ID);
    const state = (await store.find(key))?.state;
    assert.equal(
      world.credited.get(externalHash) ?? 0,
      state === "committed" ? 1 : 0,
      `${key} is ${state}`,
    );
    const sentAtMs = world.sentAtMs.get(externalHash) ?? 0;
    assert.ok(sentAtMs <= request.deadline, `${key} was sent in time`);
    if (promised.has(key)) assert.equal(state, "committed", `${key} was promised`);
  }
  await Promise.all(bridges.map((bridge) => bridge.stop()));
  await store.close();
}

Deno.test("Depositor: after random losses, outages and crashes, every deposit ends once in its true state", () =>
  withSeed(async (random) => {
    for (let run = 0; run < 10; run += 1) await simulate(random);
  }));
