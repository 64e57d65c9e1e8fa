/**
 * `deno run --allow-all tests/console/pictures.ts`: plays some bets and takes the pictures of the
 * trade view for the documents.
 */
import { FREE_PORTS, startStack } from "../../services/stack/stack.ts";
import { launchBrowser, Visitor } from "./browser.ts";

const FOLDER = new URL("../../docs/images/", import.meta.url);

/** Bets, in prices from the current one and in seconds: one to win, one to lose, one that is open. */
const BETS = [
  { lower: -1.9, upper: 1.9, startsIn: 5, lasts: 8, amount: 25 },
  { lower: 0.9, upper: 1.8, startsIn: 5, lasts: 7, amount: 10 },
  { lower: -1.6, upper: 1.6, startsIn: 6, lasts: 14, amount: 40 },
];

const DRAFT = { lower: -1, upper: 1.4, startsIn: 15, lasts: 8, amount: 15 };

/** How long the chart needs to look like one. */
const HISTORY_MS = 22_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function draft(visitor: Visitor, bet: typeof DRAFT): Promise<void> {
  const text = await visitor.textOf('[data-price="ETH/USDT"]');
  const price = Number(text.replace(",", ""));
  await visitor.fill("lower", (price + bet.lower).toFixed(2));
  await visitor.fill("upper", (price + bet.upper).toFixed(2));
  await visitor.fill("startsIn", String(bet.startsIn));
  await visitor.fill("lasts", String(bet.lasts));
  await visitor.fill("amount", String(bet.amount));
  await visitor.sees(/Times your bet/);
}

/** Plays some bets and takes the pictures of the trade view. */
async function takePictures(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const take = async (name: string) => {
    await pause(300); // the chart follows its new size and colours
    const path = new URL(`console-trade-${name}.png`, FOLDER).pathname;
    await page.screenshot({ path: path as `${string}.png`, optimizeForSpeed: false });
  };
  await page.setViewport({ width: 1280, height: 800 });
  await visitor.enter();
  await pause(HISTORY_MS);
  for (const [index, bet] of BETS.entries()) {
    if (index === 2) await pause(9_000);
    await draft(visitor, bet);
    await visitor.press("Get a firm quote");
    await visitor.press("Sign and place the bet");
    await visitor.press("Make another bet");
  }
  await pause(7_000);
  await draft(visitor, DRAFT);
  await take("light");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await take("dark");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.setViewport({
    width: 390,
    height: 844,
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  });
  // The browser loads the page anew for a phone.
  await visitor.sees(/Profit and loss/);
  await draft(visitor, DRAFT);
  await page.$eval("html", (html) => html.scrollTop = 0);
  await take("phone");
}

const stack = await startStack({ ports: { ...FREE_PORTS, console: 0 }, seed: 1 });
const browser = await launchBrowser();
try {
  const visitor = await Visitor.open(browser, stack.urls.console ?? "");
  await takePictures(visitor);
  await visitor.close();
} finally {
  await browser.close();
  await stack.stop();
}
