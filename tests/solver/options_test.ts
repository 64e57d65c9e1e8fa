import assert from "node:assert/strict";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { listen } from "../../lib/http/listener.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { recoverSigner } from "../../lib/protocol/signature.ts";
import { toWire } from "../../lib/json.ts";
import { options, type SolverOptions } from "../../services/solver/mod.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { eventually, isSettled } from "../support/eventually.ts";
import {
  effectsOfListening,
  everyOption,
  listening,
  type Observe,
  RATE_LIMITS,
  refusalsOfTen,
  writeKeystore,
} from "../support/every_option.ts";
import { FakeClock } from "../support/fake_clock.ts";
import type { FakeNode } from "../support/fake_node.ts";
import { tomlOf, withFolder } from "../support/files.ts";
import { startFakeCandles } from "./market/fake_candles.ts";
import {
  execution,
  giveHistory,
  publishPrice,
  quoteRequest,
  solver,
  SOLVER_BALANCE,
  SPOT,
  startFundedNode,
  startTestSolver,
  thesisOf,
} from "./support.ts";

const CHAIN_ID = 4_242;

const other = SPEC_MARKETS.bySymbol("SOL/USDT") ?? assert.fail("SOL/USDT is a market");

const KEY = DEV_ACCOUNTS.admin;

/** The markets of the specification without BTC/USDT. */
const MARKETS = tomlOf(SPEC_MARKETS.list.filter(({ symbol }) => symbol !== "BTC/USDT"));

const detailsSchema = z.looseObject({
  probability: z.number(),
  chargedProbability: z.number(),
  volatility: z.number(),
  margin: z.number(),
  skew: z.number(),
});

type Effects = Parameters<Observe<typeof options>>[1];

/** Starts a solver with some options, and observes their effects. */
type Start = (
  values: Partial<SolverOptions>,
  look: (url: string, node: FakeNode) => Promise<Effects>,
  given?: { node?: FakeNode; clock?: FakeClock },
) => Promise<void>;

Deno.test(
  "Solver: every option has its effect",
  everyOption(options, async (observe) => {
    const start: Start = async (values, look, given = {}) => {
      await using node = given.node ?? startFundedNode();
      await using solver = await startTestSolver(node, values, given.clock);
      await observe(values, await look(solver.url, node));
    };
    await withFolder((folder) => startWithPrices(start, folder));
    await startWithClock(start);
    await startWithHedge(start);
    await startDry(start);
    for (const { given, refused } of RATE_LIMITS) {
      await start(given, async (url) => {
        const counted = await refusalsOfTen(url, "/theses");
        const isLimited = () => assert.deepEqual(counted, refused);
        return { rateLimit: isLimited, trustProxy: isLimited, rateLimitTotal: isLimited };
      });
    }
  }),
);

/** The options of a solver that prices by its model, with a file for each that names one. */
async function pricedOptions(folder: string) {
  const markets = `${folder}/markets.toml`;
  await Deno.writeTextFile(markets, MARKETS);
  return {
    ...listening(),
    markets,
    privateKey: undefined,
    ...await writeKeystore(folder, KEY.privateKey),
    chainId: CHAIN_ID,
    database: `${folder}/solver.sqlite`,
    multiplier: 3,
    maxExposure: 1_000_000_000n,
    pricing: "barrier",
    margin: 0.2,
    userLeadMs: 0,
    skew: 0.25,
    volatilityFloor: 3,
    volatilityHistoryMs: 1_000,
    maxPriceAgeMs: 3_000,
    minDurationMs: 5_000,
    minWidthTicks: 10,
    maxStartAheadMs: 1_000_000,
    maxStartBehindMs: 5_000,
    maxDeadlineMs: 100_000,
  };
}

/** A node with 20 s of prices and a bet that fills half of --max-exposure. */
function startNodeWithPrices(): FakeNode {
  const node = startFundedNode(CHAIN_ID);
  node.credited.set(KEY.address, SOLVER_BALANCE);
  giveHistory(node, 20_000);
  const open = {
    payout: 500_000_100n,
    lowerPrice: BigInt(SPOT - 1),
    upperPrice: BigInt(SPOT + 1),
    solver: KEY.address,
    endTime: Date.now() + 3_600_000,
  };
  const theses = [toWire(thesisOf(1, open))];
  node.methods.set("core_getTheses", () => ({ theses, nextCursor: null }));
  return node;
}

type Ask = (fields?: Record<string, unknown>, route?: string) => Promise<Answer>;

/** Asks for a bet on a fresh price, once there is one. @returns The answer, refused or not. */
function askWithPrices(node: FakeNode, ask: Ask): Ask {
  return (fields, route) =>
    eventually("prices and their history", async () => {
      publishPrice(node);
      publishPrice(node, SPOT, 4_000, other);
      const answer = await ask(fields, route);
      const isEarly = /known yet|too short|ms ago|RATE/.test(String(answer.body.error));
      return isEarly ? undefined : answer;
    });
}

async function startWithPrices(start: Start, folder: string): Promise<void> {
  const given = startNodeWithPrices();
  const values = { ...await pricedOptions(folder), rpcUrl: given.url, wsUrl: given.wsUrl };
  await start(values, async (url, node) => {
    const ask: Ask = (fields = {}, route = "estimate") => {
      const range = { lowerPrice: String(SPOT * 0.998), upperPrice: String(SPOT * 1.002) };
      const { user, ...request } = quoteRequest({
        ...range,
        ...from(Date.now() + 1_000),
        ...fields,
      });
      return post(`${url}/${route}`, { ...request, ...(route === "quote" && { user }) });
    };
    const answered = askWithPrices(node, ask);
    await node.feed.subscribed("prices");
    await eventually("the open theses", async () => {
      const { complete } = await (await fetch(`${url}/theses`)).json();
      return complete;
    });
    return {
      ...await effectsOnService(url, values),
      ...await effectsOnPrices(answered, values),
      ...effectsOnRefusals(ask, answered),
      rpcUrl: () => assert(node.calls.has("core_getPriceHistory")),
    };
  }, { node: given });
}

type Values = Awaited<ReturnType<typeof pricedOptions>>;

/** A window of 20 s. */
const from = (startTime: number) => ({ startTime, endTime: startTime + 20_000 });

async function effectsOnService(url: string, values: Values): Promise<Effects> {
  const info = await (await fetch(`${url}/info`)).json();
  const isKeystores = () => assert.equal(info.address, KEY.address);
  return {
    ...effectsOfListening(url, values, "/info"),
    keystore: isKeystores,
    keystorePasswordFile: isKeystores,
    database: async () => assert((await Deno.stat(values.database)).size > 0),
    multiplier: () => assert.equal(info.config.basePayoutMultiplier, 3),
    maxExposure: async () => {
      const { maxExposure } = await (await fetch(`${url}/theses`)).json();
      assert.equal(maxExposure, String(values.maxExposure));
    },
    pricing: () => assert.equal(info.pricing, "barrier"),
  };
}

async function effectsOnPrices(answered: Ask, values: Values): Promise<Effects> {
  const { body } = await answered({}, "quote");
  const quote = quoteSchema.parse(body.quote);
  const details = detailsSchema.parse(body.pricing);
  return {
    wsUrl: () => assert.equal(quote.solver, KEY.address, "it had prices"),
    chainId: () => {
      const { signature } = quote;
      assert.equal(recoverSigner(hashQuote(quote, CHAIN_ID), signature), KEY.address);
    },
    margin: () => assert.equal(details.margin, values.margin),
    userLeadMs: async () => {
      await eventually("an estimate that charges no lead", async () => {
        // With a lead, a box so near to the price is worth far more once it has survived the hold.
        const { pricing } = (await answered({ upperPrice: String(SPOT * 1.0005) })).body;
        const { probability, chargedProbability } = detailsSchema.parse(pricing);
        return chargedProbability < 1.01 * probability;
      }, 5_000);
    },
    skew: () => assert.equal(details.skew, values.skew / 2),
    volatilityFloor: () => assert(details.volatility >= 3, `${details.volatility}`),
    volatilityHistoryMs: () => assert.equal(body.success, true, "20 s are known"),
  };
}

function effectsOnRefusals(ask: Ask, answered: Ask): Effects {
  const nowMs = Date.now();
  const isRefused = async (answer: Promise<Answer>, words: RegExp) =>
    assert.match(String((await answer).body.error), words);
  return {
    markets: () =>
      isRefused(ask({ base: SPEC_MARKETS.bySymbol("BTC/USDT")?.base }), /UNSUPPORTED_PAIR/),
    maxPriceAgeMs: () =>
      isRefused(answered({ base: other.base }), /PRICE_UNAVAILABLE.* over the limit of 3000 ms/),
    minDurationMs: () =>
      isRefused(answered({ ...from(nowMs), endTime: nowMs + 4_000 }), /below 5000 ms/),
    minWidthTicks: () => {
      const range = { lowerPrice: String(SPOT), upperPrice: String(SPOT + 1) };
      return isRefused(answered(range), /narrower than 10 moves/);
    },
    maxStartAheadMs: () => isRefused(ask(from(nowMs + 2_000_000)), /at most 1000000 ms/),
    maxStartBehindMs: () => isRefused(ask(from(nowMs - 15_000)), /at most 5000 ms/),
    maxDeadlineMs: () =>
      isRefused(ask({ deadline: nowMs + 200_000 }, "quote"), /at most 100000 ms/),
  };
}

/** What takes time: the simulated hedge, and the end of what is retained. */
async function startWithClock(start: Start): Promise<void> {
  const clock = new FakeClock(Date.now());
  const values = { privateKey: solver, maxRisk: 400_000n, hedgeDelayMs: 7_000, retain: 120_000 };
  await start(values, async (url, node) => {
    const info = await (await fetch(`${url}/info`)).json();
    const execute = async (body: unknown) => (await post(`${url}/execute`, body)).body;
    return {
      privateKey: () => assert.equal(info.address, solver.address),
      maxRisk: async () => {
        assert.equal(info.maxRisk, "400000");
        const { error } = await execute(await execution(url));
        assert.match(String(error), /above 0.4 USDC; bet less/);
      },
      hedgeDelayMs: async () => {
        const { error } = await execute(await execution(url, { deadline: clock.now() + 6_000 }));
        assert.match(String(error), /an execution takes [78]\d{3} ms/);
      },
      retain: async () => {
        node.refusal = "INSUFFICIENT_BALANCE";
        const body = await execution(url, { betAmount: "1000000" });
        const askedAtMs = clock.now();
        const executed = execute(body);
        await eventually("the execution is hedged", async () => {
          clock.advance(500);
          return await isSettled(executed);
        });
        const { result } = z.object({ result: z.unknown() }).parse(await executed);
        assert(clock.now() - askedAtMs >= values.hedgeDelayMs, "the hedge took its time");
        node.aheadMs += values.retain + 600_000; // old by the chain's time
        clock.advance(values.retain);
        assert.deepEqual((await execute(body)).result, result, "the first one's");
        await eventually("the execution is forgotten", async () => {
          clock.advance(10_000);
          return (await execute(body)).code === "DEADLINE_PASSED";
        }, 5_000);
        node.aheadMs = 0;
      },
    };
  }, { clock });
}

async function startWithHedge(start: Start): Promise<void> {
  const late = Promise.withResolvers<Response>();
  let requests = 0;
  let inTimeByDefault: ReturnType<typeof setTimeout> | undefined;
  await using hedge = listen("127.0.0.1", 0, () => {
    requests += 1;
    inTimeByDefault ??= setTimeout(() => late.resolve(Response.json({ hedged: true })), 1_000);
    return late.promise;
  });
  const values = { hedgeUrl: hedge.url, hedgeTimeoutMs: 100, hedgeDelayMs: 7_000 };
  await start(values, async (url) => {
    const execute = async (body: unknown) =>
      String((await post(`${url}/execute`, body)).body.error);
    const tooLate = await execute(await execution(url, { deadline: Date.now() + 6_000 }));
    const requestsTooLate = requests;
    const unanswered = await execute(await execution(url));
    const isHedged = () => assert.match(unanswered, /service did not answer/);
    return {
      hedgeUrl: isHedged,
      hedgeTimeoutMs: isHedged,
      hedgeDelayMs() {
        assert.match(tooLate, /an execution takes [78]\d{3} ms/);
        assert.equal(requestsTooLate, 0, "nothing is hedged that would be refused");
      },
    };
  });
  clearTimeout(inTimeByDefault);
  late.resolve(new Response());
}

async function startDry(start: Start): Promise<void> {
  await using exchange = startFakeCandles();
  await start({ pricing: "barrier", dryRun: true, historyUrl: exchange.url }, async (url) => {
    const { dryRun } = await (await fetch(`${url}/info`)).json();
    return {
      dryRun: () => assert.equal(dryRun, true),
      historyUrl: async () => {
        await eventually("a request", () => exchange.queries.length > 0);
      },
    };
  });
}
