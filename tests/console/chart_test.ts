/** The chart under fingers, wheel and buttons, on markets that are not the specification's. */
import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { eventually } from "../support/eventually.ts";
import type { Visitor } from "./browser.ts";
import { LONG_SYMBOL, pageTest, PHONE } from "./shared_page.ts";

const SMALL = { ...PHONE, width: 360, height: 740 };
const OPTIONS = { stack: "own-markets", isStrict: true } as const;

Deno.test(pageTest(
  "a finger draws a box on the longest symbol",
  async (visitor, { stack }) => {
    const { page } = visitor;
    await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
    assert.equal((await page.$$("[data-price]")).length, 21);
    assert.equal(await visitor.textOf(".field-lower .unit"), "(EUR)");
    await page.$eval(`[data-price="${LONG_SYMBOL}"]`, ({ parentElement }) => {
      parentElement?.click();
    });
    await page.waitForSelector(`[aria-label="Prices of ${LONG_SYMBOL}"]`);
    await visitor.enter(); // meanwhile, the chart has been painted
    await visitor.touch([[[0.5, 0.2]], [[0.6, 0.3]], [[0.65, 0.9]]]);
    await visitor.sees(/Odds\s+×\s\d[\s\S]*You get\s+[\d.]+ USDC, at least [\d.]+/);
    const drawn = await fieldsOf(visitor);
    assert(Number(drawn.lower) < Number(drawn.upper), JSON.stringify(drawn));
    assert.equal(await visitor.overflowOf("html"), 0, "wider than the page");
    await page.focus('[aria-label="Show more time"]');
    for (let pressed = 0; pressed < 3; pressed++) await page.keyboard.press("Enter");
    assert.equal(await timeShown(visitor), "24 min");
    await visitor.press("Get a quote");
    await visitor.press("Sign and place the bet");
    await visitor.sees(/Bet 1 is placed/);
    // The view fits the bet.
    await page.waitForSelector('[aria-label="Time shown: 2.5 min"], [aria-label$=": 2 min"]');
    const thesis = await new CoreClient({ url: stack.urls.nodeRead }).getThesis(1);
    assert.equal(Number(thesis?.lowerPrice) / 1e6, Number(drawn.lower));
    assert.match(await visitor.textOf('tr[data-thesis="1"]'), new RegExp(LONG_SYMBOL));
    // The operator's narrow cards name a market before its price.
    for (
      const [view, place] of [
        ["maker", `[aria-label="Table of open bets"] tbody th`],
        ["operator", `td[data-column="${LONG_SYMBOL}"]`],
      ] as const
    ) {
      await page.$eval(`nav a[href="#${view}"]`, (link) => link.click());
      await page.waitForSelector(place, { visible: true });
      assert.equal(await visitor.overflowOf("html"), 0, "wider than the page");
    }
  },
  SMALL,
  OPTIONS,
));

Deno.test(pageTest(
  "a second finger undoes the box and zooms",
  async (visitor) => {
    await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
    await visitor.touch([
      [[0.5, 0.2]],
      [[0.6, 0.3]],
      [[0.6, 0.6], [0.2, 0.6]],
      [[0.7, 0.6], [0.1, 0.6]],
    ]);
    assert.deepEqual(await fieldsOf(visitor), { lower: "", upper: "" });
    // Fingers that were 0.4 of the chart apart are 0.6 apart now: two thirds of the time.
    // The browser ignores the first 15 pixels of a finger's move.
    const shown = await timeShown(visitor);
    assert.match(shown, /^(1\.9|2|2\.1) min$/);
    await visitor.touch([[[0.5, 0.2]], [[0.6, 0.3]], [[0.6, 0.4]]]);
    const drawn = await fieldsOf(visitor);
    assert.notEqual(drawn.lower, "", "one finger draws again");
    // A finger from the past into the future draws nothing.
    await visitor.touch([[[0.3, 0.6]], [[0.5, 0.6]], [[0.8, 0.6]]]);
    assert.deepEqual(await fieldsOf(visitor), drawn);
  },
  SMALL,
  OPTIONS,
));

const LOW = { width: 1360, height: 600 }; // the page can scroll

Deno.test(pageTest(
  "the wheel zooms, as do the buttons with the keyboard",
  async (visitor) => {
    const { page } = visitor;
    await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
    await keepsProbing(visitor);
    await visitor.drag([0.7, 0.2], [0.8, 0.6]);
    const drawn = await fieldsOf(visitor);
    const canvas = await page.$(".chart canvas");
    await canvas?.hover(); // all of it is on the screen
    const scrolled = () => page.$eval("html", ({ scrollTop }) => scrollTop);
    const before = await scrolled();
    await page.mouse.wheel({ deltaY: 500 });
    await eventually("twice the time", async () => {
      return await timeShown(visitor) === "6 min";
    });
    assert.equal(await scrolled(), before);
    await page.mouse.wheel({ deltaY: -500 });
    await eventually("the time before", async () => {
      return await timeShown(visitor) === "3 min";
    });
    // Not a counter of minutes, which "+" would raise.
    const buttons = await visitor.textOf('[aria-label^="Time shown"]');
    assert.equal(buttons, "Shows 3 min−+");
    await page.focus('[aria-label="Show less time"]');
    for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("Enter");
    assert.equal(await timeShown(visitor), "10 s", "the least");
    await page.focus('[aria-label="Show more time"]');
    await page.keyboard.press("Enter");
    assert.equal(await timeShown(visitor), "20 s");
    assert.deepEqual(await fieldsOf(visitor), drawn, "the box stays as it is");
  },
  LOW,
  OPTIONS,
));

/** A mouse that rests on the future shows what a box there pays now. */
async function keepsProbing(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  let asked = 0;
  page.on("request", (request) => asked += Number(request.url().endsWith("/estimate")));
  const at = await visitor.chart();
  await page.mouse.move(...at(0.75, 0.4));
  await eventually("the payout there is asked for again and again", () => {
    return Promise.resolve(asked >= 3);
  });
}

async function fieldsOf(visitor: Visitor): Promise<{ lower: string; upper: string }> {
  return { lower: await visitor.valueOf("lower"), upper: await visitor.valueOf("upper") };
}

async function timeShown({ page }: Visitor): Promise<string> {
  const label = await page.$eval('[aria-label^="Time shown"]', ({ ariaLabel }) => ariaLabel);
  return label?.replace("Time shown: ", "") ?? "";
}
