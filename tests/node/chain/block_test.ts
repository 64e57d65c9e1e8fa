import assert from "node:assert/strict";
import { encodeRlp, keccak256 } from "ethers";
import {
  BlockLog,
  genesisBlock,
  sealBlock,
  toEthereumBlock,
} from "../../../services/node/chain/block.ts";
import type { ResumePoint } from "../../../services/node/store/chain_records.ts";
import { deposit, hashOf } from "../support/actors.ts";
import { MemoryChain, withDiskChain } from "../support/chains.ts";

Deno.test("Chain: each block has the hash of its parent, and old blocks are dropped", () => {
  const test = new MemoryChain();
  test.run(4_100, null);
  const { head } = test.chain;
  assert.equal(head.number, 4_100);
  const parents = test.heads.slice(1).map(({ parentHash }) => parentHash);
  assert.deepEqual(parents, test.heads.slice(0, -1).map(({ hash }) => hash));
  assert.equal(test.chain.blocks.findBlock(head.number - 1)?.hash, head.parentHash);
  assert.equal(test.chain.blocks.findBlock(4), undefined);
  assert.equal(test.chain.blocks.findBlock(5)?.number, 5);
  assert.equal(new Set(test.heads.map(({ hash }) => hash)).size, 4_100);
});

Deno.test("Chain: a block contains each transaction since the previous block once", () => {
  const test = new MemoryChain();
  const hashes = [1, 2, 3].map((number) => {
    const { txHash } = test.deposit(number);
    if (number !== 1) test.run(1);
    return txHash;
  });
  test.run(1);
  const sealed = test.heads.map(({ transactions }) => transactions);
  assert.deepEqual(sealed, [hashes.slice(0, 2), hashes.slice(2), []]);
});

Deno.test("Chain: a block contains transactions that were not committed when it was due, under the number in their receipts", () =>
  withDiskChain((disk) => {
    const tx = deposit({ timestamp: disk.clock.now(), externalTxHash: hashOf(1) });
    const { txHash } = disk.chain.submit(tx);
    disk.run(1);
    const { number, transactions } = disk.chain.head;
    assert.deepEqual(transactions, [txHash]);
    assert.equal(disk.chain.findReceipt(txHash)?.blockNumber, number);
  }));

Deno.test("Chain: checkpoints without prices advance the time, also of the price history", () => {
  const test = new MemoryChain({ maxStaleMs: 0 });
  test.run(1);
  test.run(3, null);
  for (const { ring } of test.chain.state.histories.values()) assert.equal(ring.newestMs, test.now);
});

const T = 1_700_000_000_000;

/** The log of a chain that was created at T, by default then. */
function blockLog(given: Partial<ConstructorParameters<typeof BlockLog>[0]> = {}): BlockLog {
  const reservedTo = () => Infinity;
  return new BlockLog({ nowMs: T, createdAtMs: T, resumeFrom: undefined, reservedTo, ...given });
}

Deno.test("BlockLog: after a restart the chain continues above every block number that it may have announced", () => {
  const genesis = genesisBlock(T);
  const headAfter = (resumeFrom: ResumePoint | undefined, nowMs: number) => {
    const log = blockLog({ nowMs, resumeFrom });
    assert.equal(log.findBlock(log.head.number), log.head);
    return log.head;
  };
  assert.deepEqual(headAfter(undefined, T + 5_000), genesis);
  const { timestampMs, hash } = genesisBlock(T + 30);
  assert.deepEqual([timestampMs, hash === genesis.hash], [T, false], "of another chain");
  const head = sealBlock(7, genesis.hash, T + 700, []);
  assert.equal(headAfter({ head, announcedTo: 7 }, T + 5_000).number, 8);
  const above = headAfter({ head, announcedTo: 8 }, T + 5_050);
  assert.deepEqual(above, sealBlock(9, head.hash, T + 5_000, []));
  const setBack = headAfter({ head, announcedTo: 8 }, T);
  assert.equal(setBack.timestampMs, head.timestampMs);
});

Deno.test("BlockLog: a block waits with its transactions until its number is reserved", () => {
  let reserved = 1;
  const log = blockLog({ reservedTo: () => reserved });
  const first = log.seal(T + 100);
  log.add(hashOf(1));
  assert.equal(log.seal(T + 200), undefined);
  assert.equal(log.head, first);
  reserved = 2;
  assert.deepEqual(log.seal(T + 300)?.transactions, [hashOf(1)]);
});

Deno.test("BlockLog: a position is restored with its pending transactions; the first block is always kept", () => {
  const log = blockLog();
  const { head: genesis } = log;
  log.add(hashOf(1));
  const { position } = log;
  log.add(hashOf(2));
  assert.deepEqual(position, { head: genesis, pending: [hashOf(1)] });
  for (let number = 1; number <= 4_096; number++) log.seal(T + 100 * number);
  assert.equal(log.findBlock(0), genesis);
  log.restore(position);
  assert.equal(log.findBlock(1), undefined);
  assert.deepEqual(log.position, position);
  const [first, second] = [log.seal(T + 100), log.seal(T + 200)];
  log.restore({ head: second!, pending: [] });
  assert.deepEqual([log.findBlock(1), log.findBlock(2)], [first, second]);
});

Deno.test("toEthereumBlock: go-ethereum reads it: the roots of empty lists are Ethereum's", () => {
  // Made with ethers: the hash of the RLP of an empty list, and of an empty string.
  const [uncles, transactions] = [keccak256(encodeRlp([])), keccak256(encodeRlp("0x"))];
  const empty = toEthereumBlock(sealBlock(300, hashOf(1), T + 1_900, []));
  assert.deepEqual([empty.sha3Uncles, empty.transactionsRoot], [uncles, transactions]);
  const full = toEthereumBlock(sealBlock(300, hashOf(1), T + 1_900, [hashOf(2)]));
  assert.notEqual(full.transactionsRoot, transactions);
});

Deno.test("toEthereumBlock: hashes, address and bloom have the sizes that Ethereum clients expect", () => {
  const block = toEthereumBlock(sealBlock(300, hashOf(1), T + 1_900, [hashOf(2)]));
  const roots = ["stateRoot", "receiptsRoot", "transactionsRoot"];
  const bytes: [size: number, names: string[]][] = [
    [32, ["hash", "parentHash", "sha3Uncles", "mixHash", ...roots]],
    [20, ["miner"]],
    [256, ["logsBloom"]],
    [8, ["nonce"]],
  ];
  for (const [size, names] of bytes) {
    const isOfSize = new RegExp(`^0x[0-9a-f]{${2 * size}}$`);
    for (const name of names) assert.match(String(Object(block)[name]), isOfSize, name);
  }
  assert.deepEqual([block.number, Number(block.timestamp)], ["0x12c", T / 1_000 + 1]);
});
