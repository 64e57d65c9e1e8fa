import assert from "node:assert/strict";
import { afterInput } from "../../../lib/clock.ts";
import { listen } from "../../../lib/http/listener.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { createNodeMetrics } from "../../../services/node/metrics.ts";
import {
  LATE_ANSWER_MAX_MS,
  OraclePoller,
  type PricesAnswer,
  readPrices,
} from "../../../services/node/oracle/oracle_poller.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { pricesBody, startFakeOracle } from "../support/fake_oracle.ts";
import { deposit, ETH, rfqSubmit } from "../support/actors.ts";
import { withSteppedNode } from "../support/stepped_node.ts";
import { eventually } from "../../support/eventually.ts";
import { withLogs } from "../../support/recorded_logs.ts";

const AWAY: PricesAnswer = { reason: "Connection refused" };
const ALL = "BTC/USDT, ETH/USDT, SOL/USDT";
const TIMEOUT_MS = 10;

/** A poller with an oracle that the test controls. */
class Scene {
  readonly clock = new FakeClock();
  readonly prices = new OraclePrices(3_000, SPEC_MARKETS);
  readonly metrics = createNodeMetrics(SPEC_MARKETS);
  /** The requests, in their order. */
  readonly signals: AbortSignal[] = [];
  answer: () => PricesAnswer | Promise<PricesAnswer> = () => AWAY;
  readonly poller = new OraclePoller({
    url: "http://operator:password@oracle",
    read: (signal) => {
      this.signals.push(signal);
      return Promise.resolve(this.answer());
    },
    timeoutMs: TIMEOUT_MS,
    prices: this.prices,
    clock: this.clock,
    metrics: this.metrics,
  });

  /** Pulls every 100 ms. @returns What was logged. */
  async run(pulls: number, answer: () => PricesAnswer): Promise<string[]> {
    this.answer = answer;
    let logged: string[] = [];
    await withLogs("info", async (records) => {
      for (let done = 0; done < pulls; done++) {
        await this.poller.poll();
        this.clock.advance(100);
      }
      logged = records.map(({ level, message, properties: { event } }) =>
        `${level} ${event}: ${message.join("")}`
      );
    });
    return logged;
  }

  /** Pulls without an answer in time. @returns Gives the answer. */
  async runLate(): Promise<(answer: PricesAnswer) => Promise<void>> {
    const { promise, resolve } = Promise.withResolvers<PricesAnswer>();
    this.answer = () => promise;
    const polling = this.poller.poll();
    this.clock.advance(TIMEOUT_MS);
    await polling;
    return async (answer) => {
      resolve(answer);
      await new Promise<void>(afterInput); // its own promises settle first
    };
  }

  readonly good = (): PricesAnswer => ({ body: pricesBody(this.clock.now()) });

  without(symbol: string): PricesAnswer {
    const body = pricesBody(this.clock.now());
    delete body.prices[symbol];
    return { body };
  }
}

const staleLog = (symbols: string, reason: string) =>
  `warning prices_stale: No fresh price of ${symbols} from the oracle at ` +
  `http://operator:password@oracle: ${reason}`;
const freshLog = (symbols: string) => `info prices_fresh: Fresh prices of ${symbols} again`;

Deno.test("OraclePoller: an oracle that never answered is reported once, when a price would be stale", async () => {
  const scene = new Scene();
  assert.deepEqual(await scene.run(31, () => AWAY), []);
  assert.deepEqual(await scene.run(1, () => AWAY), [staleLog(ALL, "Connection refused")]);
  assert.deepEqual(await scene.run(100, () => AWAY), []);
});

Deno.test("OraclePoller: prices in time and single failed pulls are not logged", async () => {
  const scene = new Scene();
  assert.deepEqual(await scene.run(20, () => AWAY), []);
  assert.deepEqual(await scene.run(20, scene.good), []);
  assert.deepEqual(await scene.run(20, () => AWAY), []);
  assert.deepEqual(await scene.run(1, scene.good), []);
});

Deno.test("OraclePoller: every outage is reported once, and its end once", async () => {
  const scene = new Scene();
  await scene.run(1, scene.good);
  for (let outage = 0; outage < 2; outage++) {
    assert.deepEqual(await scene.run(100, () => AWAY), [staleLog(ALL, "Connection refused")]);
    assert.deepEqual(await scene.run(10, scene.good), [freshLog(ALL)]);
  }
});

Deno.test("OraclePoller: a market missing in the oracle's answer is reported by name", async () => {
  const scene = new Scene();
  await scene.run(1, scene.good);
  const reports = await scene.run(40, () => scene.without("ETH/USDT"));
  assert.deepEqual(reports, [staleLog("ETH/USDT", "it answers without a fresh price")]);
  assert.deepEqual(await scene.run(100, () => AWAY), [
    staleLog("BTC/USDT, SOL/USDT", "Connection refused"),
  ]);
  assert.deepEqual(await scene.run(1, scene.good), [freshLog(ALL)]);
});

Deno.test("OraclePoller: the status has the age of each price, and the last success and failure", async () => {
  const scene = new Scene();
  const { clock, poller, metrics } = scene;
  const startMs = clock.now();
  const status = () => {
    const { state, markets, serviceUrl, maxStaleMs, ...pulls } = poller.viewStatus(clock.now());
    assert.deepEqual([serviceUrl, maxStaleMs], ["http://…@oracle", 3_000]);
    return { state, eth: markets["ETH/USDT"], ...pulls };
  };
  await scene.run(1, () => AWAY);
  assert.deepEqual(status(), {
    state: "stale",
    eth: { state: "stale", lastUpdate: null, ageMs: null },
    lastSuccess: null,
    lastFailure: { time: startMs, outcome: "error", reason: "Connection refused" },
    failuresInARow: 1,
  });
  await scene.run(1, scene.good);
  const lastSuccess = startMs + 100;
  const eth = { state: "fresh", lastUpdate: lastSuccess, ageMs: 100 };
  const { lastFailure: _, ...fresh } = status();
  assert.deepEqual(fresh, { state: "fresh", eth, lastSuccess, failuresInARow: 0 });
  await scene.run(2, () => ({ body: "no prices" }));
  const { lastFailure, failuresInARow } = status();
  const { time, outcome, reason } = lastFailure ?? assert.fail("It failed");
  assert.deepEqual([time, outcome, failuresInARow], [startMs + 300, "invalid", 2]);
  assert.equal(reason, "its answer has the wrong shape: Expected an object");
  const { values } = await metrics.pulls.get();
  assert.deepEqual(values.map(({ labels, value }) => [labels.outcome, value]), [
    ["error", 1],
    ["ok", 1],
    ["invalid", 2],
  ]);
});

Deno.test("OraclePoller: a late answer counts in the order of its pull, unless it is invalid", async () => {
  const scene = new Scene();
  const { clock, prices, poller, metrics } = scene;
  const known = () => prices.freshPrice(ETH, clock.now());
  const late = [await scene.runLate(), await scene.runLate(), await scene.runLate()];
  late.push(await scene.runLate());
  assert.equal(poller.viewStatus(0).lastFailure?.reason, "no answer within 10 ms");
  const [first, second, third, fourth] = late;
  await second!({ body: pricesBody(clock.now() - 1, { "ETH/USDT": 2n }) });
  await first!({ body: pricesBody(clock.now(), { "ETH/USDT": 1n }) });
  await third!({ body: { nothing: true } });
  assert.equal(known(), 2n, "a later pull was answered");
  // The `lastUpdate` of a median goes back if the oracle's sources change.
  await fourth!({ body: pricesBody(clock.now() - 2, { "ETH/USDT": 4n }) });
  assert.equal(known(), 4n);
  assert.equal((await metrics.lateAnswers.get()).values[0]?.value, 2);
  assert.equal(clock.pending, 0);
});

Deno.test("OraclePoller: on a busy machine, where refusals are late, a timeout names the last one until there is an answer", async () => {
  const scene = new Scene();
  const { clock, poller } = scene;
  const reason = () => poller.viewStatus(clock.now()).lastFailure?.reason;
  await (await scene.runLate())(AWAY);
  assert.equal(reason(), "no answer within 10 ms");
  const late = await scene.runLate();
  assert.equal(reason(), "no answer within 10 ms, and later: Connection refused");
  await late(scene.good());
  await scene.runLate();
  assert.equal(reason(), "no answer within 10 ms");
  clock.advance(LATE_ANSWER_MAX_MS);
});

Deno.test("OraclePoller: a request ends after a second, or when the poller is closed", async () => {
  const scene = new Scene();
  const { clock, poller, signals } = scene;
  for (const isClosed of [false, true]) {
    const answer = await scene.runLate();
    const signal = signals.at(-1) ?? assert.fail("Nothing was read");
    clock.advance(LATE_ANSWER_MAX_MS - TIMEOUT_MS - 1);
    assert.equal(signal.aborted, false);
    if (isClosed) poller.close();
    else clock.advance(1);
    assert.equal(signal.aborted, true);
    await answer(AWAY);
    assert.equal(clock.pending, 0);
  }
});

Deno.test("readPrices: every kind of failure of the oracle is a reason", async () => {
  const oracle = startFakeOracle();
  const { signal } = new AbortController();
  oracle.answer = () => new Response("busy", { status: 503 });
  assert.deepEqual(await readPrices(oracle.url, signal), { reason: "status 503" });
  oracle.answer = () => new Response("{");
  assert("reason" in await readPrices(oracle.url, signal));
  await oracle.stop();
  assert("reason" in await readPrices(oracle.url, signal), "nobody listens");
});

Deno.test("readPrices: an answer that stops halfway is aborted", async () => {
  const begun = Promise.withResolvers<void>();
  await using half = listen("127.0.0.1", 0, () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"prices":'));
        begun.resolve();
      },
    });
    return new Response(stream);
  });
  const controller = new AbortController();
  const reading = readPrices(half.url, controller.signal);
  await begun.promise;
  controller.abort();
  assert("reason" in await reading);
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
