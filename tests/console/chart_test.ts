/** The chart under fingers, wheel and buttons, on markets that are not the specification's. */
import assert from "node:assert/strict";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { startStack } from "../../services/stack/stack.ts";
import { consolePage } from "../support/console_page.ts";
import { eventually } from "../support/eventually.ts";
import { marketsToml, withMarketsFile } from "../support/files.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";

/** As long as a symbol can be. */
const LONG_SYMBOL = "ABCDEFGHIJKLMNOP/QRSTUVWXYZ012345";

const MARKETS = `${marketsToml(20)}
[[market]]
symbol = "${LONG_SYMBOL}"
base = "0x${"12".repeat(20)}"
quote = "0x${"34".repeat(20)}"
`;

const PHONE = { width: 360, height: 740, isMobile: true, hasTouch: true };

Deno.test({
  name: "Console: on a phone, fingers draw and zoom, with markets of a file",
  ignore: !hasChromium,
  async fn(t) {
    await withMarketsFile(MARKETS, async (markets) => {
      await using stack = await startStack({
        ports: { ...FREE_PORTS, console: 0 },
        page: await consolePage(),
        seed: 1,
        markets,
      });
      await using browser = await launchBrowser();
      const open = () => Visitor.open(browser, stack.urls.console ?? assert.fail());
      const client = new RangemakerClient({ urls: stack.urls, chainId: 1337 });
      await eventually("prices of all markets", async () => {
        const prices = Object.values(await client.prices());
        return prices.length === 21 && prices.every(({ state }) => state === "fresh") ||
          undefined;
      });

      await t.step(
        "a finger draws a box on the longest symbol, and the bet is placed",
        async () => {
          const visitor = await open();
          const { page } = visitor;
          await page.setViewport(PHONE);
          await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
          assert.equal((await page.$$("[data-price]")).length, 21);
          assert.equal(await visitor.textOf(".field-lower .unit"), "(EUR)");
          await visitor.enter();
          await page.$eval(`[data-price="${LONG_SYMBOL}"]`, ({ parentElement }) => {
            parentElement?.click();
          });
          await visitor.sees(/QRSTUVWXYZ012345/);
          await visitor.touch([[[0.5, 0.2]], [[0.6, 0.3]], [[0.65, 0.9]]]);
          await visitor.sees(/You get\s+[\d.]+ USDC, at least [\d.]+\s+Odds\s+×\s\d/);
          const drawn = await fieldsOf(visitor);
          assert(Number(drawn.lower) < Number(drawn.upper), JSON.stringify(drawn));
          await assertFits(visitor);
          await page.focus('[aria-label="Show more time"]');
          for (let pressed = 0; pressed < 3; pressed++) await page.keyboard.press("Enter");
          assert.equal(await timeShown(visitor), "8 min");
          await visitor.press("Get a quote");
          await visitor.press("Sign and place the bet");
          await visitor.sees(/Bet 1 is placed/);
          // The view fits the bet.
          await page.waitForSelector('[aria-label="Time shown: 1 min"], [aria-label$=" 30 s"]');
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
            await assertFits(visitor);
          }
          await visitor.close();
        },
      );

      await t.step(
        "a second finger undoes the box and zooms",
        async () => {
          const visitor = await open();
          await visitor.page.setViewport(PHONE);
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
          assert.match(shown, /^(3[89]|4[01])(\.\d)? s$/);
          await visitor.touch([[[0.5, 0.2]], [[0.6, 0.3]], [[0.6, 0.4]]]);
          const drawn = await fieldsOf(visitor);
          assert.notEqual(drawn.lower, "", "one finger draws again");
          // A missed handle replaces the box, which undo restores.
          await visitor.touch([[[0.5, 0.7]], [[0.6, 0.8]], [[0.6, 0.9]]]);
          assert.notDeepEqual(await fieldsOf(visitor), drawn);
          await visitor.press("Undo");
          assert.deepEqual(await fieldsOf(visitor), drawn);
          // A finger from the past into the future draws nothing.
          await visitor.touch([[[0.3, 0.6]], [[0.5, 0.6]], [[0.8, 0.6]]]);
          assert.deepEqual(await fieldsOf(visitor), drawn);
          await visitor.close();
        },
      );

      await t.step("the wheel zooms, as do the buttons with the keyboard", async () => {
        const visitor = await open();
        const { page } = visitor;
        await page.setViewport({ width: 1360, height: 600 }); // the page can scroll
        await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
        await visitor.drag([0.7, 0.2], [0.8, 0.6]);
        const drawn = await fieldsOf(visitor);
        const canvas = await page.$(".chart canvas");
        await canvas?.hover(); // all of it is on the screen
        const scrolled = () => page.$eval("html", ({ scrollTop }) => scrollTop);
        const before = await scrolled();
        await page.mouse.wheel({ deltaY: 500 });
        await eventually("two minutes", async () => {
          return await timeShown(visitor) === "2 min" || undefined;
        });
        assert.equal(await scrolled(), before);
        await page.mouse.wheel({ deltaY: -500 });
        await eventually("a minute again", async () => {
          return await timeShown(visitor) === "1 min" || undefined;
        });
        // Not a counter of minutes, which "+" would raise.
        const buttons = await visitor.textOf('[aria-label^="Time shown"]');
        assert.equal(buttons, "Shows 1 min−+");
        await page.focus('[aria-label="Show less time"]');
        for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("Enter");
        assert.equal(await timeShown(visitor), "10 s", "the least");
        await page.focus('[aria-label="Show more time"]');
        await page.keyboard.press("Enter");
        assert.equal(await timeShown(visitor), "20 s");
        assert.deepEqual(await fieldsOf(visitor), drawn, "the box stays as it is");
        await visitor.press("Clear");
        await page.reload();
        await visitor.sees(/T1\/EUR\s+\d{2,3}\.\d{3}/);
        assert.equal(await timeShown(visitor), "20 s", "after a reload, too");
        await visitor.close();
      });
    });
  },
});

async function fieldsOf({ page }: Visitor): Promise<{ lower: string; upper: string }> {
  const read = (name: string) => page.$eval(`input[name=${name}]`, ({ value }) => value);
  return { lower: await read("lower"), upper: await read("upper") };
}

async function timeShown({ page }: Visitor): Promise<string> {
  const label = await page.$eval('[aria-label^="Time shown"]', ({ ariaLabel }) => ariaLabel);
  return label?.replace("Time shown: ", "") ?? "";
}

/** Nothing is wider than the page. */
async function assertFits({ page }: Visitor): Promise<void> {
  const [scroll, client] = await page.$eval(
    "html",
    ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth],
  );
  assert.equal(scroll, client);
}
