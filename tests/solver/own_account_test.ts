import assert from "node:assert/strict";
import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { OwnAccount } from "../../services/solver/own_account.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { accountOf, solver } from "./support.ts";

Deno.test("OwnAccount: while the node is away, the last balance is kept with its time", async () => {
  const clock = new FakeClock(5_000);
  let balance: bigint | undefined;
  const node = {
    getAccount(address: Address) {
      assert.equal(address, solver.address);
      if (balance === undefined) throw new NodeUnreachableError("http://node", "away");
      return Promise.resolve(accountOf(address, balance));
    },
  };
  const account = new OwnAccount(node, solver.address, clock);
  assert.deepEqual(await account.lastKnown(), { balance: 0n, readAtMs: null });
  balance = 7n;
  clock.advance(1_000);
  assert.deepEqual(await account.lastKnown(), { balance: 7n, readAtMs: 6_000 });
  balance = 8n;
  assert.equal((await account.read()).balance, 7n, "the node is asked once a second");
  balance = undefined;
  clock.advance(1_000);
  assert.deepEqual(await account.lastKnown(), { balance: 7n, readAtMs: 6_000 });
  await assert.rejects(account.read(), NodeUnreachableError);
});
