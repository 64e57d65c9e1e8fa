import { bytesToHex, concatHex, hexToBytes, numberToHex } from "viem/utils";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { keccak256 } from "../../../lib/protocol/keccak.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";

/** A sealed checkpoint. */
export interface Block {
  number: number;
  hash: Hex;
  parentHash: Hex;
  /** When the checkpoint was due, Unix milliseconds. */
  timestampMs: number;
  /** Hashes of its transactions, in the order they were applied. */
  transactions: readonly Hex[];
}

const ZERO_HASH: Hex = `0x${"0".repeat(64)}`;
const EMPTY_LIST_HASH: Hex = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;
const EMPTY_BLOOM: Hex = `0x${"0".repeat(512)}`;

/** Seals a block; its hash covers number, parent, time and transactions. */
export function sealBlock(
  number: number,
  parentHash: Hex,
  timestampMs: number,
  transactions: readonly Hex[],
): Block {
  const hash = hashOf([
    parentHash,
    numberToHex(number, { size: 8 }),
    numberToHex(timestampMs, { size: 8 }),
    ...transactions,
  ]);
  return { number, hash, parentHash, timestampMs, transactions };
}

function hashOf(parts: readonly Hex[]): Hex {
  return `0x${keccak256(hexToBytes(concatHex(parts))).toHex()}`;
}

/**
 * The block before the first checkpoint; its time is the start of the current slot. Its hash covers the
 * millisecond, so that two chains created in one slot can be told apart.
 */
export function genesisBlock(nowMs: number): Block {
  const block = sealBlock(0, ZERO_HASH, nowMs - nowMs % SLOT_MS, []);
  return { ...block, hash: hashOf([block.hash, numberToHex(nowMs, { size: 8 })]) };
}

/**
 * The header in Ethereum's format, as `newHeads` sends it, so that Ethereum clients can follow the
 * chain. They expect `timestamp` in seconds; `timestampMs` is exact. The chain has no state trie, no
 * gas and no proof of work: those members are zero.
 */
export function toHeader(block: Block) {
  return {
    number: numberToHex(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: numberToHex(Math.floor(block.timestampMs / 1000)),
    timestampMs: block.timestampMs,
    transactionsRoot: hashOf(block.transactions),
    stateRoot: ZERO_HASH,
    receiptsRoot: ZERO_HASH,
    sha3Uncles: EMPTY_LIST_HASH,
    logsBloom: EMPTY_BLOOM,
    miner: ZERO_ADDRESS,
    difficulty: "0x0",
    gasLimit: "0x0",
    gasUsed: "0x0",
    baseFeePerGas: "0x0",
    extraData: "0x",
    mixHash: ZERO_HASH,
    nonce: bytesToHex(new Uint8Array(8)),
  };
}

/** The block as `eth_getBlockByNumber` returns it, with transaction hashes only. */
export function toEthereumBlock(block: Block) {
  return {
    ...toHeader(block),
    size: "0x0",
    totalDifficulty: "0x0",
    uncles: [],
    transactions: block.transactions,
  };
}
