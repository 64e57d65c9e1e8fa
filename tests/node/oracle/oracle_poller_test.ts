import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { startNode } from "../../../services/node/mod.ts";
import { OraclePoller } from "../../../services/node/oracle/oracle_poller.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import type { PullResult } from "../../../services/node/oracle/pull.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody, startFakeOracle } from "../support/fake_oracle.ts";
import { testOptions } from "../support/running_node.ts";

const AWAY: PullResult = { failure: "error", reason: "Connection refused" };
const ALL = "BTC/USDT, ETH/USDT, SOL/USDT";

/** A poller whose oracle a test plays, and what it reported. */
function setUp() {
  const clock = new FakeClock();
  const prices = new OraclePrices(3_000);
  const reports: string[] = [];
  let answer: () => PullResult = () => AWAY;
  const poller = new OraclePoller({
    url: "http://oracle",
    pull: () => Promise.resolve(answer()),
    prices,
    clock,
    onStale: (symbols, reason) => reports.push(`stale ${symbols.join(", ")}: ${reason}`),
    onFresh: (symbols) => reports.push(`fresh ${symbols.join(", ")}`),
  });
  return {
    /** Pulls every 100 ms. @returns What was reported since the last call. */
    async run(pulls: number, with_: () => PullResult): Promise<string[]> {
      answer = with_;
      for (let done = 0; done < pulls; done++) {
        await poller.poll();
        clock.advance(100);
      }
      return reports.splice(0);
    },
    good: (): PullResult => ({ body: pricesBody(clock.now()) }),
    without(symbol: string): PullResult {
      const body = pricesBody(clock.now());
      delete body.prices[symbol];
      return { body };
    },
  };
}

Deno.test("OraclePoller: no oracle from the start is reported once, when a price would be stale", async () => {
  const { run } = setUp();
  assert.deepEqual(await run(31, () => AWAY), []);
  assert.deepEqual(await run(1, () => AWAY), [`stale ${ALL}: Connection refused`]);
  assert.deepEqual(await run(100, () => AWAY), []);
});

Deno.test("OraclePoller: prices in time are not reported, nor are single pulls that fail", async () => {
  const { run, good } = setUp();
  assert.deepEqual(await run(20, () => AWAY), []);
  assert.deepEqual(await run(20, good), []);
  assert.deepEqual(await run(20, () => AWAY), []);
  assert.deepEqual(await run(1, good), []);
});

Deno.test("OraclePoller: every outage is reported once, and its end once", async () => {
  const { run, good } = setUp();
  await run(1, good);
  for (let outage = 0; outage < 2; outage++) {
    assert.deepEqual(await run(100, () => AWAY), [`stale ${ALL}: Connection refused`]);
    assert.deepEqual(await run(10, good), [`fresh ${ALL}`]);
  }
});

Deno.test("OraclePoller: a market that the oracle leaves out is reported by name", async () => {
  const { run, good, without } = setUp();
  await run(1, good);
  const reports = await run(40, () => without("ETH/USDT"));
  assert.deepEqual(reports, ["stale ETH/USDT: the oracle answers without it"]);
  assert.deepEqual(await run(100, () => AWAY), ["stale BTC/USDT, SOL/USDT: Connection refused"]);
  assert.deepEqual(await run(1, good), [`fresh ${ALL}`]);
});

Deno.test("Node: its log says that prices are stale, why, and that they are back", async () => {
  const records: string[] = [];
  let heard = Promise.withResolvers<void>();
  const sink = ({ level, message }: LogRecord) => {
    const text = message.join("");
    if (!text.includes("resh price")) return;
    records.push(`${level}: ${text}`);
    heard.resolve();
  };
  await configure({
    reset: true,
    sinks: { memory: sink },
    loggers: [
      { category: LOG_ROOT, lowestLevel: "info", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  const oracle = startFakeOracle();
  const wellAnswer = oracle.answer;
  oracle.answer = () => new Response("busy", { status: 503 });
  const node = await startNode(testOptions({ oracleUrl: oracle.url, maxStaleMs: 100 }));
  try {
    await heard.promise;
    heard = Promise.withResolvers<void>();
    oracle.answer = wellAnswer;
    await heard.promise;
    const [stale = "", fresh] = records;
    assert(
      stale.startsWith(`warning: No fresh price of ${ALL} from the oracle at ${oracle.url}: `),
    );
    // A machine under load may not bring the answer in time.
    assert.match(stale, /: (status 503|no answer within 90 ms)$/);
    assert.equal(fresh, `info: Fresh prices of ${ALL} again`);
  } finally {
    await node.stop();
    await oracle.stop();
    await reset();
  }
});
