/** What becomes of money is in the log, one line each; their fields: the tests of the logs. */
import assert from "node:assert/strict";
import type { LogRecord } from "@logtape/logtape";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { withLogs } from "../support/recorded_logs.ts";

/** The lines of solver and bridge: who, and which event. */
function eventsIn(records: readonly LogRecord[]): string[] {
  return records.filter(({ category }) => ["solver", "bridge"].includes(category[1] ?? ""))
    .map(({ level, category, properties }) => `${level} ${category[1]} ${properties.event}`);
}

Deno.test("Logs: a whole bet logs one line for each of its events, and nothing else", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const { urls } = stack;
  const wallet = privateKeyToAccount(generatePrivateKey());
  const client = new RangemakerClient({ urls, chainId: 1337, wallet });
  const { price } = await waitForPrices(urls, client, systemClock);
  const bet = (amount: bigint) => ({
    symbol: "ETH/USDT",
    lowerPrice: price / 2n,
    upperPrice: price * 2n,
    betAmount: amount,
    startTime: systemClock.now(),
    endTime: systemClock.now() + 3_000,
  });
  await withLogs("debug", async (records) => {
    await client.deposit(5_000_000n, 7n);
    await assert.rejects(client.deposit(5_000_000n, 7n), { code: "NONCE_USED" });
    const tooLarge = await client.quote(bet(6_000_000n));
    await assert.rejects(client.execute(tooLarge), { code: "INSUFFICIENT_BALANCE" });
    const offer = await client.quote(bet(1_000_000n));
    const { thesisId } = await client.execute(offer);
    await client.settled(thesisId, 10_000);
    await eventually(
      "the settlement is logged",
      () => eventsIn(records).some((event) => event.endsWith("settled")) || undefined,
    );
    assert.deepEqual(eventsIn(records), [
      "info bridge deposit_committed",
      "info bridge deposit_refused",
      "debug solver quoted",
      "info solver execution_refused",
      "debug solver quoted",
      "info solver execution_accepted",
      "info solver execution_hedged",
      "info solver execution_committed",
      "info solver thesis_settled",
    ]);
  });
});
