import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { startNode } from "../../../services/node/mod.ts";
import { OracleFeed } from "../../../services/node/oracle/oracle_feed.ts";
import type { PullResult } from "../../../services/node/oracle/oracle_pull.ts";
import { OracleStatus } from "../../../services/node/oracle/oracle_status.ts";
import { PricePuller } from "../../../services/node/oracle/price_puller.ts";
import { PriceWatch } from "../../../services/node/oracle/price_watch.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody, startFakeOracle } from "../support/fake_oracle.ts";
import { testOptions } from "../support/running_node.ts";

const AWAY: PullResult = { failure: "error", reason: "Connection refused" };
const ALL = "BTC/USDT, ETH/USDT, SOL/USDT";

/** A puller whose oracle a test plays, and what it told of the prices. */
function setUp() {
  const clock = new FakeClock();
  const feed = new OracleFeed(3_000);
  const status = new OracleStatus("http://oracle", feed);
  const told: string[] = [];
  let answer: () => PullResult = () => AWAY;
  const watch = new PriceWatch(feed, {
    onStale: (symbols) => told.push(`stale ${symbols.join(", ")}: ${status.reason}`),
    onFresh: (symbols) => told.push(`fresh ${symbols.join(", ")}`),
  });
  const pull = () => Promise.resolve(answer());
  const puller = new PricePuller({ pull, feed, status, watch, clock, onPull() {} });
  return {
    /** Pulls every 100 ms, and takes what was told since the last time. */
    async run(pulls: number, with_: () => PullResult): Promise<string[]> {
      answer = with_;
      for (let done = 0; done < pulls; done++) {
        await puller.run();
        clock.advance(100);
      }
      return told.splice(0);
    },
    good: (): PullResult => ({ body: pricesBody(clock.now()) }),
    without(symbol: string): PullResult {
      const body = pricesBody(clock.now());
      delete body.prices[symbol];
      return { body };
    },
  };
}

Deno.test("PriceWatch: no oracle from the start is told once, after the time that a price lives", async () => {
  const { run } = setUp();
  assert.deepEqual(await run(31, () => AWAY), []);
  assert.deepEqual(await run(1, () => AWAY), [`stale ${ALL}: Connection refused`]);
  assert.deepEqual(await run(100, () => AWAY), []);
});

Deno.test("PriceWatch: prices that come in time are no news, nor are single pulls that fail", async () => {
  const { run, good } = setUp();
  assert.deepEqual(await run(20, () => AWAY), []);
  assert.deepEqual(await run(20, good), []);
  assert.deepEqual(await run(20, () => AWAY), []);
  assert.deepEqual(await run(1, good), []);
});

Deno.test("PriceWatch: every outage is told once, and its end once", async () => {
  const { run, good } = setUp();
  await run(1, good);
  for (let outage = 0; outage < 2; outage++) {
    assert.deepEqual(await run(100, () => AWAY), [`stale ${ALL}: Connection refused`]);
    assert.deepEqual(await run(10, good), [`fresh ${ALL}`]);
  }
});

Deno.test("PriceWatch: one market that the oracle leaves out is told by its name", async () => {
  const { run, good, without } = setUp();
  await run(1, good);
  const told = await run(40, () => without("ETH/USDT"));
  assert.deepEqual(told, ["stale ETH/USDT: the oracle answers without it"]);
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
