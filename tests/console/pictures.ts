/**
 * `deno run --allow-all tests/console/pictures.ts`: plays some bets and takes the pictures of the
 * trade view for the documents.
 */
import { fileURLToPath } from "node:url";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { STACK_PRICING, startStack } from "../../services/stack/stack.ts";
import { launchBrowser, Visitor } from "./browser.ts";

const FOLDER = new URL("../../docs/images/", import.meta.url);

/**
 * Bets, in halves of the height of a suggested box and in seconds: one that may win, a narrow one that
 * the price will leave, and one that is open.
 */
const BETS = [
  { lower: -0.5, upper: 0.5, startsIn: 8, lasts: 8, amount: 25 },
  { lower: -0.15, upper: 0.13, startsIn: 8, lasts: 7, amount: 10 },
  { lower: -0.7, upper: 0.7, startsIn: 8, lasts: 14, amount: 40 },
];

const DRAFT = { lower: -0.3, upper: 0.38, startsIn: 15, lasts: 8, amount: 15 };

/** How long the chart needs to look like one. */
const HISTORY_MS = 22_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

async function draft(visitor: Visitor, bet: typeof DRAFT): Promise<void> {
  await visitor.press("Suggest a box");
  const read = (name: string) =>
    visitor.page.$eval(`input[name=${name}]`, ({ value }) => Number(value));
  const [low, high] = [await read("lower"), await read("upper")];
  const at = (halves: number) => ((low + high) / 2 + halves * (high - low) / 2).toFixed(2);
  await visitor.fill("lower", at(bet.lower));
  await visitor.fill("upper", at(bet.upper));
  await visitor.fill("startsIn", `${bet.startsIn} s`);
  await visitor.fill("lasts", `${bet.lasts} s`);
  await visitor.fill("amount", String(bet.amount));
  const isOutside = (await visitor.sees(/Odds\s+×\s\d|Move the box/)) === "Move the box";
  if (isOutside) await visitor.press("Move the box to the price");
  await visitor.sees(/Odds\s+×\s\d/);
}

function shotsOf({ page }: Visitor) {
  return async (name: string) => {
    await page.$eval("html", (html) => html.scrollTop = 0);
    await page.$$eval(".toasts button", (closes) => closes.forEach((close) => close.click()));
    await pause(1_500); // the chart follows its new size and colours, and glides to its prices
    const path = fileURLToPath(new URL(`console-${name}.png`, FOLDER));
    await page.screenshot({ path: path as `${string}.png`, optimizeForSpeed: false });
  };
}

/** Signs until the bet is placed: if the price moved, a new quote is there or has to be asked for. */
async function sign(visitor: Visitor): Promise<void> {
  const next = () =>
    visitor.sees(
      /Sign and place the bet|Sign again: [\d.,]+|Ask for a new quote|Move the box to the price|Get a quote|Make another bet/,
    );
  for (let step = await next(); step !== "Make another bet"; step = await next()) {
    await pause(1_200); // a new quote takes no press before
    await visitor.page.locator(`::-p-aria([name="${step}"][role="button"])`).setTimeout(2_000)
      .click().catch(() => {}); // the next step has replaced it
  }
}

/** Plays some bets and takes pictures of the trade view. */
async function onWideScreen(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const take = shotsOf(visitor);
  await page.setViewport({ width: 1280, height: 800 });
  await visitor.enter();
  await pause(HISTORY_MS);
  for (const [index, bet] of BETS.entries()) {
    if (index === 2) await pause(9_000);
    await draft(visitor, bet);
    await visitor.press("Get a quote");
    await sign(visitor);
    await visitor.press("Make another bet");
  }
  await pause(7_000);
  await draft(visitor, DRAFT);
  await take("trade-light");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await take("trade-dark");
}

/** The whole journey of one bet on a phone. */
async function onPhone(visitor: Visitor): Promise<void> {
  const take = shotsOf(visitor);
  await visitor.sees(/Live/);
  await take("phone-1-account");
  await visitor.press("Make a test account");
  await visitor.sees(/Take test money/);
  await take("phone-2-money");
  await visitor.press("Take test money");
  await visitor.sees(/1,000\.00 USDC/);
  await visitor.touch([[[0.5, 0.75]], [[0.66, 0.72]], [[0.68, 0.25]]]);
  await visitor.sees(/Odds\s+×\s\d/);
  await take("phone-3-box");
  await visitor.press("Clear the box");
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
  await visitor.press("Get a quote");
  await visitor.sees(/Sign and place the bet/);
  await take("phone-4-quote");
  await sign(visitor);
  await pause(6_000);
  await take("phone-5-open");
  await pause(65_000); // the suggested box has the times of the one that was cleared
  await visitor.sees(/Bet \d+ (won|lost)/);
  await take("phone-6-outcome");
}

const ports = { ...FREE_PORTS, console: 0 };
await using stack = await startStack({ ports, seed: 1, pricing: STACK_PRICING });
await using browser = await launchBrowser();
const url = stack.urls.console ?? "";
const visitor = await Visitor.open(browser, url);
await onWideScreen(visitor);
await visitor.close({ outages: true }); // a narrow box may be refused
await onPhone(await Visitor.open(browser, url, (page) => page.setViewport(PHONE)));
