/** How the page feels under a thumb, by keyboard alone, and with reduced motion. */
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { STACK_PRICING, startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { seriousViolations } from "./accessibility.ts";
import type { Place, Visitor } from "./browser.ts";
import { pageTest } from "./shared_page.ts";

const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

Deno.test(
  pageTest("on a phone, the thumb always reaches the button of the next step", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.sees(/Live/);
    for (
      const [action, then] of [
        ["Make a test account", /Take test money/],
        ["Take test money", /1,000\.00 USDC/],
      ] as const
    ) {
      await assertInReach(page, action);
      assert.deepEqual(await smallTargets(page), [], action);
      await visitor.press(action);
      await visitor.sees(then);
    }
    // On the lowest screen, a heading is where messages are.
    const [heading = 0, bar = 0] = await page.$$eval(
      ".side h2, .action-bar",
      ([heading, bar]) => [heading?.getBoundingClientRect().bottom, bar?.clientHeight],
    );
    const low = Math.round(heading + bar + 20);
    for (
      const [scrollTop, height] of [[0, PHONE.height], [100_000, PHONE.height], [0, low]]
    ) {
      await page.setViewport({ ...PHONE, height: height ?? 0 });
      await page.$eval("html", (html, top) => html.scrollTop = top, scrollTop ?? 0);
      await eventually(
        "a message beside what can be pressed",
        async () => (await coveredByMessage(page)).join() === "" || undefined,
      );
    }
    await page.setViewport(PHONE);
    await assertInReach(page, "Suggest a box");
    await visitor.press("Suggest a box");
    await visitor.sees(
      /You get\s+[\d.]+ USDC, at least [\d.]+\s+Odds\s+×\s[\d.]+\s+Chance\s+[\d.]+\s%\s+Break-even\s+[\d.]+\s%/,
    );
    assert.deepEqual(await hiddenFocus(page), []);
    // 60 s from 20 s on do not fit beside the past of the minute shown before.
    await page.waitForSelector('[aria-label="Time shown: 3 min"]');
    for (
      const [action, then] of [
        ["Get a quote", /Sign within \d+ s\./],
        ["Sign and place the bet", /is placed/],
        ["Make another bet", /Draw on the chart/],
      ] as const
    ) {
      await assertInReach(page, action);
      if (action === "Sign and place the bet") await assertTermsInBar(page);
      assert.deepEqual(await seriousViolations(page), [], action);
      assert.deepEqual(await smallTargets(page), [], action);
      await visitor.press(action);
      await visitor.sees(then);
    }
    assert.match(
      await visitor.textOf(".legend .open"),
      /^● Bet 1: .*\d+ s.*, pays \d+\.\d\d USDC$/,
    );
    await page.$eval("html", (html) => html.scrollTop = 600);
    await page.reload();
    await visitor.sees(/1 open/);
    const opened = await page.evaluate(
      "[scrollY, document.activeElement === document.body].join()",
    );
    assert.equal(opened, "0,true", "at the top, without a focus");
    // A row shows its bet on the chart, and draws its box again.
    await page.$eval("html", (html) => html.scrollTop = 900);
    await page.$eval('tr[data-thesis="1"]', (row) => row.click());
    await page.waitForSelector('tr[data-thesis="1"][data-chosen="true"]');
    const marked = await page.$eval(
      'tr[data-thesis="1"]',
      (row) => row.ownerDocument.defaultView?.getComputedStyle(row).backgroundColor,
    );
    assert.notEqual(marked, "rgba(0, 0, 0, 0)", "the whole row, not its cells");
    const top = await page.$eval(".chart", (chart) => chart.getBoundingClientRect().top);
    assert(top > -1 && top < PHONE.height / 2, `${top}`);
    assert.equal(await page.$eval("input[name=lower]", ({ value }) => value), "");
    await visitor.press("Repeat bet 1");
    await visitor.sees(/Odds\s+×\s\d/);
    assert.equal(await page.$eval("input[name=lasts]", ({ value }) => value), "1 min");
    for (const view of ["maker", "operator"]) {
      await page.$eval(`nav a[href="#${view}"]`, (link) => link.click());
      await visitor.sees(view === "maker" ? /What you may lose/ : /Price sources/);
      assert.deepEqual(await smallTargets(page), [], view);
    }
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("buttons move or fit a box that cannot be priced; back drops a quote", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.enter();
    await visitor.press("Suggest a box");
    await visitor.press("Get a quote");
    await visitor.sees(/Sign within \d+ s\./);
    // Refused as it is asked for, and by each estimate after it.
    await page.goBack();
    await visitor.sees(/Odds\s+×\s\d/);
    await page.evaluate(`for (const [name, value] of [["upper", 8994], ["lower", 8990]]) {
const input = document.querySelector("input[name=" + name + "]");
input.value = value;
input.dispatchEvent(new Event("input", { bubbles: true }));
if (name === "lower") input.form.requestSubmit();
}`);
    await visitor.sees(/Move the box to the price/);
    const said = await page.$$eval(
      ".action-bar p",
      (parts) => parts.filter(({ textContent }) => textContent?.includes("outside the box")),
    );
    assert.equal(said.length, 1);
    await visitor.press("Move the box to the price");
    await visitor.sees(/Odds\s+×\s\d/);
    await focusIsOn(page, "Get a quote");
    const sides = () =>
      page.$$eval(
        "input[name=lower], input[name=upper]",
        (inputs) => inputs.map(({ value }) => Number(value)),
      );
    const [moved = 0, top = 0] = await sides();
    assert(moved > 1_000 && moved < 4_000, `${moved}`);
    assert.equal(Math.round(100 * (top - moved)), 400, "it keeps its height");
    await visitor.fill("lower", "1000");
    await visitor.fill("upper", "9000");
    await visitor.fill("lasts", "30 s");
    await visitor.press("Fit its height");
    await visitor.sees(/Odds\s+×\s\d/);
    await focusIsOn(page, "Get a quote");
    const [lower = 0, upper = 0] = await sides();
    assert(upper - lower > 1 && upper - lower < 60, `${lower} to ${upper}`);
    assert.equal(await page.$eval("input[name=lasts]", ({ value }) => value), "30 s");
    await visitor.press("Get a quote");
    await visitor.sees(/Sign within \d+ s\./);
    await page.reload();
    const dropped = /The quote was dropped as the page was loaded again/;
    await visitor.sees(dropped);
    await hears(page, /^Your box pays [\d.]+ USDC/);
    const shown = await page.$$eval(
      ".messages p",
      (lines) =>
        lines.filter((line) => line.computedStyleMap().get("clip-path")?.toString() === "none")
          .map(({ textContent }) => textContent),
    );
    assert.match(shown.join(), dropped, "what is only spoken does not replace what is seen");
    assert.equal(await page.$eval("input[name=upper]", ({ value }) => Number(value)), upper);
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest(
    "a press that was on its way as the price changed the button does nothing",
    async (open) => {
      const visitor = await open();
      const { page } = visitor;
      await visitor.enter();
      await visitor.press("Suggest a box");
      await visitor.sees(/Odds\s+×\s\d/);
      const box = () =>
        page.$$eval(".fields input", (inputs) => inputs.map(({ value }) => value).join());
      const before = await box();
      await page.evaluate(`new MutationObserver((_, watch) => {
      const button = document.querySelector(".action-bar [data-next]");
      if (button?.textContent !== "Move the box to the price") return;
      watch.disconnect();
      button.click();
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
      await page.setRequestInterception(true);
      page.on("request", (request) => {
        if (!request.url().endsWith("/estimate")) return void request.continue();
        const away = { lowerPrice: "1000000", upperPrice: "2000000" };
        const bet = { ...JSON.parse(request.postData() ?? "{}"), ...away };
        void request.continue({ postData: JSON.stringify(bet) });
      });
      await visitor.sees(/The price moved, and the button changed: press again\./);
      assert.equal(await box(), before);
      await visitor.press("Move the box to the price");
      await hears(page, /^Moved box: /);
      await visitor.close({ outages: true });
    },
  ),
);

Deno.test(
  pageTest("the slip warns of a box whose payout moves by more than is accepted", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.enter();
    // Low enough that the chance depends on its height.
    await visitor.fill("startsIn", "8 s");
    await visitor.fill("lasts", "15 s");
    await visitor.press("Suggest a box");
    await visitor.sees(/Odds\s+×\s\d/);
    await visitor.seesNo(/Often refused/);
    await page.select(".side select", "0"); // each move of the price changes the payout
    await visitor.sees(
      /Often refused: the payout changes by more than 0 % while you sign\. Taller, longer or later/,
    );
    await page.$eval("html", (html) => html.scrollTop = 0);
    assert.deepEqual(await cutOff(page, [".legend .choice"]), [], "the longer bar hides no button");
    await page.focus(".chart .area");
    await page.keyboard.press("p");
    await hears(page, /Your box pays .* Often refused: /);
    await page.select(".side select", "15");
    await visitor.seesNo(/Often refused/);
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("a swipe scrolls the page, drawing does not; a quote stops drawing", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.sees(/Live/);
    const scrolled = () => page.$eval("html", ({ scrollTop }) => scrollTop);
    const lower = () => page.$eval("input[name=lower]", ({ value }) => value);
    const scrolls = async (from: Place, to: Place) => {
      // The page keeps scrolling for a moment after the finger is lifted.
      const scrollEnd = page.evaluate(`new Promise((resolve) =>
    document.addEventListener("scrollend", () => resolve(true), { once: true }))`);
      await swipe(visitor, from, to);
      assert(await scrollEnd && await scrolled() > 50, "the page has scrolled");
      await page.$eval("html", (html) => html.scrollTop = 0);
    };
    await scrolls([0.15, 0.8], [0.2, 0.2]);
    await scrolls([0.6, 0.8], [0.62, 0.2]); // on the future
    assert.equal(await lower(), "");
    await swipe(visitor, [0.5, 0.2], [0.62, 0.8]); // the page is at its top
    await eventually("a box", async () => await lower() !== "" || undefined);
    await visitor.seesNo(/a quick vertical stroke scrolls/);
    // A box is not moved by a finger that does not rest first.
    const drawn = await lower();
    await swipe(visitor, [0.56, 0.4], [0.57, 0.7]);
    await visitor.sees(/Hold for a moment, then draw or resize: a quick vertical stroke scrolls\./);
    assert.equal(await lower(), drawn);
    await visitor.press("Clear");
    await swipe(visitor, [0.5, 0.6], [0.7, 0.61]);
    assert.equal(await lower(), "", "a sliver is not meant");
    await visitor.touch([[[0.6, 0.5]]]); // a tap where the chart invites to draw
    await eventually("a suggested box", async () => await lower() !== "" || undefined);
    await visitor.press("Clear");
    await swipe(visitor, [0.5, 0.8], [0.6, 0.2], 300);
    await eventually("a box", async () => await lower() !== "" || undefined);
    assert.equal(await scrolled(), 0);
    // From the inside of the box, straight up: after a rest it moves, and the page does not.
    const before = await lower();
    await scrolls([0.55, 0.5], [0.55, 0.1]);
    assert.equal(await lower(), before);
    await swipe(visitor, [0.55, 0.5], [0.55, 0.3], 300);
    await eventually(
      "a higher box",
      async () => Number(await lower()) > Number(before) || undefined,
    );
    assert.equal(await scrolled(), 0);
    // Near a corner, a quick stroke moves the box as it is; after a rest, it resizes it.
    const sides = () =>
      page.$$eval(
        "input[name=lower], input[name=upper], input[name=lasts]",
        (inputs) => inputs.map(({ value }) => parseFloat(value)),
      );
    const heightOf = ([low = 0, high = 0]: number[]) => Math.round(100 * (high - low));
    await visitor.press("Clear");
    await swipe(visitor, [0.5, 0.7], [0.7, 0.3], 300);
    await eventually("a box", async () => await lower() !== "" || undefined);
    const drawnSides = await sides();
    await swipe(visitor, [0.65, 0.38], [0.57, 0.4]); // beside the handle
    const movedSides = await eventually("a moved box", async () => {
      const now = await sides();
      return now[0] !== drawnSides[0] ? now : undefined;
    });
    assert.deepEqual([heightOf(movedSides), movedSides[2]], [heightOf(drawnSides), drawnSides[2]]);
    await swipe(visitor, [0.6, 0.35], [0.55, 0.5], 300);
    await eventually("a smaller box", async () => {
      const now = await sides();
      return heightOf(now) < heightOf(drawnSides) && now[0] === movedSides[0] || undefined;
    });
    await visitor.enter();
    await visitor.press("Clear");
    await visitor.fill("startsIn", "20 s");
    await visitor.fill("lasts", "1 min");
    await visitor.press("Suggest a box");
    await visitor.press("Get a quote");
    await visitor.sees(/Sign within \d+ s\./);
    await page.$eval("html", (html) => html.scrollTop = 0);
    await swipe(visitor, [0.5, 0.8], [0.75, 0.3]);
    await visitor.sees(/Sign within \d+ s\./);
    await visitor.close({ outages: true }); // the price may be outside
  }),
);

Deno.test(
  pageTest("by keyboard, an account is opened; each wrong amount is explained", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    await page.setViewport({ width: 320, height: 640 });
    await page.waitForSelector("button[data-next]:not(:disabled)");
    await page.focus("button[data-next]");
    await visitor.sees(/Make a test account/);
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Take test money");
    // What is wrong with an amount is said each time.
    for (
      const [amount, problem] of [
        ["1000000000000000", "Enter an amount of at most 18,446,744,073,709."],
        ["0.0000001", "Enter an amount of at least 0.000001."],
        ["0", "Enter an amount of at least 0.000001."],
      ] as const
    ) {
      await page.$eval("[aria-describedby=deposit-problem]", (input) => input.select());
      await page.focus("[aria-describedby=deposit-problem]");
      await page.keyboard.type(amount);
      await page.$$eval(
        ".messages p",
        (lines) => lines.forEach((line) => line.setAttribute("data-heard", "")),
      );
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (problem, messages) => {
          const newest = messages?.querySelector("p:last-child:not([data-heard])");
          return newest?.textContent === problem;
        },
        {},
        problem,
        await page.$(".messages"),
      );
    }
    await page.$eval("[aria-describedby=deposit-problem]", (input) => input.select());
    await page.keyboard.type("1000");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Suggest a box");
    const { top, bottom } = await page.$eval(":focus", (part) => {
      const { top, bottom } = part.getBoundingClientRect();
      return { top, bottom };
    });
    assert(top >= 0 && bottom <= 640, `${top} to ${bottom} of 640: the focus is seen`);
    await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
    await page.focus('nav a[href="#operator"]');
    const right = await page.$eval(":focus", (tab) => tab.getBoundingClientRect().right);
    assert(right <= 320, `the focused tab ends at ${right} of 320`);
    await page.$eval("html", (html) => html.style.removeProperty("font-size"));
    await page.setViewport({ width: 1360, height: 900 });
    // The price is part of a button's name, which does not change while it has the focus.
    const market = await page.$('.markets button:has([data-price="ETH/USDT"])');
    const named = await page.accessibility.snapshot({ root: market ?? assert.fail() });
    assert.match(named?.name ?? "", /^ETH\/USDT [23],\d{3}\.\d\d$/);
    await market?.focus();
    await page.waitForSelector('[aria-label^="ETH/USDT 2,"], [aria-label^="ETH/USDT 3,"]');
    const headings = await page.$$eval("h1, h2", (parts) => parts.map((part) => part.textContent));
    assert.deepEqual(headings, ["Trade", "Market", "3. Draw your box", "Account", "Your bets"]);
    await visitor.close({ outages: true });
  }),
);

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
    await hears(page, /^No box yet/);
    // Escape closes the message and says so; the keys are hidden as they were shown.
    await page.keyboard.press("ArrowUp");
    await hears(page, /^No box yet/);
    await page.waitForSelector(close);
    await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
    await page.keyboard.press("?");
    await hears(page, /^Enter: suggest a box, then quote it\. .* Escape: undo .* Delete: leave /);
    assert.equal(await isShown(), true);
    const [chartEnd = 0, keysStart = 0] = await page.$$eval(
      ".chart, .keys",
      ([chart, keys]) => [chart?.getBoundingClientRect().bottom, keys?.getBoundingClientRect().top],
    );
    assert(keysStart >= chartEnd, "below the chart");
    await page.$eval("html", (html) => html.style.removeProperty("font-size"));
    await page.keyboard.press("?");
    await hears(page, /^Keys hidden\.$/);
    assert.equal(await isShown(), false);
    assert.notEqual(await page.$(close), null, "the message is still there");
    await page.keyboard.press("Escape");
    await hears(page, /^Message closed\.$/);
    await page.waitForSelector(close, { hidden: true });
    await page.setViewport({ width: 1360, height: 900 });
    await page.keyboard.press("ArrowUp");
    await hears(page, /No box yet: press Enter/);
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
    await hears(page, /^Time shown: 2 min$/);
    await page.keyboard.press("+");
    await hears(page, /^Time shown: 1 min$/);
    await visitor.press("Show less time");
    await hears(page, /^Time shown: 30 s$/);
    await visitor.press("Show more time");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await hears(page, /^Suggested box: /);
    await visitor.press("Clear");
    await hears(page, /^The box was cleared\.$/);
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
    await hears(page, /^The drag was undone\.$/);
    assert.equal(await upper(), "");
    await page.mouse.up();
    await page.keyboard.press("Escape"); // closes the message, if it is still there
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
    await hears(page, /^Lasts: Enter 1 s to 1 d, /);
    await visitor.fill("lasts", "90");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await hears(page, /^Suggested box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    // The times that the user has entered stay.
    await hears(page, /^Suggested box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    await hears(
      page,
      /^Your box pays [\d.]+ USDC \(× [\d.]+\), chance [\d.]+ %, break-even [\d.]+ %\./,
    );
    await visitor.sees(/Odds\s+×\s\d/);
    await page.focus(".chart .area");
    await page.keyboard.press("p");
    await hears(
      page,
      /^ETH\/USDT: [23],\d{3}\.\d\d\. The price is (in|out)side, \d+\.\d\d (above|below) the (upper|lower) edge of your box\. Your box pays [\d.]+ USDC \(/,
    );
    await page.keyboard.press("m");
    await hears(page, /^Moved box: from .* to .*, starts in 20 s, lasts 1 min 30 s\.$/);
    const before = await page.$eval("input[name=upper]", ({ value }) => Number(value));
    for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("ArrowUp");
    await hears(page, /^Box: from /);
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
  pageTest("by keyboard, the focus follows the steps of a quote", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.enter();
    await visitor.press("Close the message");
    await visitor.fill("startsIn", "20 s");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await visitor.sees(/Odds\s+×\s\d/);
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Sign and place the bet");
    const back = await page.$("button::-p-text(Change the box)");
    const { description } = await page.accessibility.snapshot({ root: back ?? assert.fail() }) ??
      {};
    assert.equal(description, "Drops the quote. The box stays.");
    await page.keyboard.press("Escape");
    await hears(page, /^Back to the box: no bet was placed\.$/);
    await page.waitForSelector(".chart .area:focus"); // where the quote was asked for
    await visitor.sees(/Odds\s+×\s\d/);
    await page.focus("input[name=amount]");
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    await hears(page, /^You bet: Enter a number such as 10\.50, with 6 decimals at most\.$/);
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Sign and place the bet");
    await page.keyboard.press("Escape");
    await focusIsOn(page, "Get a quote");
    // Its window begins before it is signed.
    const times = { startsIn: "8 s", lasts: "6 s" };
    for (const [field, text] of Object.entries(times)) await visitor.fill(field, text);
    await visitor.sees(/Odds\s+×\s\d/);
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Sign and place the bet");
    await focusIsOn(page, "Ask for a new quote");
    await hears(
      page,
      /^Too late: the window has begun\. Nothing was placed or taken\. Enter asks for a new quote\.$/,
    );
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Sign and place the bet");
    await page.keyboard.press("Escape");
    await focusIsOn(page, "Get a quote");
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("by keyboard, no early or held key signs a quote", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.enter();
    await visitor.press("Close the message");
    await page.focus(".chart .area");
    await page.keyboard.press("Enter");
    await visitor.sees(/Odds\s+×\s\d/);
    await page.focus("input[name=lasts]");
    // Neither a press as the quote appears signs it, nor a key that is held since the request.
    await page.evaluate(`new MutationObserver((_, observer) => {
  const button = document.querySelector("[data-next]");
  if (button.textContent !== "Sign and place the bet") return;
  observer.disconnect();
  button.click();
}).observe(document.querySelector(".side"), { childList: true, subtree: true })`);
    await page.keyboard.down("Enter");
    await focusIsOn(page, "Sign and place the bet");
    await hears(page, /^The quote is new: press again to sign it\.$/);
    await visitor.press("Close the message");
    await page.focus(".action-bar [data-next]");
    await page.waitForSelector("[data-next]:not([data-unread=true])");
    await page.keyboard.down("Enter"); // repeats
    await hears(page, /^The quote is new: press again to sign it\.$/);
    await page.keyboard.up("Enter");
    await hears(page, /^Quote: sign within \d+ s\. It pays [\d.]+ USDC\./);
    const terms = await page.$eval(":focus", (button) => button.getAttribute("aria-describedby"));
    assert.equal(terms, "terms range", "what is signed, which does not change each second");
    await page.evaluate(`
  globalThis.framesWithoutFocus = 0;
  (function look() {
    if (document.activeElement === document.body) framesWithoutFocus++;
    requestAnimationFrame(look);
  })()`);
    await page.waitForSelector("[data-next]:not([data-unread=true])");
    // On the chart, Enter goes to the button; neither that press nor holding it signs.
    await page.focus(".chart .area");
    for (let count = 0; count < 5; count++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await focusIsOn(page, "Sign and place the bet");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Make another bet");
    await hears(
      page,
      /^Bet \d+ is placed: it pays [\d.]+ USDC if the price stays in the box\. The window starts in \d+ s\.$/,
    );
    const lost = await page.evaluate("framesWithoutFocus");
    assert.ok(Number(lost) < 10, `${lost} frames without a focus while signing`);
    await page.focus(".chart .area");
    await page.keyboard.press("m");
    await hears(page, /^No box yet: press Enter/);
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("in enlarged text, a bet is repeated and no message covers a button", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.enter();
    await visitor.press("Suggest a box");
    await visitor.press("Get a quote");
    await visitor.press("Sign and place the bet");
    await visitor.sees(/is placed/);
    // In enlarged text, messages and the button are at the same place.
    await page.setViewport({ width: 320, height: 640 });
    await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
    await page.focus('[aria-label^="Repeat bet"]');
    await slowDown(page);
    await page.keyboard.press("Enter");
    await page.waitForSelector("[aria-label=Box] button");
    const [chartBottom = 0, buttonsTop = 0] = await page.$$eval(
      ".chart, [aria-label=Box]",
      ([chart, buttons]) => [
        chart?.getBoundingClientRect().bottom,
        buttons?.getBoundingClientRect().top,
      ],
    );
    assert(buttonsTop >= chartBottom, "below the chart, where they cover no box");
    const [tabsWidth, tabsShown] = await page.$eval(
      ".tabs",
      ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth],
    );
    assert.equal(tabsWidth, tabsShown, "no view is cut");
    await hears(
      page,
      /^The same bet of 10\.00 USDC on ETH\/USDT, around the price of now: .*starts in \d+ s/,
    );
    await focusIsOn(page, "Get a quote");
    const copy = await page.waitForSelector("button::-p-text(Copy link)");
    await copy?.focus();
    await page.keyboard.press("Enter");
    await page.focus("[data-next]");
    await page.waitForFunction(`(() => {
    const message = document.querySelector(".messages").getBoundingClientRect();
    const focused = document.activeElement.getBoundingClientRect();
    return message.height > 0 &&
      (focused.bottom <= message.top || focused.top >= message.bottom);
  })()`);
    await page.$eval("[data-next]", (button) => button.scrollIntoView({ block: "center" }));
    await page.waitForFunction(`(() => {
    const toasts = document.querySelector(".toasts");
    const message = toasts.getBoundingClientRect();
    const button = document.querySelector("[data-next]").getBoundingClientRect();
    return getComputedStyle(toasts).clipPath !== "none" ||
      message.height > 0 && (button.bottom <= message.top || button.top >= message.bottom);
  })()`);
    await page.focus(".chart .area");
    await page.keyboard.press("?");
    await page.waitForFunction(`(() => {
    const { top } = document.querySelector(".keys li").getBoundingClientRect();
    return top > -1 && top < innerHeight / 2;
  })()`);
    await visitor.close({ outages: true });
  }),
);

Deno.test(pageTest("an open bet is read and shown on the chart", async (open) => {
  const visitor = await open();
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.press("Make another bet");
  // Screen readers get the state of an open bet; the next box needs no pointer in the chart.
  await page.focus(".chart .area");
  await page.keyboard.press("p");
  await hears(
    page,
    /^ETH\/USDT: [\d,.]+\. Bet \d+: (starts in )?\d+ s( left)?, pays [\d.]+ USDC\. The price is (inside|outside), \d+\.\d\d (above|below) the (upper|lower) edge\.$/,
  );
  await page.keyboard.press("Enter");
  await hears(page, /^Suggested box: /);
  await page.waitForSelector(".chart .area:focus");
  await page.setViewport({ width: 1280, height: 800 });
  const [scroll, client] = await page.$eval(
    ".your-bets .scroller",
    ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth],
  );
  assert.equal(scroll, client, "the list fits");
  await page.focus("tbody th button");
  const [buttonStart = 0, tableStart = 0] = await page.$$eval(
    ".your-bets .scroller, tbody th button:focus",
    (parts) => parts.map((part) => part.getBoundingClientRect().left).reverse(),
  );
  assert(tableStart <= buttonStart - 4, "the outline of 4 pixels is not cut");
  await page.keyboard.press("Enter");
  await hears(page, /^Bet \d+ is shown on the chart: pays [\d.]+, ETH\/USDT from /);
  const notify = await page.waitForSelector("::-p-text(Notify me when a bet ends)");
  await notify?.focus();
  await page.keyboard.press("Enter"); // this browser refuses
  await hears(page, /^The browser does not allow notifications/);
  await focusIsOn(page, "Notify me when a bet ends");
  await visitor.close({ outages: true });
}));

Deno.test(
  pageTest(
    "the focus of a row that is removed stays in the list, until it is left",
    async (open) => {
      const visitor = await open();
      const { page } = visitor;
      await visitor.enter();
      await visitor.press("Suggest a box");
      await visitor.press("Bet all of your balance");
      await visitor.press("Get a quote");
      await visitor.press("Sign and place the bet");
      await visitor.sees(/Balance\s+0\.00 USDC/);
      const first = await page.$eval(".side > .card", ({ ariaLabel }) => ariaLabel);
      assert.equal(first, "Your box", "the outcome stays where the quote was");
      await visitor.press("Make another bet");
      await page.waitForSelector(".side > .card:first-child [data-next]::-p-text(Take test money)");
      assert.equal(await page.$eval("input[name=amount]", ({ value }) => value), "10", "not all");
      await page.waitForSelector('tr [aria-label^="Repeat bet"]');
      const show = (index: number) =>
        page.$$eval(
          "[aria-label='Bets shown'] button",
          (all, index) => all.at(index)?.click(),
          index,
        );
      await page.focus('tr [aria-label^="Repeat bet"]');
      await show(-1); // those that are lost: none
      await page.waitForSelector(".your-bets .scroller:focus");
      // The user goes on before the focus is put back, and then leaves that place on purpose.
      await show(0);
      await page.focus('tr [aria-label^="Repeat bet"]');
      await page.evaluate(`new MutationObserver((_, observer) => {
  observer.disconnect();
  document.querySelector("nav a").focus();
}).observe(document.querySelector(".your-bets"), { childList: true, subtree: true })`);
      await show(-1);
      await page.waitForSelector("nav a:focus");
      const pass = async () => {
        const nowMs = Number(await page.evaluate("performance.now()"));
        await page.waitForFunction(`performance.now() > ${nowMs + 250}`); // frames
      };
      await pass();
      await page.evaluate("document.activeElement.blur()");
      await show(0);
      await pass();
      assert.equal(await page.evaluate("document.activeElement === document.body"), true);
      await visitor.close({ outages: true });
    },
  ),
);

Deno.test(
  pageTest("a disabled button explains why; views are named; offline is shown", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    await visitor.press("Suggest a box");
    await visitor.sees(/Odds\s+×\s\d/);
    const button = await page.waitForSelector(
      `[aria-disabled="true"]::-p-text(Get a quote)`,
    );
    await button?.focus();
    await page.keyboard.press("Enter");
    await hears(page, /^Open your account first\.$/);
    assert.equal(await page.title(), "Trade · rangemaker");
    await page.focus('nav a[href="#maker"]');
    await page.keyboard.press("Enter");
    await page.waitForFunction(`document.title === "Maker · rangemaker"`);
    assert.equal(await page.evaluate("scrollY"), 0, "header and views stay in sight");
    const focused = await page.$eval(":focus", (part) => part.getAttribute("aria-label"));
    assert.equal(focused, "Maker");
    await page.goBack();
    await page.waitForFunction(`document.title === "Trade · rangemaker"`);
    await visitor.sees(/Odds\s+×\s\d/);
    await page.evaluate(`
  globalThis.causes = new Set();
  new MutationObserver(() => causes.add(document.querySelector(".connection").textContent))
    .observe(document.querySelector("header"), { childList: true, subtree: true, characterData: true })`);
    const lost = Promise.withResolvers<void>();
    page.on("requestfailed", (request) => {
      if (request.url().endsWith("/estimate")) lost.resolve();
    });
    await page.setOfflineMode(true);
    await visitor.sees(/No connection to the prices: reconnecting\. Your open bets go on/);
    await lost.promise;
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
    assert.match(
      await visitor.textOf("form .action-bar"),
      /^You get–Odds–Chance–Break-even–You bet \(USDC\)1050100Waiting for live prices$/,
      "no second reason",
    );
    assert.equal(
      await page.evaluate("[...causes].filter((cause) => cause !== 'Live').join()"),
      "Not live",
      "the chart says why",
    );
    await visitor.sees(/ETH\/USDT\s+[23],\d{3}\.\d\d\s*old/);
    await page.setOfflineMode(false);
    await visitor.sees(/Live/);
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("offline, the operator's view blames no service, and lists no outage", async (open) => {
    const visitor = await open();
    const { page } = visitor;
    await visitor.sees(/Live/);
    await page.evaluate('location.hash = "#operator"');
    await visitor.sees(/✓ healthy/);
    await page.setOfflineMode(true);
    await visitor.sees(/This page reaches no service\. Check your own connection first\./);
    await page.evaluate('location.hash = "#maker"'); // whose code was never loaded
    await visitor.sees(/This view was not loaded/);
    await page.setOfflineMode(false);
    await visitor.sees(/What you may lose/);
    await page.evaluate('location.hash = "#operator"');
    await visitor.sees(/✓ healthy/);
    const text = await page.$eval("main", ({ innerText }) => innerText);
    assert(!/does not answer|not answered/.test(text), text);
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest(
    "a chosen theme applies to charts in other tabs, and survives a reload",
    async (open) => {
      const visitor = await open();
      const { page } = visitor;
      await visitor.sees(/Live/);
      const corner = async () =>
        Number(
          await page.evaluate(
            `document.querySelector(".chart canvas").getContext("2d").getImageData(1, 1, 1, 1).data[0]`,
          ),
        );
      assert(await corner() > 200, "light");
      const other = await visitor.newTab();
      await other.sees(/Live/);
      await other.page.select("select[name=theme]", "dark");
      await page.bringToFront();
      await eventually("a dark chart", async () => await corner() < 60 || undefined);
      assert.equal(await page.$eval("select[name=theme]", ({ value }) => value), "dark");
      await page.reload();
      await visitor.sees(/Live/);
      await eventually("a dark chart", async () => await corner() < 60 || undefined);
      assert.deepEqual(await seriousViolations(page), []);
      await visitor.close();
    },
  ),
);

Deno.test(
  pageTest("a phone in landscape and a tablet show the chart and the box", async (open) => {
    const size = { width: 844, height: 390, isMobile: true, hasTouch: true };
    const visitor = await open((page) => page.setViewport(size));
    const { page } = visitor;
    // The column stays at its top when the card of the box becomes its first one.
    await visitor.press("Make a test account");
    await visitor.sees(/Take test money/);
    await page.$eval("button[data-next]", (button) => {
      button.click();
      button.closest(".side")?.scrollTo(0, 1_000);
    });
    await visitor.sees(/1,000\.00 USDC/);
    await page.waitForFunction('document.querySelector(".side").scrollTop === 0');
    await page.$eval("html", (html) => html.scrollTop = 0);
    const bottoms = await page.$$eval(
      ".chart canvas, .action-bar button.wide",
      (parts) => parts.map((part) => part.getBoundingClientRect().bottom),
    );
    // If the price has left the suggested box meanwhile, there is a button to move it, too.
    assert(bottoms.length === 2 || bottoms.length === 3, `${bottoms.length} parts`);
    await visitor.fill("amount", "1234.56");
    const [wide, shown = 0] = await page.$eval(
      "input[name=amount]",
      ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth],
    );
    assert(wide === shown && shown > 90, `${shown} pixels show the stake`);
    assert(bottoms.every((bottom) => bottom <= size.height), bottoms.join());
    // A box that ends at the edge of the future is still seen when that is a smaller part.
    await page.setViewport({ ...size, width: 390, height: 844 });
    const ahead = { startsIn: "10 s", lasts: "20 s", lower: "1000", upper: "9000" };
    for (const [field, text] of Object.entries(ahead)) await visitor.fill(field, text);
    await page.waitForSelector('[aria-label="Time shown: 1 min"]');
    await page.setViewport(size);
    await page.waitForSelector('[aria-label="Time shown: 1.5 min"]');
    const tablet = { ...size, width: 820, height: 1180 };
    await page.setViewport(tablet);
    await page.$eval("html", (html) => html.scrollTop = 0);
    await eventually("the button on the screen", async () => {
      const bottom = await page.$eval(
        ".action-bar button.wide",
        (button) => button.getBoundingClientRect().bottom,
      );
      return bottom <= tablet.height || undefined;
    });
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("a phone in landscape shows terms, next step and bets", async (open) => {
    const size = { width: 844, height: 390, isMobile: true, hasTouch: true };
    const visitor = await open((page) => page.setViewport(size));
    const { page } = visitor;
    await visitor.enter();
    await visitor.fill("amount", "20");
    for (const [field, text] of [["upper", "8994"], ["lower", "8990"]] as const) {
      await visitor.fill(field, text);
    }
    const move = await page.waitForSelector(".action-bar button::-p-text(Move the box)");
    assert.equal(
      await move?.evaluate((button) => {
        const { left, top, width, height } = button.getBoundingClientRect();
        const at = [left + width / 2, top + height / 2] as const;
        return button.ownerDocument.elementFromPoint(...at) === button;
      }),
      true,
      "nothing covers the button",
    );
    await visitor.press("Move the box to the price");
    await visitor.sees(/You get\s+[\d.]+ USDC, at least [\d.]+\s+Odds\s+×\s[\d.]+/);
    await page.$eval("html", (html) => html.scrollTop = 0);
    const seen = await page.$$eval(
      ".sum, .stakes, .action-bar button.wide, .legend [aria-label^=Show]",
      (parts) =>
        parts.map((part) => part.getBoundingClientRect())
          .filter(({ top, bottom, height }) => height > 0 && top >= 0 && bottom <= 390)
          .length,
    );
    assert.equal(seen, 5, "sum, stakes, next step and both zoom buttons are on the screen");
    assert.match(await visitor.textOf(".sum"), /^Get [\d.]+ USDC, chance [\d.]+ %$/);
    await visitor.press("Get a quote");
    await visitor.sees(/Sign and place the bet/);
    // Not by the mouse: the message may end meanwhile.
    await page.$$eval(".toasts button", (buttons) => buttons.forEach((one) => one.click()));
    const parts = [".deadline", ".terms", ".side .facts dt", ".side .facts dd", "[data-next]"];
    assert.deepEqual(await cutOff(page, parts), []);
    const hidden = await page.$eval("#bar-note p", (note) => {
      note.textContent = "Not placed: the odds changed. This is a new quote, for a window from " +
        "17:20:33. It pays 15 % less than the estimate of 215.82 USDC: the chance rose.";
      return note.scrollHeight - note.clientHeight;
    });
    assert.equal(hidden, 0, "the whole notice");
    assert.deepEqual(await cutOff(page, ["#bar-note p", ".deadline", "[data-next]"]), []);
    await page.$eval("#bar-note p", (note) => note.textContent = "It pays more. ".repeat(30));
    assert.deepEqual(await cutOff(page, [".deadline", "[data-next]"]), [], "a long note");
    await page.$eval(".side", (side) => side.scrollTop = 200);
    await visitor.press("Sign and place the bet");
    await visitor.sees(/is placed/);
    assert.equal(await page.$eval(".side", ({ scrollTop }) => scrollTop), 0);
    await page.$eval(".your-bets h2", (bets) => bets.scrollIntoView({ block: "center" }));
    assert.deepEqual(await cutOff(page, [".your-bets h2", ".chart"]), [], "beside the chart");
    await visitor.close({ outages: true });
  }),
);

Deno.test(
  pageTest("a phone's keyboard hides no next step, and no message hides the zoom", async (open) => {
    const visitor = await open((page) => page.setViewport(PHONE));
    const { page } = visitor;
    await visitor.enter();
    await visitor.fill("lasts", "25");
    assert.equal(await visitor.textOf(".field-lasts .unit"), "(s)");
    for (const [field, text] of [["upper", "8994"], ["lower", "8990"]] as const) {
      await visitor.fill(field, text);
    }
    await page.waitForSelector(".action-bar button::-p-text(Move the box)");
    await visitor.press("Copy link");
    await visitor.sees(/The link to this box was copied|does not allow copying/);
    const message = await page.$(".toasts button");
    assert(await message?.isVisible(), "a message that can be closed");
    await page.evaluate(`(() => {
  const bottomOf = (part) => document.querySelector(part).getBoundingClientRect().bottom;
  document.documentElement.scrollTop += bottomOf(".legend .choice") - bottomOf(".toasts");
})()`);
    await eventually(
      "the zoom beside the message",
      async () => (await cutOff(page, [".legend .choice"])).length === 0 || undefined,
    );
    await page.click(".toasts button");
    await page.setViewport({ ...PHONE, height: 430 });
    await page.$eval("html", (html) => html.scrollTop = 0);
    await eventually(
      "the header and the next step on the screen",
      async () => {
        const cut = await cutOff(page, [".brand", ".connection", ".account-chip", "[data-next]"]);
        return cut.length === 0 || undefined;
      },
    );
    const heights = await page.$$eval(
      ".connection, .account-chip strong",
      (parts) => parts.map((part) => part.getBoundingClientRect().height),
    );
    assert(heights.every((height) => height < 30), `one line each: ${heights}`);
    await visitor.close({ outages: true }); // and a box that is not priced
  }),
);

Deno.test(pageTest("with reduced motion, the chart is still, but follows a drag", async (open) => {
  const visitor = await open(async (page) => {
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
  });
  const { page } = visitor;
  await visitor.sees(/ETH\/USDT\s+[23],\d{3}/);
  await page.mouse.move(5, 5);
  const painted = () => page.evaluate(() => Number(Reflect.get(globalThis, "painted")));
  const resting = await painted();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const rested = await painted() - resting;
  assert(rested >= 1 && rested <= 10, `${rested} in 2 s: two for each half second`);
  const canvas = await page.$(".chart canvas");
  const box = await canvas?.boundingBox() ?? assert.fail();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.3 * box.height);
  await page.mouse.down();
  const before = await painted();
  const STEPS = 30;
  for (let step = 1; step <= STEPS; step++) {
    await page.mouse.move(
      box.x + (0.6 + 0.006 * step) * box.width,
      box.y + (0.3 + 0.012 * step) * box.height,
    );
    await page.evaluate(() =>
      new Promise((resolve) => Reflect.get(globalThis, "requestAnimationFrame")(resolve))
    );
  }
  const dragged = await painted() - before;
  assert(dragged >= STEPS * 0.8, `${dragged} frames for ${STEPS} moves`);
  await page.mouse.up();
  await visitor.close({ outages: true });
}));

Deno.test("Console: the solver of the stack prices by its model within 5 s", async () => {
  const startedMs = performance.now();
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1, pricing: STACK_PRICING });
  const client = new RangemakerClient({ urls: stack.urls, chainId: 1337 });
  await waitForPrices(stack.urls, client, systemClock);
  const narrow = await eventually("an estimate", () => {
    return estimateOf(client, 4_000n).catch(() => undefined);
  });
  const tookMs = performance.now() - startedMs;
  assert(tookMs < 10_000, `${tookMs} ms: a busy machine may take twice as long`);
  const wide = await estimateOf(client, 2_500n);
  assert(narrow.payout > wide.payout, "a tighter box pays more");
  assert(narrow.probability !== undefined && narrow.probability < (wide.probability ?? 0));
});

async function estimateOf(client: RangemakerClient, divisor: bigint) {
  const { price = 0n } = (await client.prices())["ETH/USDT"] ?? {};
  const startTime = Date.now() + 1_000;
  return await client.estimate({
    ...{ symbol: "ETH/USDT", betAmount: 10_000_000n, startTime, endTime: startTime + 15_000 },
    ...{ lowerPrice: price - price / divisor, upperPrice: price + price / divisor },
  });
}

/** A button is wholly on the screen, high enough for a finger, and nothing is wider than the page. */
async function assertInReach(page: Page, name: string): Promise<void> {
  const button = await page.waitForSelector(`::-p-aria([name="${name}"][role="button"])`);
  const box = await button?.evaluate((found) => {
    const { top, bottom, height } = found.getBoundingClientRect();
    return { top, bottom, height };
  }) ?? assert.fail();
  assert(box.top >= 0 && box.bottom <= PHONE.height, `${name}: ${JSON.stringify(box)}`);
  assert(box.height >= 44, `${name} is ${box.height} high`);
  const width = await page.$eval("html", ({ scrollWidth }) => scrollWidth);
  assert.equal(width, PHONE.width);
}

/** What is signed is read above the button: payouts, stake, odds and chance. */
async function assertTermsInBar(page: Page): Promise<void> {
  const rows = await page.waitForSelector(".action-bar .terms");
  const { text, top, bottom } = await rows?.evaluate((found) => {
    const { top, bottom } = found.getBoundingClientRect();
    return { text: found.innerText, top, bottom };
  }) ?? assert.fail();
  assert.match(
    text,
    /^You get\s+[\d.]+ USDC, at least [\d.]+\s+You bet\s+10\.00\s+Odds\s+× [\d.]+\s+Chance\s+[\d.]+\s%\s+Break-even\s+[\d.]+\s%$/,
  );
  assert(top >= 0 && bottom > top && bottom <= PHONE.height, `${top} to ${bottom}`);
}

/** Elements that Tab reaches although the bar with the next step, or a message, covers them. */
async function hiddenFocus(page: Page): Promise<string[]> {
  const hidden: string[] = [];
  await page.focus("header a");
  for (let pressed = 0; pressed < 60; pressed++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(`(() => {
      const { activeElement } = document;
      const bar = document.querySelector(".action-bar");
      if (activeElement === document.body || activeElement === null) return "end";
      if (bar.contains(activeElement) || activeElement.classList.contains("area")) return "";
      const isUnder = activeElement.getBoundingClientRect().bottom > bar.getBoundingClientRect().top;
      return isUnder ? activeElement.outerHTML.slice(0, 80) : "";
    })()`);
    if (found === "end") break;
    if (found !== "") hidden.push(String(found));
  }
  return hidden;
}

/** Those parts, by selector, that are not whole on the screen, or that another one covers. */
async function cutOff(page: Page, selectors: readonly string[]): Promise<string[]> {
  const isWhole = (selector: string) =>
    page.$eval(selector, (part) => {
      const { left, right, top, bottom } = part.getBoundingClientRect();
      const view = part.ownerDocument.defaultView;
      if (top < 0 || bottom > (view?.innerHeight ?? 0) || bottom <= top) return false;
      return [[left + 3, top + 3], [right - 3, bottom - 3]].every(([x = 0, y = 0]) => {
        const found = part.ownerDocument.elementFromPoint(x, y);
        return found !== null && (part.contains(found) || found.contains(part));
      });
    });
  const whole = await Promise.all(selectors.map(isWhole));
  return selectors.filter((_, index) => !whole[index]);
}

/** Moves a finger over the chart in steps, between shares of its width and height. */
async function swipe(visitor: Visitor, from: Place, to: Place, restMs = 0): Promise<void> {
  const steps = Array.from({ length: 11 }, (_, step) => step / 10);
  await visitor.touch(
    steps.map((share) => [
      [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share],
    ]),
    restMs,
  );
}

/** Parts that no message may cover, and that one covers; "no message" if there is none. */
async function coveredByMessage(page: Page): Promise<string[]> {
  return await page.$$eval("nav, footer select, .action-bar, .side h2, .toasts", (parts) => {
    const over = parts.find(({ className }) => className.startsWith("toasts"))
      ?.getBoundingClientRect();
    if (over === undefined || over.height === 0) return ["no message"];
    return parts.filter((part) => {
      const { top, bottom, left, right } = part.getBoundingClientRect();
      return !part.className.startsWith("toasts") && top < over.bottom && bottom > over.top &&
        left < over.right && right > over.left;
    }).map(({ tagName, className }) => `${tagName} ${className}`);
  });
}

/** What can be pressed on the screen and is too small for a finger. */
async function smallTargets(page: Page): Promise<string[]> {
  return await page.$$eval(
    "button, input, summary, a, [role=button]",
    (elements) =>
      elements.map((element) => {
        const { width, height } = element.getBoundingClientRect();
        const isSmall = width > 0 && (width < 43.5 || height < 43.5);
        const name = element.textContent || element.getAttribute("name");
        return isSmall ? `${name}: ${width} x ${height}` : "";
      }).filter((text) => text !== ""),
  );
}

/** Waits for text in the live region. */
async function hears(page: Page, pattern: RegExp): Promise<void> {
  await page.waitForFunction(`[...document.querySelectorAll(".messages p")]
    .some(({ textContent }) => ${pattern}.test(textContent))`);
}

/** From now on, the page is busy after each change of the bet, and late to paint. */
async function slowDown(page: Page): Promise<void> {
  await page.evaluate(`
    requestAnimationFrame = (paint) => setTimeout(() => paint(performance.now()), 500);
    new MutationObserver(() => {
      const until = performance.now() + 200;
      while (performance.now() < until);
    }).observe(document.querySelector("aside.side"), { childList: true, subtree: true });
  `);
}

async function focusIsOn(page: Page, text: string): Promise<void> {
  await page.waitForFunction(
    (html, text) => html?.querySelector(":focus")?.textContent?.trim() === text,
    {},
    await page.$("html"),
    text,
  );
}
