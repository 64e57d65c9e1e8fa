/**
 * The console in Chromium, drawn by the processor: time from the navigation to the first price on
 * the screen, bytes that it takes, and what it costs with 200 open bets: at rest (aims: at least 55
 * frames and under 250 ms of the main thread a second), untouched for a while (aim: 50 ms), and
 * while a box is dragged. Run with
 * `deno run --allow-all --unstable-bundle tests/bench/console_bench.ts [bets]`.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Page } from "puppeteer-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type StackUrls, startStack } from "../../services/stack/stack.ts";
import { launchBrowser, Visitor } from "../console/browser.ts";

const BETS = Number(Deno.args[0] ?? 200);
const CONCURRENCY = 8;
const LOADS = 5;
const DRAG_MOVES = 300;
const REST_MS = 5_000;
/** After this long without a touch, the page moves in steps. */
const UNTOUCHED_MS = 11_000;
const KEY_PLACE = "rangemaker.development-key.1337";

/** Places bets that are open for long, all of them on the chart of eight minutes. */
async function placeBets(urls: StackUrls): Promise<`0x${string}`> {
  const key = generatePrivateKey();
  const client = new RangemakerClient({ urls, chainId: 1337, wallet: privateKeyToAccount(key) });
  const { price } = await waitForPrices(urls, client, systemClock);
  await client.deposit(10_000_000_000n);
  let next = 0;
  const place = async () => {
    for (let count = next++; count < BETS; count = next++) {
      const startTime = systemClock.now() + 60_000 + 100 * count;
      const reach = price * BigInt(5 + count % 40) / 10_000n;
      const terms = {
        symbol: "ETH/USDT",
        lowerPrice: price - reach,
        upperPrice: price + reach,
        betAmount: 1_000_000n,
        startTime,
        endTime: startTime + 600_000,
      };
      await client.execute(await client.quote(terms));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, place));
  return key;
}

/** Milliseconds from the navigation to the frame that shows the first price. */
function watchFirstPrice(page: Page): Promise<unknown> {
  return page.evaluateOnNewDocument(`{
    const look = () => {
      const isThere = /\\d/.test(document.querySelector("[data-price]")?.textContent ?? "");
      if (!isThere) return requestAnimationFrame(look);
      requestAnimationFrame(() => globalThis.firstPriceMs = performance.now());
    };
    requestAnimationFrame(look);
  }`);
}

async function firstPriceMs(url: string, browser: Awaited<ReturnType<typeof launchBrowser>>) {
  const visitor = await Visitor.open(
    browser,
    url,
    async (page) => void await watchFirstPrice(page),
  );
  const found = await visitor.page.waitForFunction(() => Reflect.get(globalThis, "firstPriceMs"));
  const ms = Number(await found.jsonValue());
  const bytes = await visitor.page.evaluate(() =>
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => name.startsWith(location.origin))
      .reduce((sum, entry) => sum + Number(Reflect.get(entry, "transferSize")), 0)
  );
  await visitor.page.browserContext().close();
  return { ms, bytes };
}

const traceSchema = z.object({
  traceEvents: z.array(z.object({
    name: z.string(),
    ts: z.number(),
    tid: z.number(),
    dur: z.number().optional(),
    tdur: z.number().optional(),
  })),
});

/** What runs scripts on the main thread. */
const SCRIPT = /^(FireAnimationFrame|EventDispatch|FunctionCall|TimerFire|RunMicrotasks)$/;

/**
 * A frame: milliseconds since the one before, and what scripts and the whole main thread took of
 * it.
 */
interface FrameCost {
  intervalMs: number;
  scriptMs: number;
  mainMs: number;
  /** As the main thread, in time of the processor: less than `mainMs` on a busy machine. */
  processorMs: number;
}

async function frameCosts(page: Page, task: () => Promise<void>): Promise<FrameCost[]> {
  await page.tracing.start({
    categories: ["devtools.timeline", "disabled-by-default-devtools.timeline"],
  });
  await task();
  const bytes = await page.tracing.stop() ?? assert.fail("No trace");
  const { traceEvents } = traceSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  const main = traceEvents.find(({ name }) => name === "FireAnimationFrame")?.tid;
  const events = traceEvents.filter(({ tid }) => tid === main).sort((a, b) => a.ts - b.ts);
  const frames = events.filter(({ name }) => name === "FireAnimationFrame");
  const tasks = events.filter(({ name }) => name === "RunTask");
  let end = 0;
  const scripts = events.filter(({ name, ts, dur = 0 }) => {
    if (!SCRIPT.test(name) || ts < end) return false; // part of another one
    end = ts + dur;
    return true;
  });
  return frames.slice(1).map(({ ts }, index) => {
    const from = frames[index]?.ts ?? ts;
    const sum = (of: typeof events, part: "dur" | "tdur") =>
      of.filter((event) => event.ts >= from && event.ts < ts)
        .reduce((sum, event) => sum + (event[part] ?? 0), 0) / 1e3;
    return {
      intervalMs: (ts - from) / 1e3,
      scriptMs: sum(scripts, "dur"),
      mainMs: sum(tasks, "dur"),
      processorMs: sum(tasks, "tdur"),
    };
  });
}

function quantile(values: readonly number[], share: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(1);
}

const row = (name: string, values: readonly number[]) =>
  console.log(
    `${name.padEnd(34)} median ${quantile(values, 0.5)} ms, p95 ${quantile(values, 0.95)} ms`,
  );

// One address makes all bets here.
const pricing = { rateLimit: 0 };
const stack = await startStack({ ports: { ...FREE_PORTS, console: 0 }, seed: 1, pricing });
const browser = await launchBrowser();
try {
  const url = stack.urls.console ?? assert.fail();
  await waitForPrices(
    stack.urls,
    new RangemakerClient({ urls: stack.urls, chainId: 1337 }),
    systemClock,
  );
  const loads = [];
  for (let count = 0; count < LOADS; count++) loads.push(await firstPriceMs(url, browser));
  row("first price after the navigation", loads.map(({ ms }) => ms));
  console.log(`transferred                        ${Math.round((loads[0]?.bytes ?? 0) / 1000)} kB`);

  const key = await placeBets(stack.urls);
  const visitor = await Visitor.open(browser, url, async (page) => {
    await page.evaluateOnNewDocument(
      (place, key) => localStorage.setItem(place, key),
      KEY_PLACE,
      key,
    );
  });
  const { page } = visitor;
  await visitor.sees(new RegExp(`● ${BETS} open`));
  for (let press = 0; press < 3; press++) await visitor.press("Show more time"); // eight minutes
  const canvas = await page.waitForSelector(".chart canvas");
  const box = await canvas?.boundingBox() ?? assert.fail();
  const at = (x: number, y: number) => [box.x + x * box.width, box.y + y * box.height] as const;
  for (const [name, pauseMs] of [["at rest", 0], ["untouched", UNTOUCHED_MS]] as const) {
    await setTimeout(pauseMs);
    const costs = await frameCosts(page, () => setTimeout(REST_MS));
    const sumOf = (part: "intervalMs" | "processorMs") =>
      costs.reduce((sum, cost) => sum + cost[part], 0);
    const seconds = sumOf("intervalMs") / 1_000;
    console.log(
      `${name} over ${BETS} open bets, a second`.padEnd(44) +
        `${(costs.length / seconds).toFixed(0)} frames, ` +
        `${(sumOf("processorMs") / seconds).toFixed(0)} ms of the main thread`,
    );
  }
  const costs = await frameCosts(page, async () => {
    await page.mouse.move(...at(0.65, 0.2));
    await page.mouse.down();
    for (let move = 0; move < DRAG_MOVES; move++) {
      const share = move / DRAG_MOVES;
      await page.mouse.move(...at(0.7 + 0.15 * share, 0.5 + 0.3 * Math.sin(20 * share)));
    }
    await page.mouse.up();
  });
  console.log(`dragging over ${BETS} open bets, ${costs.length} frames`);
  row("  between frames", costs.map(({ intervalMs }) => intervalMs));
  row("  scripts", costs.map(({ scriptMs }) => scriptMs));
  row("  main thread", costs.map(({ mainMs }) => mainMs));
  row("  main thread, of the processor", costs.map(({ processorMs }) => processorMs));
  await visitor.close();
} finally {
  await browser.close();
  await stack.stop();
}
