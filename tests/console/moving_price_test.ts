/**
 * What the page does as the price leaves a box or changes its payout, without prices, and while a
 * bet is on its way.
 */
import assert from "node:assert/strict";
import type { HTTPRequest, Page } from "puppeteer-core";
import { linkTo } from "../../services/console/page/trade/box_link.ts";
import { eventually } from "../support/eventually.ts";
import { pageTest, PHONE } from "./shared_page.ts";
import { hashOf } from "./support.ts";

Deno.test(pageTest("a box that cannot be priced is moved or fitted", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.sees(/Sign within \d+ s\./);
  // Refused as it is asked for, and by each estimate after it.
  await visitor.press("Change the box");
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
  await visitor.focusIsOn("Get a quote");
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
  await visitor.focusIsOn("Get a quote");
  const [lower = 0, upper = 0] = await sides();
  assert(upper - lower > 1 && upper - lower < 60, `${lower} to ${upper}`);
  assert.equal(await visitor.valueOf("lasts"), "30 s");
  await page.evaluate('location.hash = "#trade?"');
  await visitor.sees(/This link has no valid box\./);
  await visitor.fill("lasts", "31 s");
  await visitor.hears(/^Your box pays [\d.]+ USDC/);
  const shown = await page.$$eval(
    ".messages p",
    (lines) =>
      lines.filter((line) => line.computedStyleMap().get("clip-path")?.toString() === "none")
        .map(({ textContent }) => textContent),
  );
  assert.match(shown.join(), /no valid box/, "what is only spoken does not replace what is seen");
}, PHONE));

/** The next bet, which is on its way until it is continued or answered. */
async function holdBet(page: Page): Promise<HTTPRequest> {
  const sent = Promise.withResolvers<HTTPRequest>();
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const isBet = request.method() === "POST" && request.url().endsWith("/execute");
    if (isBet) sent.resolve(request);
    else void request.continue();
  });
  return await sent.promise;
}

Deno.test(pageTest("a quote, and a bet on its way, keep their market", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.sees(/Bet \d+ is placed/, "[data-outcome]");
  const id = await page.$eval("[data-outcome]", (placed) => placed.getAttribute("data-outcome"));
  await visitor.press("Make another bet");
  await visitor.press("BTC/USDT");
  await visitor.press("Suggest a box");
  await visitor.press("Get a quote");
  await visitor.sees(/Sign within \d+ s/);
  await page.focus("tbody th button");
  await page.keyboard.press("Enter");
  await visitor.hears(/^Bet \d+: pays [\d.]+, ETH\/USDT from [\d.,]+ to [\d.,]+\.$/);
  await page.waitForSelector("::-p-xpath(//p[not(@class)][contains(., ': pays')])");
  const sent = holdBet(page);
  await visitor.press("Sign and place the bet");
  const bet = await sent;
  const fields = { lower: "1", upper: "2", startsIn: "10 s", lasts: "1 min" };
  const { hash } = new URL(linkTo("http://page", { symbol: "BTC/USDT", fields }));
  const acts = [
    () => visitor.press("ETH/USDT"),
    () => page.click('tr [aria-label^="Repeat bet"]'),
    () => page.evaluate(`location.hash = "${hash}"`),
    ...(["m", "ArrowUp"] as const).map((key) => async () => {
      await page.focus(".chart .area");
      await page.keyboard.press(key);
    }),
  ];
  for (const act of acts) {
    await act();
    await visitor.sees(/The market and its box stay until the outcome of your bet is known\./);
    await visitor.press("Close the message");
  }
  // A chain that was restored gives ids out again: the panel does not show the earlier bet.
  const headers = { "access-control-allow-origin": "*" };
  const result = { status: "committed", txHash: hashOf(1), thesisId: Number(id) };
  await bet.respond({ headers, body: JSON.stringify({ success: true, result }) });
  await visitor.sees(/Bet \d+ is placed/, "[data-outcome]");
  const buttons = await page.$$eval(
    "[data-outcome] ~ .next button",
    (found) => found.map(({ textContent }) => textContent),
  );
  assert.deepEqual(buttons, ["Make another bet"], "none repeats the earlier bet");
}));

Deno.test(
  pageTest(
    "before a bet is refused, a stroke can begin, and a held key moves nothing",
    async (visitor) => {
      const { page } = visitor;
      const boxOf = () => Promise.all([visitor.valueOf("lower"), visitor.valueOf("upper")]);
      await visitor.enter();
      await visitor.press("Suggest a box");
      const before = await boxOf();
      await visitor.press("Get a quote");
      const sent = holdBet(page);
      await visitor.press("Sign and place the bet");
      const bet = await sent;
      const at = await visitor.chart();
      const moveTo = (x: number, y: number) => page.mouse.move(...at(x, y), { steps: 4 });
      await page.focus(".chart .area");
      await page.keyboard.down("ArrowUp");
      await moveTo(0.9, 0.05);
      await page.mouse.down();
      await moveTo(0.92, 0.15);
      await bet.respond({
        status: 403,
        headers: { "access-control-allow-origin": "*" },
        body: JSON.stringify({ success: false, error: "no", code: "DRY_RUN", retry: "never" }),
      });
      await visitor.sees(/No bet was placed/);
      await page.keyboard.down("ArrowUp"); // a repeat
      await page.keyboard.up("ArrowUp");
      await moveTo(0.95, 0.2);
      assert.notDeepEqual(await boxOf(), before);
      await page.keyboard.press("Escape");
      assert.deepEqual(await boxOf(), before);
      await page.mouse.up();
    },
  ),
);

Deno.test(pageTest("offline, the page blames its own connection", async (visitor, { claim }) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
  await claim("the chart alone says why, and that its prices are old", async () => {
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
    await visitor.nextFrame();
    assert.match(
      await visitor.textOf("form .action-bar"),
      /^Odds–Chance–Break-even–You get –You bet \(USDC\)1050100Waiting for live prices$/,
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
  });
  await claim("the operator's view blames no service and keeps its times", async () => {
    const since = async () => {
      await page.waitForSelector('[data-service="proxy"] .won');
      return /since[^·]*/.exec(await visitor.textOf('[data-service="proxy"] p'))?.[0] ?? "";
    };
    await page.evaluate('location.hash = "#operator"');
    const before = await since();
    await page.setOfflineMode(true);
    await visitor.sees(/This page reaches no service\. Check your own connection first\./);
    await page.evaluate('location.hash = "#maker"'); // whose code was never loaded
    await visitor.sees(/This view was not loaded\. .* after an upgrade of the console, reload it/);
    await page.setOfflineMode(false);
    await visitor.sees(/What you may lose/);
    await page.evaluate('location.hash = "#operator"');
    assert.equal(await since(), before);
    const text = await page.$eval("main", ({ innerText }) => innerText);
    assert(!/does not answer|not answered/.test(text), text);
  });
}));

Deno.test(
  pageTest("a node's chain is asked for until it is known, and after a reset", async (visitor) => {
    await visitor.page.waitForSelector("button.primary:disabled"); // it has another chain
    await visitor.sees(/The chain was reset/);
    await visitor.press("Make a test account");
    await visitor.sees(/Take test money/);
  }, async (page) => {
    await page.evaluateOnNewDocument(`{ const wait = setTimeout;
setTimeout = (task, ms) => wait(task, ms === 4_000 ? 300 : ms) }`);
    let asked = 0;
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      const { id, method } = JSON.parse(request.postData() ?? "{}");
      if (method === "eth_chainId") asked += 1;
      const other = method === "eth_chainId" && asked === 2
        ? "0x7"
        : method === "eth_getBlockByNumber" && asked < 2 && { hash: `0x${"ab".repeat(32)}` };
      if (method === "eth_chainId" && asked === 1) void request.abort();
      else if (!other) void request.continue();
      else {
        const headers = { "access-control-allow-origin": "*" };
        const body = JSON.stringify({ jsonrpc: "2.0", id, result: other });
        void request.respond({ headers, body });
      }
    });
  }),
);

Deno.test(
  pageTest(
    "a page behind other tabs asks for no estimates until it is looked at",
    async (visitor) => {
      const { page } = visitor;
      let asked = 0;
      page.on("request", (request) => {
        if (request.method() === "POST" && request.url().endsWith("/estimate")) asked += 1;
      });
      const at = await visitor.chart();
      await page.mouse.move(...at(0.75, 0.4));
      const box = { upper: "3100", lower: "2900", startsIn: "9", lasts: "5", amount: "5" };
      for (const [field, text] of Object.entries(box)) await visitor.fill(field, text);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      assert.equal(asked, 0, "it was opened behind other tabs");

      await page.evaluate(
        `isBehind = false; document.dispatchEvent(new Event("visibilitychange"))`,
      );
      await eventually("an estimate", () => asked > 0);
    },
    async (page) => {
      await page.evaluateOnNewDocument(
        `isBehind = true; Object.defineProperty(document, "hidden", { get: () => isBehind });`,
      );
    },
  ),
);

Deno.test(
  pageTest(
    "a page that opens at another view asks for no estimates of the box in it",
    async (visitor) => {
      const { page } = visitor;
      await visitor.press("Suggest a box");
      await visitor.sees(/Odds\s+×\s\d/);
      let asked = 0;
      page.on("request", (request) => {
        if (request.method() === "POST" && request.url().endsWith("/estimate")) asked += 1;
      });
      await page.evaluate('location.hash = "#maker"');
      await page.reload();
      await visitor.sees(/What you may lose/);
      asked = 0;
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      assert.equal(asked, 0);
      await page.evaluate('location.hash = "#trade"');
      await visitor.sees(/Odds\s+×\s\d/);
    },
  ),
);
