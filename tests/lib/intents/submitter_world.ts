import { newIntent, onlyChain } from "../../support/intents.ts";
import { getLogger } from "@logtape/logtape";
import { type Hex, toWire } from "../../../lib/protocol/scalars.ts";
import { NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import {
  signTransaction,
  type Transaction,
  transactionSchema,
} from "../../../lib/protocol/transaction.ts";
import type { Intent, SignedTransactionText } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { Submitter } from "../../../lib/intents/submitter.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const signer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);

const TERMS = {
  type: "Deposit",
  user: signer.address,
  amount: 5n,
  externalTxHash: `0x${"ab".repeat(32)}`,
} as const;

/** A node in memory with the test's answers. */
class ScriptedNode {
  readonly url = "http://node";
  readonly sent: Transaction[] = [];
  readonly receipts = new Map<Hex, Receipt>();
  lookups = 0;
  onSend: (tx: Transaction) => Promise<Receipt> | Receipt = (tx) => this.commit(tx);
  onLookup: (txHash: Hex) => Receipt | null = (txHash) => this.receipts.get(txHash) ?? null;

  commit(tx: Transaction): Receipt {
    const { txHash } = signTransaction(tx, signer, 1337);
    const receipt: Receipt = { txHash, status: "committed", blockNumber: 1 };
    this.receipts.set(txHash, receipt);
    return receipt;
  }

  async sendTransactionText(text: string): Promise<Receipt> {
    const tx = transactionSchema.parse(JSON.parse(text));
    this.sent.push(tx);
    return await this.onSend(tx);
  }

  /** Time of the newest block. */
  headMs = 0;

  getHead() {
    return Promise.resolve({ number: 1, timestampMs: this.headMs });
  }

  async getTransaction(txHash: Hex): Promise<Receipt | null> {
    this.lookups += 1;
    return await this.onLookup(txHash);
  }
}

/** A node that cannot be reached. */
export const away = () => {
  throw new NodeUnreachableError("http://node", "test");
};

/** A submitter on a store in memory, a fake clock and a scripted node. */
export class World {
  readonly clock = new FakeClock();
  readonly store: IntentStore = new IntentStore(SqliteDriver.open(":memory:"), "test");
  readonly node = new ScriptedNode();
  readonly events: string[] = [];
  /** States of the intents that ended, as each submitter came to know of them. */
  readonly ended: string[] = [];
  readonly #waiting: (() => void)[] = [];
  sign: () => SignedTransactionText | Promise<SignedTransactionText> = () => this.signed();
  verify: () => void = () => {};
  readonly guard = onlyChain();
  readonly submitter = this.newSubmitter();

  newSubmitter(): Submitter {
    return new Submitter({
      store: this.store,
      node: this.node,
      clock: this.clock,
      random: () => 1,
      log: getLogger("test"),
      transactions: { sign: async () => await this.sign(), requireOwn: () => this.verify() },
      guard: this.guard,
      handler: {
        termsOf: () => TERMS,
        onRetry: (intent) => this.#report("retry", intent),
        onFinished: (intent) => this.#report("final", intent),
        onFoundFinished: ({ state }) => this.ended.push(state),
      },
    });
  }

  #report(event: string, { state }: Intent): void {
    this.events.push(`${event} ${state}`);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** A transaction with the present time. */
  signed(): SignedTransactionText {
    const { tx, txHash } = signTransaction(
      { ...TERMS, timestamp: this.clock.now(), from: signer.address },
      signer,
      1337,
    );
    return { txHash, text: JSON.stringify(toWire(tx)) };
  }

  /** Records an intent that may be sent for a minute. */
  async record(
    given: { key?: string; signed?: boolean; lifeMs?: number } = {},
  ): Promise<Intent> {
    const { intent } = await this.store.insert(newIntent(given.key ?? "k", {
      transaction: given.signed === false ? null : this.signed(),
      expiresAtMs: this.clock.now() + (given.lifeMs ?? 60_000),
      createdAtMs: this.clock.now(),
    }));
    return intent;
  }

  /** Resolves at the submitter's next event. */
  nextEvent(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Runs a test with a world, and stops its submitter. */
export async function withWorld(test: (world: World) => Promise<void>): Promise<void> {
  const world = new World();
  try {
    await test(world);
  } finally {
    await world.submitter.stop();
    await world.store.close();
  }
}
