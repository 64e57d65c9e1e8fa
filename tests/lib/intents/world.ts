import { getLogger } from "@logtape/logtape";
import { setImmediate } from "node:timers/promises";
import { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import type { Intent, SignedTransactionText } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { createRetryLoop } from "../../../lib/intents/retry_loop.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { Submitter } from "../../../lib/intents/submitter.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { toWire } from "../../../lib/json.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { COMMITTED, insertReserved, newIntent, onlyChain } from "../../support/intents.ts";
import { ScriptedNode } from "../../support/scripted_node.ts";
import { signTransaction } from "../../support/signing.ts";

const signer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);

const TERMS = {
  type: "Deposit",
  user: signer.address,
  amount: 5n,
  externalTxHash: `0x${"ab".repeat(32)}`,
} as const;

interface RecordOptions {
  signed?: boolean;
  lifeMs?: number;
  reserved?: boolean;
}

/** A store in memory, a fake clock, a scripted node, and what submits intents to it. */
export class World implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = getLogger(["rangemaker", "test"]);
  readonly driver = SqliteDriver.open(":memory:");
  readonly store: IntentStore = new IntentStore(this.driver, "test");
  readonly node = new ScriptedNode();
  readonly events: string[] = [];
  /** States of the intents that ended, as each submitter came to know of them. */
  readonly ended: string[] = [];
  readonly #waiting: (() => void)[] = [];
  sign: () => SignedTransactionText | Promise<SignedTransactionText> = () => this.signed();
  verify: () => void = () => {};
  wasDoneBefore: (receipt: Receipt) => boolean = () => false;
  /** What a service finds on the chain without a receipt. */
  onChain = false;
  /** How far the newest block is ahead of the clock. */
  blockAheadMs = 0;
  /** The guard of the submitters. */
  readonly guard = onlyChain({ now: () => this.clock.now() + this.blockAheadMs });
  readonly submitter = this.newSubmitter();
  readonly retries = createRetryLoop(this.submitter, { ...this, random: () => 1 });

  /** Resolves when nothing more happens before time passes. */
  async settled(): Promise<void> {
    let seen = "";
    for (let idle = 0; idle < 20; idle++) {
      await setImmediate();
      const state = `${this.node.sent.length} ${this.events.length} ${this.clock.pending}`;
      if (state !== seen) [seen, idle] = [state, 0];
    }
  }

  newSubmitter(): Submitter {
    const { store, node, clock, guard } = this;
    return new Submitter({
      store,
      node,
      clock,
      guard,
      transactions: { sign: async () => await this.sign(), requireOwn: () => this.verify() },
      handler: {
        termsOf: () => TERMS,
        wasDoneBefore: (receipt) => this.wasDoneBefore(receipt),
        onRetry: (intent) => this.#report("retry", intent),
        onFinishedByUs: (intent) => this.#report("final", intent),
        onFinished: ({ state }) => this.ended.push(state),
      },
    });
  }

  /** Like a restart of the process, which starts without a cache. */
  newGuard(store = this.store): ChainGuard {
    const { node, clock, log } = this;
    return new ChainGuard({
      store,
      node,
      chainId: 1337,
      clock,
      log,
      isOnChain: () => Promise.resolve(this.onChain),
    });
  }

  #report(event: string, { state }: Intent): void {
    this.events.push(`${event} ${state}`);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves at the next event of a submitter. */
  nextEvent(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A transaction with the present time. */
  signed(): SignedTransactionText {
    const unsigned = { ...TERMS, timestamp: this.clock.now(), from: signer.address };
    const { tx, txHash } = signTransaction(unsigned, signer, 1337);
    return { txHash, text: JSON.stringify(toWire(tx)) };
  }

  /** Records an intent that may be sent for a minute. */
  async record(
    key = "k",
    { signed = true, lifeMs = 60_000, reserved = false }: RecordOptions = {},
  ): Promise<Intent> {
    const intent = newIntent(key, {
      transaction: signed ? this.signed() : null,
      expiresAtMs: this.clock.now() + lifeMs,
      createdAtMs: this.clock.now(),
    });
    if (reserved) return await insertReserved(this.store, intent);
    return (await this.store.insert(intent)).intent;
  }

  async finish(key: string, receipt: string | null = null): Promise<Intent> {
    const outcome = { ...COMMITTED, receipt };
    const intent = await this.store.get(key);
    return (await this.store.finish(intent, outcome, this.clock.now())).intent;
  }

  /** Commits an intent on the node and in the store. */
  async commit(key: string): Promise<Intent> {
    const txHash: Hex = `0x${key.padStart(64, "0")}`;
    await this.store.insert(newIntent(key, { transaction: { txHash, text: "{}" } }));
    return await this.finish(key, JSON.stringify(this.node.addReceipt(txHash)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.submitter.stop(), this.retries.stop()]);
    await this.store.close();
  }
}

export async function withWorld(test: (world: World) => Promise<void>): Promise<void> {
  await using world = new World();
  await test(world);
}
