import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { OraclePoller } from "../../../services/node/oracle/oracle_poller.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import type { PullResult } from "../../../services/node/oracle/oracle_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody } from "../support/fake_oracle.ts";
import { deposit, ETH, rfqSubmit } from "../support/actors.ts";
import { withSteppedNode } from "../support/stepped_node.ts";
import { eventually } from "../../support/eventually.ts";
import { withLogs } from "../../support/recorded_logs.ts";

const AWAY: PullResult = { failure: "error", reason: "Connection refused" };
const ALL = "BTC/USDT, ETH/USDT, SOL/USDT";

/** A poller with an oracle that the test controls, and its reports. */
function setUp() {
  const clock = new FakeClock();
  const prices = new OraclePrices(3_000, SPEC_MARKETS);
  const reports: string[] = [];
  const outcomes: string[] = [];
  let answer: () => PullResult = () => AWAY;
  const poller = new OraclePoller({
    url: "http://operator:password@oracle",
    pull: () => Promise.resolve(answer()),
    prices,
    clock,
    onPull: (outcome) => outcomes.push(outcome),
    onLatePrices: () => assert.fail("None is late"),
    onStale: (symbols, reason) => reports.push(`stale ${symbols.join(", ")}: ${reason}`),
    onFresh: (symbols) => reports.push(`fresh ${symbols.join(", ")}`),
  });
  return {
    clock,
    poller,
    outcomes,
    /** Pulls every 100 ms. @returns What was reported since the last call. */
    async run(pulls: number, answerOf: () => PullResult): Promise<string[]> {
      answer = answerOf;
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

Deno.test("OraclePoller: an oracle that never answered is reported once, when a price would be stale", async () => {
  const { run } = setUp();
  assert.deepEqual(await run(31, () => AWAY), []);
  assert.deepEqual(await run(1, () => AWAY), [`stale ${ALL}: Connection refused`]);
  assert.deepEqual(await run(100, () => AWAY), []);
});

Deno.test("OraclePoller: prices in time and single failed pulls are not logged", async () => {
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

Deno.test("OraclePoller: a market missing in the oracle's answer is reported by name", async () => {
  const { run, good, without } = setUp();
  await run(1, good);
  const reports = await run(40, () => without("ETH/USDT"));
  assert.deepEqual(reports, ["stale ETH/USDT: it answers without a fresh price"]);
  assert.deepEqual(await run(100, () => AWAY), ["stale BTC/USDT, SOL/USDT: Connection refused"]);
  assert.deepEqual(await run(1, good), [`fresh ${ALL}`]);
});

Deno.test("OraclePoller: the status has the age of each price, and the last success and failure", async () => {
  const { clock, poller, outcomes, run, good } = setUp();
  const startMs = clock.now();
  const status = () => {
    const { state, markets, serviceUrl, maxStaleMs, ...pulls } = poller.viewStatus(clock.now());
    assert.deepEqual([serviceUrl, maxStaleMs], ["http://…@oracle", 3_000]);
    return { state, eth: markets["ETH/USDT"], ...pulls };
  };
  await run(1, () => AWAY);
  assert.deepEqual(status(), {
    state: "stale",
    eth: { state: "stale", lastUpdate: null, ageMs: null },
    lastSuccess: null,
    lastFailure: { time: startMs, outcome: "error", reason: "Connection refused" },
    failuresInARow: 1,
  });
  await run(1, good);
  const lastSuccess = startMs + 100;
  const eth = { state: "fresh", lastUpdate: lastSuccess, ageMs: 100 };
  const { lastFailure: _, ...fresh } = status();
  assert.deepEqual(fresh, { state: "fresh", eth, lastSuccess, failuresInARow: 0 });
  await run(2, () => ({ body: "no prices" }));
  const { lastFailure, failuresInARow } = status();
  const { time, outcome } = lastFailure ?? assert.fail("It failed");
  assert.deepEqual([time, outcome, failuresInARow], [startMs + 300, "invalid", 2]);
  assert.deepEqual(outcomes, ["error", "ok", "invalid", "invalid"]);
});

Deno.test("OraclePoller: a late answer counts in the order of its pull, unless it is invalid", async () => {
  const clock = new FakeClock();
  const prices = new OraclePrices(3_000, SPEC_MARKETS);
  const late: ((body: unknown) => void)[] = [];
  let newer = 0;
  const poller = new OraclePoller({
    url: "http://oracle",
    pull: (onLate) => {
      late.push(onLate);
      return Promise.resolve({ failure: "timeout", reason: "no answer within 10 ms" });
    },
    prices,
    clock,
    onPull: () => {},
    onLatePrices: () => newer += 1,
    onStale: () => assert.fail("Prices that come late are fresh"),
    onFresh: () => assert.fail("They were never reported as stale"),
  });
  const known = () => prices.freshPrice(ETH, clock.now());
  for (let pull = 0; pull < 4; pull++) await poller.poll();
  const [first, second, third, fourth] = late;
  second!(pricesBody(clock.now() - 1, { "ETH/USDT": 2n }));
  first!(pricesBody(clock.now(), { "ETH/USDT": 1n }));
  third!({ nothing: true });
  assert.equal(known(), 2n, "a later pull was answered");
  // The `lastUpdate` of a median goes back if the oracle's sources change.
  fourth!(pricesBody(clock.now() - 2, { "ETH/USDT": 4n }));
  assert.equal(known(), 4n);
  assert.equal(newer, 2);
});

Deno.test("Node: a late answer is recorded by the next checkpoint, which settles the bet", () =>
  withSteppedNode(async ({ stepped, clock, oracle, client, node }) => {
    const timestamp = clock.now();
    await client.sendTransaction(deposit({ timestamp }));
    const { thesisId } = await client.sendTransaction(
      rfqSubmit({ timestamp, endTime: timestamp + 4_000 }),
    );
    let asked = Promise.withResolvers<void>();
    let late = Promise.withResolvers<Response>();
    oracle.answer = () => {
      asked.resolve();
      return late.promise;
    };
    const first = 3_000_000_000n;
    // More checkpoints than a price stays fresh for, all without an answer in time.
    for (let checkpoint = 1n; checkpoint <= 42n; checkpoint++) {
      await stepped.run(1, async () => {
        await asked.promise;
        clock.advance(10);
      });
      asked = Promise.withResolvers();
      const answered = late;
      late = Promise.withResolvers();
      const price = first + checkpoint;
      answered.resolve(Response.json(pricesBody(clock.now() - 10, { "ETH/USDT": price })));
      await eventually("the late price is known", async () => {
        const known = (await client.getPrices())["ETH/USDT"]?.price;
        return known === price;
      });
    }
    const { base, quote } = ETH;
    const page = await client.getPriceHistory({ base, quote, from: timestamp, to: clock.now() });
    assert.deepEqual(page.missing, []);
    const expected = page.prices.map((_, index) => first + BigInt(Math.max(0, index - 1)));
    assert.deepEqual(page.prices.map(({ price }) => price), expected);
    assert.equal((await client.getThesis(thesisId!))?.status, "won");
    const metrics = await (await fetch(`${node.url}/metrics`)).text();
    assert.match(metrics, /node_oracle_pulls_total\{outcome="timeout"\} 42\n/);
    assert.match(metrics, /node_oracle_late_answers_total 42\n/);
    late.resolve(new Response("the end"));
  }, { oracleTimeoutMs: 10 }));

Deno.test("Node: logs that prices are stale, with the oracle's failure, and that they are fresh again", () =>
  withLogs("info", (records) =>
    withSteppedNode(async ({ stepped, oracle }) => {
      const { answer } = oracle;
      oracle.answer = () => new Response("busy", { status: 503 });
      await stepped.run(3);
      oracle.answer = answer;
      await stepped.run(1);
      const logged = records.filter(({ properties }) => /^prices_/.test(String(properties.event)))
        .map(({ level, properties: { event, reason } }) => [level, event, reason]);
      assert.deepEqual(logged, [
        ["warning", "prices_stale", "status 503"],
        ["info", "prices_fresh", undefined],
      ]);
    }, { maxStaleMs: 100 })));
