/**
 * The core node: settlement of 100,000 theses at once, and transactions through JSON-RPC with the
 * lateness of checkpoints meanwhile. Run with
 * `deno run --allow-all tests/bench/node_bench.ts [transactions]`.
 *
 * On two cores, with the load on the same machine: 100,000 theses settled within 2.2 s with no
 * checkpoint more than 75 ms late; 3,000 deposits and 1,900 bets a second in memory, 2,500 and
 * 1,400 on the disk, checkpoints within 20 ms of their time (p99.9). When the two cores were shared
 * with other work, transactions fell to a third, and that p99.9 rose to 0.25 s.
 */
import { setImmediate } from "node:timers";
import { monotonicClock, systemClock } from "../../lib/clock.ts";
import { toWire } from "../../lib/json.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import type { Transaction } from "../../lib/protocol/transaction.ts";
import { Chain, type ChainEvents } from "../../services/node/chain/chain.ts";
import { CheckpointLoop } from "../../services/node/chain/checkpoints.ts";
import { SETTLEMENT_MS } from "../../services/node/core_node.ts";
import { options, startNode } from "../../services/node/mod.ts";
import { OraclePrices } from "../../services/node/oracle/oracle_prices.ts";
import { resolveSettings } from "../../services/node/options.ts";
import { openStorage } from "../../services/node/store/storage.ts";
import { actors, CHAIN_ID, deposit, hashOf, rfqSubmit } from "../node/support/actors.ts";
import { pricesBody, startFakeOracle } from "../node/support/fake_oracle.ts";
import { postAll } from "./driver.ts";

const THESES = 100_000;
const transactions = Number(Deno.args[0] ?? 10_000);

const silent: ChainEvents = {
  onHead: () => {},
  onTransaction: () => {},
  onThesis: () => {},
  onMissingPrice: () => {},
};

/** Settles 100,000 theses that end together, while checkpoints continue in real time. */
async function benchSettlement(where: "memory" | "disk"): Promise<void> {
  const balances = new Map(
    [actors.solver, actors.user].map(({ address }) => [address, 10n ** 15n]),
  );
  const directory = await Deno.makeTempDir();
  const settings = resolveSettings(
    withDefaults(options, { chainId: CHAIN_ID, balances, minBet: 0n }),
    SPEC_MARKETS,
  );
  const clock = systemClock;
  const dataDir = where === "disk" ? directory : ":memory:";
  const storage = openStorage({ ...settings, dataDir }, clock);
  const feed = new OraclePrices(3_000, SPEC_MARKETS);
  const chain = new Chain({
    ...settings,
    clock,
    oraclePrices: feed,
    events: silent,
    records: storage.records,
  });
  const { state } = chain;
  // Late enough that all of them are open by then.
  const startTime = clock.now() + 20_000;
  const endTime = startTime + 2_000;
  const bet = { betAmount: 100n, payout: 110n, lowerPrice: 1n, upperPrice: 10n ** 12n };
  const tx = rfqSubmit({ timestamp: startTime, startTime, endTime, ...bet });
  storage.records.commits.change(() => {
    for (let number = 1; number <= THESES; number++) {
      const txHash = hashOf(number);
      const receipt = { txHash, status: "committed" as const, blockNumber: 1, thesisId: number };
      state.applyTransaction({ quoteHash: txHash, tx, receipt }, startTime);
    }
  });
  storage.records.commits.commit();

  const lateness: number[] = [];
  const done = Promise.withResolvers<void>();
  const loop = new CheckpointLoop(clock, monotonicClock, {
    pull() {
      feed.update(pricesBody(clock.now()), clock.now());
      return Promise.resolve();
    },
    seal(dueMs, lateMs) {
      lateness.push(lateMs);
      storage.afterCheckpoint(chain.checkpoint(dueMs));
      settleRest();
    },
    onMissed() {},
    onClockBehind() {},
    onClockAhead() {},
  });
  let isSettling = false;
  const settleRest = async () => {
    if (isSettling) return;
    isSettling = true;
    const untilMs = chain.head.timestampMs + SETTLEMENT_MS;
    while (chain.settleDue() && clock.now() < untilMs) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    isSettling = false;
    if (state.settlements.unsettledCount === 0) done.resolve();
  };
  loop.start();
  await done.promise;
  const tookMs = clock.now() - endTime;
  await loop.stop();
  await storage.close(chain.head);
  await Deno.remove(directory, { recursive: true });
  console.log(
    `${
      THESES.toLocaleString("en")
    } theses that end together, ${where}: settled ${tookMs} ms after ` +
      `their end; latest checkpoint of ${lateness.length}: ${Math.max(...lateness)} ms`,
  );
}

const CONCURRENCY = 16;

/** Long enough for all theses to be open while the load runs. */
const THESIS_MS = 120_000;

/** Transactions have a future time, within the limit of a node: signing takes a while. */
const AHEAD_MS = 50_000;

/** Bodies of `core_sendTransaction`, each with a transaction of its own. */
function signedBodies(sign: (number: number, timestamp: number) => Transaction): string[] {
  return Array.from({ length: transactions }, (_, number) => {
    const params = [toWire(sign(number, Date.now() + AHEAD_MS))];
    return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "core_sendTransaction", params });
  });
}

/** Signed transactions through HTTP, from a separate worker, while checkpoints continue. */
async function benchTransactions(where: "memory" | "disk"): Promise<void> {
  // Before the node starts, which has no time of this thread to lose.
  const loads = {
    Deposit: signedBodies((number, timestamp) =>
      deposit({
        timestamp,
        user: actors.user.address,
        amount: 10_000_000n,
        externalTxHash: hashOf(number),
      })
    ),
    RfqSubmit: signedBodies((number, timestamp) => {
      const terms = { betAmount: 100n, payout: 110n, upperPrice: 3_200_000_000n + BigInt(number) };
      return rfqSubmit({ timestamp, endTime: timestamp + THESIS_MS, ...terms });
    }),
  };
  const directory = await Deno.makeTempDir();
  const oracle = startFakeOracle();
  const node = await startNode(withDefaults(options, {
    port: 0,
    readPort: 0,
    oracleUrl: oracle.url,
    relayers: [actors.relayer.address],
    balances: new Map([[actors.solver.address, 10n ** 15n]]),
    minBet: 100n,
    dataDir: where === "disk" ? directory : ":memory:",
  }));
  for (const [type, bodies] of Object.entries(loads)) {
    const before = await latenessBuckets(node.url);
    const { perSecond } = await postAll({
      url: node.url,
      bodies,
      concurrency: CONCURRENCY,
      expected: '"committed"',
    });
    const after = await latenessBuckets(node.url);
    console.log(
      `${type} through JSON-RPC, ${where}: ${Math.round(perSecond)} a second; ` +
        describeLateness(before, after),
    );
  }
  await node.stop();
  await oracle.stop();
  await Deno.remove(directory, { recursive: true });
}

/** The cumulative counts of the lateness histogram, by upper bound in seconds. */
async function latenessBuckets(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const rows = text.matchAll(/^node_checkpoint_lateness_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  return new Map([...rows].map(([, bound, count]) => [bound!, Number(count)]));
}

function describeLateness(before: Map<string, number>, after: Map<string, number>): string {
  const counts = [...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)]);
  const total = Number(counts.at(-1)?.[1]);
  const boundOf = (share: number) =>
    counts.find(([, count]) => Number(count) >= share * total)?.[0];
  return `${total} checkpoints sealed within ${boundOf(0.5)} s (median), ${
    boundOf(0.99)
  } s (p99), ` +
    `${boundOf(0.999)} s (p99.9) of their time, the pull included`;
}

for (const where of ["memory", "disk"] as const) await benchSettlement(where);
for (const where of ["memory", "disk"] as const) await benchTransactions(where);
