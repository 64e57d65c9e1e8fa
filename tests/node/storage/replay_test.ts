import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { recordToJson } from "../../../services/node/chain/journal.ts";
import { Ledger } from "../../../services/node/chain/ledger.ts";
import { PriceHistory } from "../../../services/node/chain/price_history.ts";
import { ChainState, historiesOf } from "../../../services/node/chain/state.ts";
import { genesisRecordOf, Replay } from "../../../services/node/storage/replay.ts";
import { actors, CHAIN_ID, deposit, hashOf } from "../support/actors.ts";
import { GENESIS } from "../support/test_chain.ts";

const SETTINGS = genesisRecordOf({ chainId: CHAIN_ID, genesis: GENESIS }, 1_000);

function newReplay(): Replay {
  const histories = historiesOf(SPEC_MARKETS, () => new PriceHistory(new PriceRing()));
  return new Replay(new ChainState(new Ledger(GENESIS), histories), SETTINGS, "/data");
}

Deno.test("Replay: knows the highest block, the newest time and the last reservation, whatever their order", () => {
  const replay = newReplay();
  replay.apply(SETTINGS);
  const failure = (blockNumber: number, atMs: number) => {
    const receipt = { txHash: hashOf(blockNumber), status: "failed" as const, blockNumber };
    replay.apply({ kind: "failure", atMs, receipt });
  };
  const known = () => [replay.lastBlockNumber, replay.lastMs, replay.reservedTo];
  assert.deepEqual(known(), [0, 0, 0]);
  failure(7, 6_000);
  failure(8, 4_000);
  failure(6, 5_000);
  replay.apply({ kind: "reservation", upTo: 50 });
  replay.apply({ kind: "reservation", upTo: 40 });
  assert.deepEqual(known(), [8, 6_000, 40]);
  const fields = { timestamp: 7_000, user: actors.user.address, amount: 5n };
  const tx = deposit({ ...fields, externalTxHash: hashOf(9) });
  const receipt = { txHash: hashOf(10), status: "committed" as const, blockNumber: 9 };
  replay.apply({ kind: "transaction", atMs: 7_000, tx, receipt });
  assert.deepEqual(known(), [9, 7_000, 40]);
});

Deno.test("Replay: the first record has to be this chain's, created at any time and rewritten or not", () => {
  const replay = newReplay();
  const refused = {
    name: "DataDirError",
    message: /^\/data contains a chain with another genesis/,
  };
  const others = [{ ...SETTINGS, chainId: 2 }, { kind: "reservation" as const, upTo: 1 }];
  for (const other of others) assert.throws(() => replay.apply(other), refused);
  assert.equal(replay.genesis, undefined);
  const first = { ...SETTINGS, createdAtMs: 5, rewrites: 3 };
  replay.apply(first);
  assert.equal(replay.genesis, first);
});

Deno.test("Replay: the length that was synced counts for the journal of the head, not for a rewritten one", () => {
  const replay = newReplay();
  replay.apply({ ...SETTINGS, rewrites: 3 });
  const headOf = (rewrites: number) => ({
    ...{ number: 1, hash: hashOf(1), parentHash: hashOf(0), timestampMs: 1_000 },
    journal: { rewrites, bytes: 77 },
  });
  assert.equal(replay.syncedBytes(undefined), 0);
  assert.equal(replay.syncedBytes(headOf(3)), 77);
  assert.equal(replay.syncedBytes(headOf(2)), 0);
  const lost = { name: "DataDirError", message: /its journal is missing, empty or an older one/ };
  assert.throws(() => replay.syncedBytes(headOf(4)), lost);
  assert.throws(() => newReplay().syncedBytes(headOf(0)), lost);
});

Deno.test("Replay: the record of a genesis has its accounts in order, whatever that of the settings", () => {
  const addresses = [actors.user.address, actors.solver.address, actors.relayer.address];
  const recordOf = (order: readonly Address[]) => {
    const balances = new Map(order.map((address) => [address, 5n]));
    const genesis = { balances, relayers: [...order], admins: [...order] };
    return recordToJson(genesisRecordOf({ chainId: CHAIN_ID, genesis }, 1));
  };
  const text = recordOf(addresses);
  assert.equal(recordOf(addresses.toReversed()), text);
  const sorted = addresses.toSorted();
  const { balances, relayers, admins } = JSON.parse(text);
  assert.deepEqual([Object.keys(balances), relayers, admins], [sorted, sorted, sorted]);
});
