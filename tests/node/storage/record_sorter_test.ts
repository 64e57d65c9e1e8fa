/** Which records a rewrite of the journal keeps, and how it sums up the others. */
import assert from "node:assert/strict";
import {
  DROPPED_PER_RECORD,
  type JournalRecord,
  type TransactionRecord,
} from "../../../services/node/chain/journal.ts";
import { RecordSorter } from "../../../services/node/storage/record_sorter.ts";
import { actors, backfill, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { TestChain } from "../support/test_chain.ts";

const { user } = actors;

function recordOf(tx: TransactionRecord["tx"], number = 1): TransactionRecord {
  const receipt = { txHash: hashOf(number), status: "committed" as const, blockNumber: 1 };
  return { kind: "transaction", atMs: tx.timestamp, tx, receipt };
}

Deno.test("RecordSorter: keeps a backfill while the ring or an open thesis reads one of its prices", () => {
  const test = new TestChain({ ringSlots: 64, maxStaleMs: 0 });
  test.run(1);
  const { now: from, chain } = test;
  chain.submit(
    deposit({ timestamp: from, user: user.address, amount: 5_000_000n, externalTxHash: hashOf(1) }),
  );
  const to = from + 1_000;
  chain.submit(rfqSubmit({ timestamp: from, startTime: from, endTime: to }));
  test.run(1, null); // the thesis stays open
  test.run(200);
  const { oldest } = chain.state.historyOf(ETH).ring;
  const sorter = new RecordSorter(chain.state, test.now + 1);
  const isKept = (startTime: number, endTime: number) => {
    const prices = Array<bigint>((endTime - startTime) / 100).fill(1n);
    return sorter.keep(recordOf(backfill({ timestamp: from, startTime, prices }))) !== undefined;
  };
  for (
    const [startTime, endTime, expected] of [
      [from - 500, from, false],
      [from - 500, from + 100, true],
      [to - 100, to + 500, true],
      [to, to + 500, false],
      [oldest - 500, oldest, false],
      [oldest - 500, oldest + 100, true],
    ] as const
  ) {
    assert.equal(isKept(startTime, endTime), expected, `${startTime - from} to ${endTime - from}`);
  }
});

Deno.test("RecordSorter: sums up deposits of more accounts than one record takes, each once", () => {
  const { chain: { state }, now: timestamp } = new TestChain();
  const sorter = new RecordSorter(state, timestamp + 1);
  const tx = deposit({ timestamp, user: user.address, amount: 3n, externalTxHash: hashOf(1) });
  const count = DROPPED_PER_RECORD + 1;
  for (let number = 1; number <= count; number++) {
    const address = `0x${number.toString(16).padStart(40, "0")}` as const;
    const each = { ...tx, user: address, externalTxHash: hashOf(number) };
    assert.equal(sorter.keep(recordOf(each, number)), undefined);
  }
  const summary: JournalRecord[] = [...sorter.summary()];
  const changes = summary.flatMap((record) =>
    record.kind === "dropped" ? Object.entries(record.balances) : []
  );
  assert.deepEqual([changes.length, new Map(changes).size], [count, count]);
  assert.ok(changes.every(([, change]) => change === 3n));
  const hashes = summary.flatMap((record) =>
    record.kind === "deposits" ? record.externalTxHashes : []
  );
  assert.deepEqual([hashes.length, new Set(hashes).size], [count, count]);
});
