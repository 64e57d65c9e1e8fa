/** The page by keyboard and by screen reader alone. */
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import { pageTest } from "./shared_page.ts";

Deno.test(pageTest("by keyboard, an account is opened; a wrong amount is said", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  await page.setViewport({ width: 320, height: 640 });
  await page.waitForSelector("button[data-next]:not(:disabled)");
  await page.focus("button[data-next]");
  await visitor.sees(/Make a test account/);
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Take test money");
  const enter = async (amount: string) => {
    await page.$eval("[aria-describedby=deposit-problem]", (input) => input.select());
    await page.focus("[aria-describedby=deposit-problem]");
    await page.keyboard.type(amount);
    await page.keyboard.press("Enter");
  };
  await enter("0");
  const problem = "p::-p-text(Enter an amount of at least 0.000001.)";
  const said = await page.waitForSelector(`.messages ${problem}`);
  await page.keyboard.press("Enter");
  await page.waitForFunction((said) => !said?.isConnected, {}, said); // said again
  await enter("1000");
  await visitor.focusIsOn("Suggest a box");
  const { top, bottom } = await visitor.placeOf(":focus");
  assert(top >= 0 && bottom <= 640, `${top} to ${bottom} of 640: the focus is seen`);
  await visitor.setTextSize("200%");
  await page.focus('nav a[href="#operator"]');
  const { right } = await visitor.placeOf(":focus");
  assert(right <= 320, `the focused tab ends at ${right} of 320`);
  await visitor.setTextSize("100%");
  await page.setViewport({ width: 1360, height: 900 });
  // A name that changed with the price would be read ten times a second.
  const market = await page.$('.markets button:has([data-price="ETH/USDT"])');
  const named = await page.accessibility.snapshot({ root: market ?? assert.fail() });
  assert.equal(named?.name, "ETH/USDT");
  await market?.focus();
  await page.keyboard.press("Enter");
  await visitor.hears(/^ETH\/USDT at [23],\d{3}\.\d\d: no box yet\.$/);
  const headings = await page.$$eval(
    "h1, h2",
    (parts) => parts.map((part) => part.textContent),
  );
  assert.deepEqual(headings, ["Trade", "Market", "3. Draw your box", "Account", "Your bets"]);
}));

Deno.test(pageTest("by keyboard, the focus follows the steps of a quote", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Close the message");
  await visitor.fill("startsIn", "20 s");
  await page.setViewport({ width: 1280, height: 720 });
  await visitor.setTextSize("200%");
  await page.focus(".chart .area");
  await page.keyboard.press("Enter");
  await visitor.sees(/Odds\s+×\s\d/);
  await page.focus(".chart .area");
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Sign and place the bet");
  assert.deepEqual(await visitor.cutOff(["[data-next]"]), [], "in sight");
  await visitor.setTextSize("100%");
  const back = await page.$("button::-p-text(Change the box)");
  const { description } = await page.accessibility.snapshot({ root: back ?? assert.fail() }) ??
    {};
  assert.equal(description, "Drops the quote. The box stays.");
  await page.keyboard.press("Escape");
  await visitor.hears(/^Back to the box: no bet was placed\.$/);
  await page.waitForSelector(".chart .area:focus"); // where the quote was asked for
  await visitor.sees(/Odds\s+×\s\d/);
  await page.focus("input[name=amount]");
  await page.keyboard.type("x");
  await page.keyboard.press("Enter");
  await visitor.hears(/^You bet: Enter a number such as 10\.50, with 6 decimals at most\.$/);
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Sign and place the bet");
  await page.keyboard.press("Escape");
  await visitor.focusIsOn("Get a quote");
  // Its window begins before it is signed.
  const times = { startsIn: "8 s", lasts: "6 s" };
  for (const [field, text] of Object.entries(times)) await visitor.fill(field, text);
  await visitor.sees(/Odds\s+×\s\d/);
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Sign and place the bet");
  await visitor.focusIsOn("Ask for a new quote");
  await visitor.sees(/Lasts\s+6 s/, "#range"); // that of a new quote begins later
  await visitor.hears(
    /^Too late: the window has begun\. Nothing was placed or taken\. Enter asks for a new quote\.$/,
  );
  await page.focus(".chart .area");
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Sign and place the bet");
  await page.keyboard.press("Escape");
  await visitor.focusIsOn("Get a quote");
}));

Deno.test(pageTest("by keyboard, no early or held key signs a quote", async (visitor) => {
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
  await visitor.focusIsOn("Sign and place the bet");
  await visitor.hears(/^The quote is new: press again to sign it\.$/);
  await visitor.press("Close the message");
  await page.focus(".action-bar [data-next]");
  await page.waitForSelector("[data-next]:not([data-unread=true])");
  await page.keyboard.down("Enter"); // repeats
  await visitor.hears(/^The quote is new: press again to sign it\.$/);
  await page.keyboard.up("Enter");
  await visitor.hears(/^Quote: sign within \d+ s\. It pays [\d.]+ USDC\./);
  const terms = await page.$eval(":focus", (button) => button.getAttribute("aria-describedby"));
  assert.equal(terms, "payout terms range", "what is signed, which does not change each second");
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
  await visitor.focusIsOn("Sign and place the bet");
  await page.keyboard.press("Enter");
  await visitor.focusIsOn("Make another bet");
  await visitor.hears(
    /^Bet \d+ is placed: it pays [\d.]+ USDC if the price stays in the box\. The window starts in \d+ s\.$/,
  );
  const lost = await page.evaluate("framesWithoutFocus");
  assert.ok(Number(lost) < 10, `${lost} frames without a focus while signing`);
  await page.focus(".chart .area");
  await page.keyboard.press("m");
  await visitor.hears(/^No box yet: press Enter/);
}));

Deno.test(pageTest("in large text, no message covers the next button", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.sees(/is placed/);
  // In enlarged text, messages and the button are at the same place.
  await page.setViewport({ width: 320, height: 640 });
  await visitor.setTextSize("200%");
  await page.focus('[aria-label^="Repeat bet"]');
  await slowDown(page);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".legend > .choice > button");
  const chart = await visitor.placeOf(".chart");
  const buttons = await visitor.placeOf(".legend > .choice > button");
  assert(buttons.top >= chart.bottom, "below the chart, where they cover no box");
  assert.equal(await visitor.overflowOf(".tabs"), 0, "no view is cut");
  await visitor.hears(
    /^The same bet of 10\.00 USDC on ETH\/USDT, around the current price: .*starts in \d+ s/,
  );
  await visitor.focusIsOn("Get a quote");
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
  assert.deepEqual(await visitor.cutOff(["[data-next]"]), []);
  await page.focus(".chart .area");
  await page.keyboard.press("?");
  await page.waitForFunction(`(() => {
    const { top } = document.querySelector(".keys li").getBoundingClientRect();
    return top > -1 && top < innerHeight / 2;
  })()`);
}));

Deno.test(pageTest("an open bet is read and shown on the chart", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.press("Make another bet");
  // Screen readers get the state of an open bet; the next box needs no pointer in the chart.
  await page.focus(".chart .area");
  await page.keyboard.press("p");
  await visitor.hears(
    /^ETH\/USDT: [\d,.]+\. Bet \d+: (starts in )?\d+ s( left)?, pays [\d.]+ USDC\. The price is (inside|outside), \d+\.\d\d (above|below) the (upper|lower) edge\.$/,
  );
  await page.keyboard.press("Enter");
  await visitor.hears(/^Suggested box: /);
  await page.waitForSelector(".chart .area:focus");
  await page.setViewport({ width: 1280, height: 800 });
  assert.equal(await visitor.overflowOf(".your-bets .scroller"), 0, "the list fits");
  await page.focus("tbody th button");
  const table = await visitor.placeOf(".your-bets .scroller");
  const { left } = await visitor.placeOf("tbody th button:focus");
  assert(table.left <= left - 4, "the outline of 4 pixels is not cut");
  await page.keyboard.press("Enter");
  await visitor.hears(/^Bet \d+ is shown on the chart: pays [\d.]+, ETH\/USDT from /);
  const notify = await page.waitForSelector("::-p-text(Notify me when a bet ends)");
  await notify?.focus();
  await page.keyboard.press("Enter"); // this browser refuses
  await visitor.hears(/^The browser does not allow notifications/);
  await visitor.focusIsOn("Notify me when a bet ends");
}));

Deno.test(pageTest("the focus of a removed row stays in the list", async (visitor) => {
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
  assert.equal(await visitor.valueOf("amount"), "10", "not all");
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
}));

/** The page gets no prices of the past. */
async function withoutHistory(page: Page): Promise<void> {
  await page.evaluateOnNewDocument(`{
    const { fetch } = window;
    window.fetch = (url, init) =>
      String(init?.body).includes("core_getPriceHistory") ? new Promise(() => {}) : fetch(url, init);
  }`);
}

Deno.test(pageTest("a box is suggested before prices of the past arrive", async (visitor) => {
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
}, withoutHistory));

Deno.test(pageTest("a disabled button says why; a view opens at its top", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
  const button = await page.waitForSelector(
    `[aria-disabled="true"]::-p-text(Get a quote)`,
  );
  await button?.focus();
  await page.keyboard.press("Enter");
  await visitor.hears(/^Open your account first\.$/);
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
}));

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
