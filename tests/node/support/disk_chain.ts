import assert from "node:assert/strict";
import type { Transaction } from "../../../lib/protocol/transaction.ts";
import { Chain } from "../../../services/node/chain/chain.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { pageOfTheses } from "../../../services/node/rpc/pages.ts";
import { KEEP_MS } from "../../../services/node/storage/compaction.ts";
import { DataDir } from "../../../services/node/storage/data_dir.ts";
import { openOnDisk } from "../../../services/node/storage/files.ts";
import type { FakeClock } from "../../support/fake_clock.ts";
import { actors, CHAIN_ID, deposit, hashOf, rfqSubmit } from "./actors.ts";
import { pricesBody } from "./fake_oracle.ts";
import { GENESIS } from "./test_chain.ts";

const { user, solver } = actors;

/** A chain in a directory, driven by hand. */
export class DiskChain {
  readonly dataDir: DataDir;
  readonly chain: Chain;

  constructor(path: string, readonly clock: FakeClock, openFile = openOnDisk) {
    const options = { chainId: CHAIN_ID, genesis: GENESIS, ringSlots: 1_024, clock, openFile };
    this.dataDir = DataDir.open(path, options);
    const { state, journal, createdAtMs, resumeFrom, numbers, archive } = this.dataDir;
    this.chain = new Chain({
      ...{ chainId: CHAIN_ID, clock, oraclePrices: new OraclePrices(3_000) },
      ...{ state, journal, createdAtMs, resumeFrom, numbers, archive },
      events: {
        onHead: () => {},
        onTransaction: () => {},
        onThesis: () => {},
        onMissingPrice: () => {},
        onJournalFailure: (thrown) => assert.fail(String(thrown)),
      },
    });
  }

  /** Moves on by checkpoints with a price of ETH. */
  run(checkpoints: number, price = 3_000_000_000n): void {
    for (let made = 0; made < checkpoints; made++) {
      this.clock.advance(100);
      const nowMs = this.clock.now();
      this.chain.oraclePrices.update(pricesBody(nowMs, { "ETH/USDT": price }), nowMs);
      this.chain.checkpoint(nowMs);
    }
  }

  deposit(number: number): Transaction {
    const timestamp = this.clock.now();
    const fields = { timestamp, user: user.address, amount: 5_000_000n };
    return this.submit(deposit({ ...fields, externalTxHash: hashOf(number) }));
  }

  bet(durationMs: number, number = 0): Transaction {
    const timestamp = this.clock.now();
    const betAmount = 1_000_000n + BigInt(number);
    return this.submit(
      rfqSubmit({ timestamp, endTime: timestamp + durationMs, betAmount, payout: 2_000_000n }),
    );
  }

  submit<T extends Transaction>(tx: T): T {
    const receipt = this.chain.submit(tx);
    assert.equal(receipt.status, "committed", receipt.error?.message);
    return tx;
  }

  /** All that callers can read. */
  view(txs: readonly Transaction[]) {
    const { ledger } = this.chain.state;
    assert.equal(ledger.holdings, ledger.issued);
    return {
      accounts: [user, solver].map(({ address }) => ledger.account(address)),
      issued: ledger.issued,
      theses: pageOfTheses(ledger, this.chain.archive, { limit: 1_000 }),
      each: Array.from({ length: ledger.lastThesisId }, (_, index) => this.chain.thesis(index + 1)),
      receipts: txs.map((tx) => this.chain.submit(tx)),
    };
  }

  /** Rewrites the journal; after every record, everything else has a turn. */
  async rewrite(nextTurn: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.dataDir.rewrite(this.clock.now() - KEEP_MS, { sliceMs: 0, nextTurn });
  }

  async close(): Promise<void> {
    await this.dataDir.close(this.chain.head);
  }
}

/** A chain with deposits, won, lost and open bets, half of them older than what memory keeps. */
export function someHistory(disk: DiskChain): Transaction[] {
  const txs: Transaction[] = [];
  for (let half = 0; half < 2; half++) {
    disk.run(1);
    for (let number = 1; number <= 6; number++) txs.push(disk.deposit(10 * half + number));
    for (let number = 1; number <= 5; number++) txs.push(disk.bet(500, number));
    disk.run(8, half === 0 ? undefined : 9_000_000_000n);
    disk.run(3);
    txs.push(disk.bet(3_600_000 * (half + 1), 7));
    if (half === 0) disk.clock.jump(KEEP_MS + 1_000);
  }
  disk.run(1);
  return txs;
}
