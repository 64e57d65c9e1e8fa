import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { Ledger } from "../../../services/node/chain/ledger.ts";
import { PriceHistory } from "../../../services/node/chain/price_history.ts";
import { ChainState, historiesOf } from "../../../services/node/chain/state.ts";
import { genesisRecordOf, Replay } from "../../../services/node/storage/replay.ts";
import { CHAIN_ID, hashOf } from "../support/actors.ts";
import { GENESIS } from "../support/test_chain.ts";

Deno.test("Replay: knows the highest block, the newest time and the last reservation, whatever their order", () => {
  const histories = historiesOf(SPEC_MARKETS, () => new PriceHistory(new PriceRing()));
  const settings = genesisRecordOf({ chainId: CHAIN_ID, genesis: GENESIS }, 1_000);
  const replay = new Replay(new ChainState(new Ledger(GENESIS), histories), settings, "/data");
  replay.apply(settings);
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
});
