/** The keys of the chart, and its look: with less motion, and in another theme. */
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import { eventually } from "../support/eventually.ts";
import { pageTest } from "./shared_page.ts";

Deno.test(pageTest("? shows the keys; a message is closed without a mouse", async (visitor) => {
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
  await visitor.setTextSize("200%");
  await page.keyboard.press("Tab");
  await page.waitForSelector(".keys summary:focus");
  await visitor.setTextSize("100%");
  await page.focus(".chart .area");
  await page.keyboard.press("m");
  await visitor.hears(/^No box yet/);
  // Escape closes the message and says so; the keys are hidden as they were shown.
  await page.keyboard.press("ArrowUp");
  await visitor.hears(/^No box yet/);
  await page.waitForSelector(close);
  await visitor.setTextSize("200%");
  await page.keyboard.press("?");
  await visitor.hears(/^Enter: suggest a box, then quote it\. .* Escape: undo /);
  assert.equal(await isShown(), true);
  const [chart, keys] = [await visitor.placeOf(".chart"), await visitor.placeOf(".keys")];
  assert(keys.top >= chart.bottom, "below the chart");
  await visitor.setTextSize("100%");
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
}));

Deno.test(pageTest("keys zoom, and Escape undoes the last thing only", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  const close = '[aria-label="Close the message"]';
  await page.focus(".chart .area");
  await page.keyboard.press("-");
  await visitor.hears(/^Time shown: 6 min$/);
  await page.keyboard.press("+");
  await visitor.hears(/^Time shown: 3 min$/);
  await visitor.press("Show less time");
  await visitor.hears(/^Time shown: 1\.5 min$/);
  await visitor.press("Show more time");
  await page.focus(".chart .area");
  await page.keyboard.press("Enter");
  await visitor.hears(/^Suggested box: /);
  await visitor.press("Clear the box");
  await visitor.hears(/^The box was cleared\.$/);
  await page.waitForSelector(".chart .area:focus"); // the button is gone
  const upper = () => visitor.valueOf("upper");
  assert.equal(await upper(), "");
  await page.keyboard.press("Enter");
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
  const at = await visitor.chart();
  await page.mouse.move(...at(0.6, 0.3));
  await page.mouse.down();
  await page.mouse.move(...at(0.8, 0.7), { steps: 4 });
  assert.notEqual(await upper(), "");
  await page.keyboard.press("Escape");
  await visitor.hears(/^The drag was undone\.$/);
  assert.equal(await upper(), "");
  await page.mouse.up();
  await page.keyboard.press("Escape"); // closes the message, if it is still there
}));

Deno.test(pageTest("keys suggest and move a box, and say what it pays", async (visitor) => {
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
  await page.keyboard.down("Alt");
  await page.keyboard.press("ArrowLeft"); // the browser's "Back"
  await page.keyboard.up("Alt");
  const saidBoxes = () =>
    page.$$eval(
      ".messages p",
      (lines) => lines.filter(({ textContent }) => textContent?.startsWith("Box: ")).length,
    );
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.deepEqual([await visitor.valueOf("startsIn"), await saidBoxes()], ["20 s", 0]);
  const before = Number(await visitor.valueOf("upper"));
  const isPrevented = page.evaluate(
    "new Promise((end) => addEventListener('keydown', (event) => end(event.defaultPrevented)))",
  );
  for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("ArrowUp");
  assert(await isPrevented, "the page does not scroll");
  await visitor.hears(/^Box: from /);
  assert.equal(await saidBoxes(), 1, "five presses are one sentence");
  assert(Number(await visitor.valueOf("upper")) > before);
  // In enlarged text the chart is a narrow one, of which the future is the larger part.
  await visitor.setTextSize("200%");
  for (let pressed = 0; pressed < 2; pressed++) await visitor.press("Show less time");
  await visitor.fill("lasts", "1 min");
  await page.waitForSelector('[aria-label="Time shown: 3 min"]');
}));

const countFrames = async (page: Page) => {
  await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await page.evaluateOnNewDocument(() => {
    const prototype = Reflect.get(globalThis, "CanvasRenderingContext2D").prototype;
    const { save } = prototype;
    Object.assign(globalThis, { painted: 0 });
    prototype.save = function () {
      Object.assign(globalThis, { painted: Reflect.get(globalThis, "painted") + 1 });
      return save.call(this);
    };
  });
};

Deno.test(pageTest("with less motion, the chart follows a drag and the theme", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/ETH\/USDT\s+[23],\d{3}/);
  await page.mouse.move(5, 5);
  const painted = () => page.evaluate(() => Number(Reflect.get(globalThis, "painted")));
  const resting = await painted();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const rested = await painted() - resting;
  assert(rested >= 1 && rested <= 10, `${rested} in 2 s: two for each half second`);
  const at = await visitor.chart();
  await page.mouse.move(...at(0.6, 0.3));
  await page.mouse.down();
  const before = await painted();
  const STEPS = 30;
  for (let step = 1; step <= STEPS; step++) {
    await page.mouse.move(...at(0.6 + 0.006 * step, 0.3 + 0.012 * step));
    await visitor.nextFrame();
  }
  const dragged = await painted() - before;
  assert(dragged >= STEPS * 0.8, `${dragged} frames for ${STEPS} moves`);
  await page.mouse.up();
  const corner = async () =>
    Number(
      await page.evaluate(
        `document.querySelector(".chart canvas").getContext("2d").getImageData(1, 1, 1, 1).data[0]`,
      ),
    );
  assert(await corner() > 200, "light");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await eventually("a dark chart", async () => await corner() < 60);
}, countFrames));
