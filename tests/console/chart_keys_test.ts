/** The keys of the chart. */
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { pageTest } from "./shared_page.ts";

const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

Deno.test(
  pageTest("on the chart, ? shows the keys; a message is closed without a mouse", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    const close = '[aria-label="Close the message"]';
    // The chart's keys are seen only after their button or "?".
    await page.focus(".chart .area");
    const area = await page.accessibility.snapshot({
      root: await page.$(".chart .area") ?? assert.fail(),
    });
    assert.equal(area?.description, "Press ? for the keys.");
    const isShown = () => page.$eval(".keys ul", (keys) => keys.checkVisibility());
    assert.equal(await isShown(), false);
    await page.keyboard.press("?");
    await page.waitForSelector(".keys ul", { visible: true });
    await page.keyboard.press("?");
    await page.waitForSelector(".keys:not([open])");
    await page.setViewport({ width: 320, height: 640 });
    await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
    await page.keyboard.press("Tab");
    await page.waitForSelector(".keys summary:focus");
    await page.$eval("html", (html) => html.style.removeProperty("font-size"));
    await page.focus(".chart .area");
    await page.keyboard.press("m");
    await visitor.hears(/^No box yet/);
    // Escape closes the message and says so; the keys are hidden as they were shown.
    await page.keyboard.press("ArrowUp");
    await visitor.hears(/^No box yet/);
    await page.waitForSelector(close);
    await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
    await page.keyboard.press("?");
    await visitor.hears(/^Enter: suggest a box, then quote it\. .* Escape: undo .* Delete: leave /);
    assert.equal(await isShown(), true);
    const [chartEnd = 0, keysStart = 0] = await page.$$eval(
      ".chart, .keys",
      ([chart, keys]) => [chart?.getBoundingClientRect().bottom, keys?.getBoundingClientRect().top],
    );
    assert(keysStart >= chartEnd, "below the chart");
    await page.$eval("html", (html) => html.style.removeProperty("font-size"));
    await page.keyboard.press("?");
    await visitor.hears(/^Keys hidden\.$/);
    assert.equal(await isShown(), false);
    assert.notEqual(await page.$(close), null, "the message is still there");
    await page.keyboard.press("Escape");
    await visitor.hears(/^Message closed\.$/);
    await page.waitForSelector(close, { hidden: true });
    await page.setViewport({ width: 1360, height: 900 });
    await page.keyboard.press("ArrowUp");
    await visitor.hears(/No box yet: press Enter/);
    await visitor.press("Close the message");
    await page.waitForSelector("main:focus"); // the button is gone
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("on the chart, keys zoom, and Escape undoes the last thing only", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    const close = '[aria-label="Close the message"]';
    await page.focus(".chart .area");
    await page.keyboard.press("-");
    await visitor.hears(/^Time shown: 2 min$/);
    await page.keyboard.press("+");
    await visitor.hears(/^Time shown: 1 min$/);
    await visitor.press("Show less time");
    await visitor.hears(/^Time shown: 30 s$/);
    await visitor.press("Show more time");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await visitor.hears(/^Suggested box: /);
    await visitor.press("Clear");
    await visitor.hears(/^The box was cleared\.$/);
    await page.waitForSelector(".chart .area:focus"); // the button is gone
    const upper = () => page.$eval("input[name=upper]", ({ value }) => value);
    assert.equal(await upper(), "");
    await page.keyboard.down("Control");
    await page.keyboard.press("z");
    await page.keyboard.up("Control");
    assert.notEqual(await upper(), "");
    await page.keyboard.press("Escape");
    assert.equal(await upper(), "");
    // Escape closes a message first, and only that.
    await page.keyboard.press("ArrowUp");
    await page.waitForSelector(close);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.waitForSelector(close, { hidden: true });
    assert.notEqual(await upper(), "");
    await page.keyboard.press("Escape");
    assert.equal(await upper(), "");
    // During a drag, it undoes that, whatever message is shown.
    await page.keyboard.press("ArrowUp");
    await page.waitForSelector(close);
    const chart = await page.$eval(".chart .area", (area) => {
      const { left, top, width, height } = area.getBoundingClientRect();
      return { left, top, width, height };
    });
    const at = (x: number, y: number) =>
      [chart.left + x * chart.width, chart.top + y * chart.height] as const;
    await page.mouse.move(...at(0.6, 0.3));
    await page.mouse.down();
    await page.mouse.move(...at(0.8, 0.7), { steps: 4 });
    assert.notEqual(await upper(), "");
    await page.keyboard.press("Escape");
    await visitor.hears(/^The drag was undone\.$/);
    assert.equal(await upper(), "");
    await page.mouse.up();
    await page.keyboard.press("Escape"); // closes the message, if it is still there
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("on the chart, keys suggest and move a box, and say what it pays", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    // Enter suggests a box although a field is wrong, with the times that are right.
    await visitor.fill("startsIn", "abc");
    await page.waitForSelector('input[name=startsIn][aria-invalid="true"]');
    // The error of the field that is left is read, not that of the first wrong one.
    await visitor.fill("lasts", "0");
    await page.keyboard.press("Tab");
    await visitor.hears(/^Lasts: Enter 1 s to 1 d, /);
    await visitor.fill("lasts", "90");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await visitor.hears(/^Suggested box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    // The times that the user has entered stay.
    await visitor.hears(/^Suggested box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    await visitor.hears(
      /^Your box pays [\d.]+ USDC \(× [\d.]+\), chance [\d.]+ %, break-even [\d.]+ %\./,
    );
    await visitor.sees(/Odds\s+×\s\d/);
    await page.focus(".chart .area");
    await page.keyboard.press("p");
    await visitor.hears(
      /^ETH\/USDT: [23],\d{3}\.\d\d\. The price is (in|out)side, \d+\.\d\d (above|below) the (upper|lower) edge of your box\. Your box pays [\d.]+ USDC \(/,
    );
    await page.keyboard.press("m");
    await visitor.hears(/^Moved box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    const before = await page.$eval("input[name=upper]", ({ value }) => Number(value));
    for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("ArrowUp");
    await visitor.hears(/^Box: from /);
    const said = await page.$$eval(
      ".messages p",
      (lines) => lines.filter(({ textContent }) => textContent?.startsWith("Box: ")).length,
    );
    assert.equal(said, 1, "five presses are one sentence");
    await page.waitForFunction(
      (input, before) => Number(input && Reflect.get(input, "value")) > before,
      {},
      await page.$("input[name=upper]"),
      before,
    );
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("on a touch screen, the keys are listed once ? was pressed", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.sees(/Live/);
    const isListed = () => page.$eval(".keys", (keys) => keys.checkVisibility());
    assert.equal(await isListed(), false);
    await page.$eval(".chart .area", (area) => area.focus());
    await page.keyboard.press("?");
    await eventually("the keys", async () => await isListed() || undefined);
    await visitor.close();
  }),
);
