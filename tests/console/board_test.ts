/** The views of maker and operator in a real browser; `UPDATE_DOCS=1` also takes their pictures. */
import assert from "node:assert/strict";
import { fileURLToPath as fromFileUrl } from "node:url";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { MARKETS, RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { seededRandom } from "../../lib/random.ts";
import { earningsOf } from "../../services/console/page/maker/earnings.ts";
import type { Page } from "puppeteer-core";
import {
  formatCents,
  formatLoss,
  formatProfit,
  formatTime,
} from "../../services/console/page/parts/format.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, startStack } from "../../services/stack/stack.ts";
import { violationsEverywhere } from "./accessibility.ts";
import { type Claim, createClaim, hasChromium, launchBrowser, Visitor } from "./browser.ts";
import { consolePage } from "../support/console_page.ts";
import { eventually } from "../support/eventually.ts";

const FOLDER = new URL("../../docs/images/", import.meta.url);
const takesPictures = Deno.env.get("UPDATE_DOCS") === "1";

/** Bets that are settled before the page is looked at, and such that stay open. */
const [SHORT, LONG] = takesPictures ? [40, 9] : [3, 8];

const SERVICES = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"];

Deno.test({
  name: "Console: maker and operator see the same numbers as the services",
  ignore: !hasChromium,
  timeout: 300_000, // with pictures
  async fn(test) {
    await using stack = await startStack({
      ports: { ...FREE_PORTS, console: 0 },
      page: await consolePage(),
      seed: 1,
      pricing: {
        pricing: fromFileUrl(import.meta.resolve("./strategy.ts")),
        maxExposure: 300_000_000n,
      },
    });
    await using browser = await launchBrowser({ isCalm: true });
    const wallet = privateKeyToAccount(generatePrivateKey());
    const client = new RangemakerClient({ urls: stack.urls, chainId: 1337, wallet });
    await waitForPrices(stack.urls, client, systemClock);
    await client.deposit(1_000_000_000n);
    await playBets(client);
    const visitor = await Visitor.open(browser, `${stack.urls.console}#maker`, setBack);
    await makerSees(visitor, stack.urls, createClaim(test));
    await visitor.page.$eval('nav a[href="#operator"]', (link) => link.click());
    await operatorSees(visitor, createClaim(test));
    await visitor.close();
  },
});

/** Sets the clock of a device back by an hour. */
async function setBack(page: Page): Promise<void> {
  await page.evaluateOnNewDocument("const now = Date.now; Date.now = () => now() - 3_600_000");
}

async function makerSees(
  visitor: Visitor,
  urls: RunningStack["urls"],
  claim: Claim,
): Promise<void> {
  const solver = DEV_ACCOUNTS.solver.address;
  const node = new CoreClient({ url: urls.nodeRead });
  await visitor.sees(new RegExp(`All\\s.* of ${SHORT}\\s[\\s\\S]*${LONG} open`));
  const { theses } = await node.getTheses({ solver, limit: 1_000 });
  const { balance, locked } = await node.getAccount(solver);
  await claim("the results are those of the chain", async () => {
    const [{ profit, held }] = earningsOf(theses, [], 0);
    const deposits = 1_000_000_000_000n;
    assert.equal(profit, balance + locked - deposits);
    const results = '[aria-label="results"] tr[data-row="All"]';
    const realised = await visitor.textOf(`${results} [data-column="Realised"]`);
    assert.equal(realised, formatProfit(profit));
    const won = await visitor.textOf(`${results} [data-column="Users won"]`);
    assert.equal(won, `${held} of ${SHORT}`);
    await resultsFit(visitor);
  });
  await claim("balance and exposure are those of the solver", async () => {
    const exposure = BigInt((await (await fetch(`${urls.solver}/theses`)).json()).exposure);
    assert.equal(await visitor.textOf("[data-maker-balance]"), formatCents(balance));
    assert.equal(await visitor.textOf("[data-maker-exposure]"), `${formatLoss(exposure)} USDC`);
    await visitor.sees(new RegExp(`At most, on ${LONG} bets`));
    const ofMarkets = await visitor.page.$$eval(
      '[aria-label="Market"] .detail',
      (details) => details.map((detail) => Number(detail.textContent?.replace("−", ""))),
    );
    const sum = ofMarkets.reduce((sum, loss) => sum + loss, 0);
    assert(Math.abs(sum - Number(exposure) / 1e6) < 0.011 * ofMarkets.length, `${ofMarkets}`);
    await visitor.sees(
      /✓ Fine: \d+\.\d\d USDC is free\. [\d.]+\s% of the limit of 300\.00 is used/,
    );
    await visitor.sees(/Last bet ends\s+in \d/);
  });
  await claim("open bets have the largest loss first, and fit phones", async () => {
    await showsAll(visitor);
    const losses = await visitor.page.$$eval(
      '[aria-label="open bets"] td[data-column="You may lose"]',
      (cells) => cells.map(({ textContent }) => Number(textContent)),
    );
    assert(losses.length > 1);
    assert.deepEqual(losses, losses.toSorted((a, b) => b - a));
    await openBetsFitPhones(visitor);
  });
  await claim("the chart of a market has the profit at each price", async () => {
    await visitor.sees(/moves now and stays: at worst −\d+\.\d\d USDC, at .* – /);
    const other = await visitor.page.$eval(
      '[aria-label="Market"] button[aria-pressed="false"]',
      (button) => (button.click(), button.textContent?.split(" ")[0]),
    );
    await visitor.page.waitForSelector(`svg[aria-label^="${other}, profit by price: at worst −"]`);
    const { base } = MARKETS.find(({ symbol }) => symbol === other) ?? assert.fail();
    const stakes = theses.filter((bet) => bet.status === "open" && bet.base === base)
      .reduce((sum, { betAmount }) => sum + betAmount, 0n);
    await readsProfit(visitor, formatProfit(stakes));
    const drawn = await visitor.page.$$('svg[aria-label*=" over price and time"] rect');
    assert.notEqual(drawn.length, 0);
  });
  await claim("answers are counted by outcome", async () => {
    for (const [outcome, count] of [["executed", SHORT + LONG], ["quoted", SHORT + LONG + 2]]) {
      assert.match(await visitor.textOf(`tr[data-row="${outcome}"]`), new RegExp(`${count}`));
    }
    await visitor.sees(new RegExp(`2 of ${SHORT + LONG + 2} signed bets \\(.* refused since the`));
    assert.match(await visitor.textOf('tr[data-row="DURATION_TOO_SHORT"]'), /1/);
    await visitor.sees(/EXPOSURE_TOO_LARGE[\s\S]*DURATION_TOO_SHORT/); // bets come first
    await answersFitPhones(visitor);
  });
  await claim("forecasts are drawn, and all labels grow", async () => {
    await drawsForecasts(visitor);
    await visitor.sees(/moves now and stays: at worst/);
    await labelsGrow(visitor);
    await examine(visitor, "maker");
  });
}

async function operatorSees(visitor: Visitor, claim: Claim): Promise<void> {
  await claim("all services work, with the trends of their figures", async () => {
    for (const name of SERVICES) {
      await visitor.page.waitForSelector(`[data-service="${name}"][data-up="true"]`);
    }
    await visitor.sees(/healthy, ready/);
    await visitor.sees(/figures, all within their bounds, watched since \d\d:\d\d:\d\d/);
    await showsTrends(visitor);
  });
  await claim("times are those of the services, whatever the device's clock says", async () => {
    await visitor.sees(/· runs [1-9]/);
    const isNow = (time = "") =>
      [0, 1, 2].some((minutes) => time === formatTime(Date.now() - 60_000 * minutes).slice(0, 5));
    const since = await visitor.sees(/unchanged since \d\d:\d\d/);
    assert(isNow(since.slice(-5)), since);
  });
  await claim("the sources of prices are shown, and fit phones", async () => {
    await visitor.sees(/ETH\/USDT[\s\S]*Oracle[\s\S]*ms\sold/);
    assert.equal((await visitor.page.$$("tr.source")).length, 4);
    await visitor.sees(/provider_a ✓\s+simulated, in the format of binance/);
    await examine(visitor, "operator");
    await visitor.sees(/Prices a minute\s+[1-9]/); // known after 15 s
    await assertSourcesFitPhones(visitor);
  });
}

/** Cards are on one level; figures are spoken once, with their service, and drawn beside their text. */
async function showsTrends({ page }: Visitor): Promise<void> {
  const levels = await page.$$eval(
    ":is(h1, h2, h3)",
    (all) => all.map(({ tagName }) => tagName),
  );
  assert.deepEqual(levels, ["H1", ...["Health", ...SERVICES, "Price sources"].map(() => "H2")]);
  const solver = await page.waitForSelector('[data-service="solver"]:has(summary)');
  const root = await solver?.$("summary") ?? assert.fail();
  const spoken = await page.accessibility.snapshot({ root });
  assert.match(`${spoken?.name}`, /^solver: \d figures, .*watched since [\d:]+$/);
  assert.equal(spoken?.description, undefined);
  await page.$$eval(".services summary", (all) => all.forEach((summary) => summary.click()));
  // Pictures have more to show.
  const pointsMin = takesPictures ? 50 : 2;
  await page.waitForFunction(
    (card, pointsMin) => {
      const trends = [...card?.querySelectorAll('details dd svg[aria-hidden="true"] .value') ?? []];
      return trends.length > 0 &&
        trends.length === card?.querySelectorAll("details dd").length &&
        trends.every((path) => (path.getAttribute("d")?.split("L").length ?? 0) >= pointsMin);
    },
    { timeout: 180_000 },
    solver,
    pointsMin,
  );
}

/**
 * On the narrowest page, prices of the markets are side by side, and below each other in large
 * text.
 */
async function assertSourcesFitPhones(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const rowsOf = async (textSize: "100%" | "200%") => {
    await visitor.setTextSize(textSize);
    return await page.$eval('[aria-label="price sources"] tr.source', (row) => {
      const cells = [...row.querySelectorAll("td.number")];
      const tops = new Set(cells.map((cell) => cell.getBoundingClientRect().top));
      const isCut = cells.some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
      return { lines: tops.size, isCut };
    });
  };
  await page.setViewport({ width: 320, height: 640 });
  assert.deepEqual(await rowsOf("100%"), { lines: 1, isCut: false });
  assert.deepEqual(await rowsOf("200%"), { lines: 3, isCut: false });
}

/** Each answer is in sight without scrolling sideways, in large text too. */
async function answersFitPhones(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const size = page.viewport();
  await page.setViewport({ width: 390, height: 844 });
  await visitor.setTextSize("200%");
  assert.equal(await visitor.overflowOf('[aria-label="Table of answers"]'), 0);
  await visitor.setTextSize("100%");
  await page.setViewport(size);
}

/** With the keyboard, all open bets are shown, and the focused button stays where it is. */
async function showsAll({ page }: Visitor): Promise<void> {
  const button = await page.waitForSelector("button::-p-text(Show all)");
  await button?.focus();
  const before = await button?.boundingBox();
  await page.keyboard.press("Enter");
  await page.waitForSelector('button:focus[aria-expanded="true"]');
  assert.equal((await page.$$('[aria-label="open bets"] tr[data-row]')).length, LONG);
  assert.equal((await button?.boundingBox())?.y, before?.y ?? assert.fail());
}

/** Each result is in sight without scrolling sideways, on a laptop and on a phone. */
async function resultsFit(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const size = page.viewport();
  for (const width of [1280, 820, 390]) {
    await page.setViewport({ width, height: 900 });
    const hidden = await visitor.overflowOf('[aria-label="Table of results"]');
    assert.equal(hidden, 0, `${width} pixels`);
  }
  await page.setViewport(size);
}

/**
 * By keyboard and under the pointer, a chart shows the profit at a price, the first outside all
 * boxes.
 */
async function readsProfit(visitor: Visitor, outside: string): Promise<void> {
  const { page } = visitor;
  const [, map] = await page.$$('figure:has(.heat) input[type="range"]');
  const atPrice = await map?.evaluate(({ ariaValueText }) => ariaValueText);
  assert.match(`${atPrice}`, /^[\d,.]+: \d+ open bets?, [\d,.]+ until \d+/);
  const slider = await page.$('figure:has(.heat) input[type="range"]') ?? assert.fail();
  const reading = async () =>
    `${await page.$eval("figure:has(.heat) .reading", ({ textContent }) => textContent)}`;
  await slider.press("Home");
  await page.waitForSelector("figure:has(.heat) .reading");
  const first = await reading();
  assert.match(first, /^[\d,.]+: /);
  assert(first.endsWith(`: ${outside}`), first);
  assert.equal(await slider.evaluate(({ ariaValueText }) => ariaValueText), first);
  await slider.hover(); // its middle
  await eventually("the value at the pointer", async () => await reading() !== first);
  const box = await slider.boundingBox() ?? assert.fail();
  const at = (percent: number) =>
    [box.x + box.width * percent / 100, box.y + box.height / 2] as const;
  const readsAt = async (percent: number, how: string) => {
    await visitor.nextFrame();
    const read = await page.$$eval(
      "figure:has(.heat) .reading",
      ([span]) => Number.parseFloat(`${span?.style.left}`),
    );
    assert(Math.abs(read - percent) < 1, `${how} at ${percent} %: ${read}`);
  };
  await page.mouse.move(...at(25));
  await page.mouse.down();
  await readsAt(25, "pressed");
  await page.mouse.move(...at(75));
  await readsAt(75, "dragged");
  await page.mouse.up();
  await readsAt(75, "released");
  await page.keyboard.press("ArrowRight");
  await readsAt(75.5, "with a key");
  const ticks = await page.$("figure:has(.heat) .reading ~ .x-ticks");
  assert.equal(await ticks?.isVisible(), false, "covered labels");
  await page.mouse.move(0, 0);
  await page.waitForSelector("figure:has(.heat) .reading", { hidden: true });
  await page.touchscreen.tap(...at(30));
  await readsAt(30, "tapped");
  const finger = await page.touchscreen.touchStart(...at(40));
  await finger.move(...at(60));
  await readsAt(60, "dragged by a finger");
  await finger.end();
  await readsAt(60, "released by a finger");
}

/**
 * Of the forecasts that the solver reports, one is wrong: it is marked in the table and the
 * drawing.
 */
async function drawsForecasts(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const held = [[0.27, 0.72, 0.76], [0.22, 0.47, 0.74], [0.26, 0.53, 0.79]];
  const calibration = MARKETS.map(({ symbol }, market) => {
    const windows = 100 + 150 * market;
    const boxes = [0.25, 0.5, 0.75].map((predicted, index) => ({
      predicted,
      held: held[market]?.[index],
      error: Math.sqrt(predicted * (1 - predicted) / windows),
    }));
    return { symbol, horizons: [{ horizonMs: 15_000, windows, boxes }] };
  });
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (!request.url().endsWith("/info")) return await request.continue();
    const info = await (await fetch(request.url())).json();
    await request.respond({
      headers: { "access-control-allow-origin": "*" },
      body: JSON.stringify({ ...info, calibration }),
    });
  });
  await page.reload();
  await visitor.sees(/▲ 1 of \d+ bars misses the dashed line/);
  const [market = ""] = MARKETS.map(({ symbol }) => symbol);
  assert.match(
    await visitor.textOf('[aria-label="forecasts"] tbody tr'),
    new RegExp(`^${market}, 15\\ss50\\s%▲ 72\\s%`),
  );
  const bands = await page.$$eval(".band", (all) =>
    all.map((band) => {
      const line = band.querySelector("path")?.getAttribute("d")?.match(/[\d.]+/g)?.map(Number);
      const [x = 0, bottom = 0, top = 0] = line ?? [];
      return { isOff: band.matches(".warning"), meetsLine: top <= 100 - x && 100 - x <= bottom };
    }));
  assert(bands.length >= 9);
  assert.deepEqual(bands.map(({ isOff }) => isOff), bands.map(({ meetsLine }) => !meetsLine));
}

/** The labels of drawings grow with the text, beside each other on the narrowest page too. */
async function labelsGrow(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const size = page.viewport();
  await page.setViewport({ width: 320, height: 640 });
  for (const [textSize, pixels] of [["100%", "13px"], ["200%", "26px"]] as const) {
    await visitor.setTextSize(textSize);
    const labels = await page.$$eval(".x-ticks", (axes) =>
      axes.map((axis) => {
        const shown = [...axis.querySelectorAll("span")].filter(({ offsetWidth }) =>
          offsetWidth > 0
        );
        const ends = shown.map((label) => label.getBoundingClientRect());
        return {
          size: axis.ownerDocument.defaultView?.getComputedStyle(axis).fontSize,
          isClear: ends.every(({ left }, index) => index === 0 || left >= ends[index - 1]!.right),
        };
      }));
    assert.deepEqual(labels, Array(3).fill({ size: pixels, isClear: true }));
  }
  await visitor.setTextSize("100%");
  await page.setViewport(size);
}

/** On a phone, bets have no headings or labels, and two lines each. */
async function openBetsFitPhones({ page }: Visitor): Promise<void> {
  const size = page.viewport();
  await page.setViewport({ width: 390, height: 844 });
  assert.equal(await page.$eval('[aria-label="open bets"] thead', (head) => head.offsetHeight), 0);
  const rows = await page.$$eval(
    '[aria-label="open bets"] tbody tr',
    (rows) => rows.map((row) => row.offsetHeight),
  );
  assert(Math.max(...rows) < 60, `${rows}`);
  await page.setViewport(size);
}

/** Bets that are refused, some that are settled, and some that stay open. */
async function playBets(client: RangemakerClient): Promise<void> {
  const random = seededRandom(7);
  const watch = await client.watch();
  // On pictures the price leaves some boxes. On a busy machine it would leave them before their bets.
  const narrowest = takesPictures ? 2 : 4;
  const place = async (lastsMs: number, startsInMs: number, stakeUsdc?: number) => {
    const market = MARKETS[Math.floor(random() * MARKETS.length)] ?? assert.fail();
    const { price } = await eventually(
      `a price of ${market.symbol}`,
      async () => (await client.prices())[market.symbol],
    );
    const points = stakeUsdc === undefined ? Math.floor(narrowest + 6 * random()) : 4;
    const reach = price * BigInt(points) / 10_000n;
    const startTime = systemClock.now() + startsInMs;
    return await client.execute(
      await client.quote({
        symbol: market.symbol,
        lowerPrice: price - reach,
        upperPrice: price + reach,
        betAmount: BigInt(stakeUsdc ?? 2 + Math.floor(20 * random())) * 1_000_000n,
        startTime,
        endTime: startTime + lastsMs,
      }),
    );
  };
  try {
    await assert.rejects(place(-1, 2_000), { code: "DURATION_TOO_SHORT" });
    for (let count = 0; count < 2; count++) {
      await assert.rejects(place(1_500, 2_000, 600), { code: "EXPOSURE_TOO_LARGE" });
    }
    for (let count = 0; count < SHORT; count++) {
      const { thesisId } = await place(1_500, 2_000);
      if (count % 4 > 0) continue;
      await watch.until(({ id, status }) => id === thesisId && status !== "open", 30_000);
    }
    for (const { id } of watch.theses) {
      await watch.until((thesis) => thesis.id === id && thesis.status !== "open", 30_000);
    }
    // They begin late enough that no price decides them while a slow machine looks at the page.
    for (let count = 0; count < LONG; count++) await place(60_000 + 5_000 * count, 180_000);
  } finally {
    watch.close();
  }
}

/** Everything is readable and fits the page, in every theme and size. */
async function examine(visitor: Visitor, name: string): Promise<void> {
  const { page } = visitor;
  assert.deepEqual(await violationsEverywhere(page), [], name);
  if (!takesPictures) return;
  await page.mouse.move(0, 0);
  await page.setViewport({ width: 1280, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  const path = fromFileUrl(new URL(`console-${name}-light.png`, FOLDER)) as `${string}.png`;
  await page.screenshot({ path, fullPage: true });
}
