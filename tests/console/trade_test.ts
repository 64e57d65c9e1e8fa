/** A stack's console in a real browser: bets from the first look to the outcome. */
import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { addressSchema } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { formatAmount } from "../../services/console/page/parts/format.ts";
import { linkTo } from "../../services/console/page/trade/box_link.ts";
import type { RunningStack } from "../../services/stack/stack.ts";
import { seriousViolations, violationsEverywhere } from "./accessibility.ts";
import { type InjectedWallet, injectWallet } from "./injected_wallet.ts";
import type { Place, Visitor } from "./browser.ts";
import { pageTest } from "./shared_page.ts";
import { USER } from "./support.ts";

type Corners = [from: Place, to: Place];

/** A box a few seconds ahead: two seconds long, and as high as the chart. */
const SOON: Corners = [[0.595, 0.05], [0.625, 0.9]];

/** A box that begins only when everything about it was tried. */
const LATER: Corners = [[0.8, 0.05], [0.9, 0.9]];

const nodeOf = (stack: RunningStack) => new CoreClient({ url: stack.urls.nodeRead });

/** The newest bet of the account on the page, as the node has it. */
async function newestBet({ page }: Visitor, stack: RunningStack): Promise<Thesis> {
  const title = await page.$eval(".account-chip", (chip) => chip.getAttribute("title"));
  const user = addressSchema.parse(title?.split(": ")[1]);
  const { theses } = await nodeOf(stack).getTheses({ user });
  return theses.at(-1) ?? assert.fail("No bet");
}

/** A test with a solver that prices any box. A refusal, and a lost connection, fail requests. */
function betTest(
  behaviour: string,
  play: Parameters<typeof pageTest>[1],
  { prepare, fails = false }: { prepare?: Parameters<typeof pageTest>[2]; fails?: boolean } = {},
): Deno.TestDefinition {
  return pageTest(behaviour, play, prepare, { stack: "mock", isStrict: !fails });
}

Deno.test(
  betTest("a box drawn with the mouse is placed and settled", async (visitor, { stack }) => {
    await visitor.sees(/Bet that the price stays in the box/);
    await visitor.sees(/1\. Open an account/);
    await visitor.sees(/Simulated prices/);
    await visitor.enter();
    await visitor.sees(/None yet\./);
    await visitor.drag(...SOON);
    await visitor.sees(/You get\s+1\d\.\d\d USDC/);
    const lower = await visitor.valueOf("lower");
    await visitor.press("Get a quote");
    const payout = await visitor.page.waitForSelector(".card:has(.deadline) [data-payout]");
    const offered = await payout?.evaluate((found) => found.getAttribute("data-payout"));
    await visitor.press("Sign and place the bet");
    await visitor.sees(/● (starts in \d+ s|\d+ s left)\s+Bet \d+ is placed/);
    const { id } = await newestBet(visitor, stack);
    const outcome = await visitor.outcomeOf(id);
    // The card shows it, and a message announces it to screen readers only.
    await visitor.hears(/^Bet \d+ (won|lost)/);
    const bet = await newestBet(visitor, stack);
    assert.equal(outcome, bet.status);
    assert.match(
      await visitor.textOf(`[data-outcome="${id}"]`),
      /^(✓ \+[\d.]+ USDC\s*Bet \d+ won\. [\d.]+ paid out\.|✕ −10\.00 USDC\s*Bet \d+ lost\.)/,
    );
    const toasts = await visitor.page.$$eval(
      ".messages p:not(.spoken)",
      (lines) => lines.filter(({ textContent }) => /won|lost/.test(textContent ?? "")).length,
    );
    assert.equal(toasts, 0);
    assert.equal(offered, bet.payout.toString());
    assert.equal(Number(lower), Number(bet.lowerPrice) / 1e6);
    assert.equal(bet.betAmount, 10_000_000n);
    const gain = bet.status === "won" ? bet.payout - bet.betAmount : -bet.betAmount;
    const { balance } = await nodeOf(stack).getAccount(bet.user);
    assert.equal(balance, 1_000_000_000n + gain);
    const paid = bet.status === "won" ? "Paid" : "Would have paid";
    await visitor.sees(new RegExp(`${paid} ${formatAmount(bet.payout)}`));
    await visitor.sees(new RegExp(`Balance\\s+${formatAmount(balance)} USDC`));
    await visitor.press("Leave this account");
    await visitor.sees(/Use your account to see its bets\./);
  }),
);

Deno.test(betTest("by keyboard alone, a bet is placed, and lost", async (visitor, { stack }) => {
  const { keyboard } = visitor.page;
  await visitor.page.waitForSelector("button.primary:not(:disabled)");
  await tabTo(visitor, "Make a test account");
  await keyboard.press("Enter");
  await visitor.sees(/Take test money/);
  await tabTo(visitor, "Take test money");
  await keyboard.press("Enter");
  // The money arrives while something is typed, which keeps the focus.
  await visitor.page.focus("input[name=upper]");
  await keyboard.type("9", { delay: 50 });
  await visitor.sees(/1,000\.00 USDC/);
  await keyboard.type("000", { delay: 200 });
  const upper = await visitor.valueOf("upper");
  assert.equal(upper, "9000");
  // Far above the price: it is lost at the first price.
  const answers = { upper: "9000", lower: "8000", startsIn: "9", lasts: "1", amount: "5" };
  for (const [field, text] of Object.entries(answers)) {
    await tabTo(visitor, field);
    await visitor.fill(field, text);
  }
  await visitor.sees(/Odds\s+×\s\d/);
  await tabTo(visitor, "Get a quote");
  const lasts = await visitor.valueOf("lasts");
  assert.equal(lasts, "1 s", "a number alone gets its unit");
  await keyboard.press("Enter");
  await visitor.sees(/The price is outside the box\. .* Sign within \d+ s\./);
  await tabTo(visitor, "Sign and place the bet");
  await visitor.page.waitForSelector("[data-next]:not([data-unread=true])");
  await keyboard.press("Enter");
  await visitor.sees(/Bet \d+ is placed/);
  const { id } = await newestBet(visitor, stack);
  assert.equal(await visitor.outcomeOf(id), "lost");
  await visitor.sees(/✕ lost −5\.00: [23],\d{3}\.\d\d at /);
  for (const width of [1024, 768]) {
    await visitor.page.setViewport({ width, height: 768 });
    const list = ".your-bets .scroller";
    const height = await visitor.page.$eval(list, ({ clientHeight }) => clientHeight);
    const hidden = await visitor.overflowOf(list);
    assert(hidden === 0 && height < 100, `${width}: ${hidden} hidden, ${height} high`);
  }
}));

let injected: InjectedWallet;

Deno.test(betTest("a browser wallet switches its chain, and signs", async (visitor, { stack }) => {
  await visitor.press("Connect Testing Wallet");
  await visitor.press("Take test money");
  await visitor.sees(/1,000\.00 USDC/);
  await visitor.drag(...LATER);
  injected.chainId = 1;
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.sees(/The wallet is on chain 1; bets are on chain 1337/);
  await visitor.press("Switch the wallet’s chain");
  await visitor.sees(/on the right chain now/);
  await visitor.press("Get a quote");
  await visitor.press("Sign and place the bet");
  await visitor.sees(/Bet \d+ is placed/);
  const { id, user } = await newestBet(visitor, stack);
  assert.equal(user, injected.address);
  // Exact once it is settled.
  await visitor.sees(/^\s*\d+\.\d\d\s*$/, `tr[data-thesis="${id}"] [data-column="Pays"]`);
  // A prompt of the account before does not keep the next one from a deposit.
  injected.isSilent = true;
  await visitor.page.$eval(".side details", (part) => part.setAttribute("open", ""));
  await visitor.press("Take test money");
  await visitor.sees(/Depositing …/);
  await injected.switchTo(USER);
  await visitor.sees(/Testing Wallet uses another account now: 0x19E7…ff2A\./);
  await visitor.press("Take test money");
}, {
  async prepare(page) {
    injected = await injectWallet(page, "Testing Wallet");
  },
}));

Deno.test(betTest("wrong amounts are marked at their fields", async (visitor) => {
  await visitor.enter();
  await visitor.drag(...LATER);
  await visitor.sees(/You get\s+[\d.]+ USDC/);
  await visitor.fill("amount", "5000");
  await visitor.sees(/Enter at most 1,000\.00 USDC, your balance/);
  await visitor.page.waitForSelector("button::-p-text(Check “You bet”)");
  const bar = await visitor.textOf(".action-bar");
  assert.equal(bar.split("Enter at most").length, 2, "the error is there once");
  assert.match(bar, /Odds–Chance–Break-even–You get –/, "it cannot be made");
  await visitor.page.waitForSelector(
    'input[name=amount][aria-invalid="true"][aria-describedby="error-amount"]',
  );
  await visitor.fill("lower", "x");
  await visitor.page.waitForSelector("#error-lower", { visible: true });
  await visitor.page.waitForSelector("#error-amount", { visible: true });
  await visitor.drag(...LATER);
  await visitor.press("Bet 50 USDC");
  assert.equal(await visitor.valueOf("amount"), "50");
  await visitor.page.$eval(".side details", (part) => part.setAttribute("open", ""));
  await visitor.page.type(".side details input", "x");
  await visitor.press("Take test money");
  await visitor.page.waitForSelector(
    '.side details input[aria-invalid="true"][aria-describedby="deposit-problem"]',
  );
}));

Deno.test(betTest("a bet that risks more than the maker takes gets no quote", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  assert.equal(await visitor.textOf("h1"), "Trade");
  assert.match(
    await visitor.textOf(".account-chip"),
    /^Balance1,000\.00 USDCAccount0x\w{4}…\w{4}$/,
  );
  await page.$eval(".side details", (part) => part.setAttribute("open", ""));
  await page.$eval(".side details input", (input) => {
    input.focus();
    input.select();
  });
  await page.keyboard.type("500000");
  await page.setOfflineMode(true);
  await page.keyboard.press("Enter");
  await visitor.sees(/The chain does not answer\./);
  await page.waitForSelector('.side details input[aria-invalid="false"]');
  await page.setOfflineMode(false);
  await visitor.sees(/Live/);
  await visitor.press("Take test money");
  await visitor.sees(/501,000\.00 USDC/);
  await visitor.drag(...LATER);
  await visitor.sees(/You get\s+[\d.]+ USDC/); // its note moves the buttons, maybe below the mouse
  await visitor.press("Bet all of your balance");
  await visitor.sees(
    /The maker (does not risk that much on one bet|accepts no more risk right now)/,
  );
  await page.waitForSelector("[data-next][aria-disabled=true]::-p-text(Get a quote)");
}, { fails: true }));

Deno.test(betTest("a box from a link survives a reload", async (visitor) => {
  const url = visitor.page.url();
  const fields = { lower: "1234.5", upper: "5678", startsIn: "17 s", lasts: "2 m" };
  await visitor.page.goto("about:blank"); // the link alone loads no page anew
  await visitor.page.goto(linkTo(url, { symbol: "BTC/USDT", fields }));
  await visitor.sees(/A box was opened from a link/);
  const session = await visitor.page.createCDPSession();
  const features = [{ name: "forced-colors", value: "active" }];
  await session.send("Emulation.setEmulatedMedia", { features });
  const groundOf = (selector: string) =>
    visitor.page.$eval(
      selector,
      (part) => part.computedStyleMap().get("background-color")?.toString(),
    );
  const ground = await groundOf(".card"); // the browser gives it to the text of messages
  assert.equal(await groundOf(".toasts"), ground);
  await session.send("Emulation.setEmulatedMedia", { features: [] });
  const read = () =>
    visitor.page.$$eval(".fields input", (inputs) => inputs.map(({ value }) => value));
  assert.deepEqual(await read(), Object.values(fields));
  assert.equal(await visitor.textOf(".field-lower .unit"), "(USDT)");
  await visitor.fill("upper", "5700");
  await visitor.page.reload();
  await visitor.sees(/Live/);
  assert.deepEqual(await read(), ["1234.5", "5700", "17 s", "2 m"]);
  const { hash } = new URL(linkTo(url, { symbol: "DOGE/USDT", fields }));
  await visitor.page.$eval("nav a", (tab, to) => {
    tab.setAttribute("href", to);
    tab.click();
  }, hash);
  await visitor.sees(/This link is for DOGE\/USDT, which is not traded here\./);
  assert.deepEqual(await read(), ["1234.5", "5700", "17 s", "2 m"]);
  assert.equal(new URL(visitor.page.url()).hash, "#trade");
}));

Deno.test(betTest("no accessibility violation in any theme and size", async (visitor) => {
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
  assert.deepEqual(await violationsEverywhere(visitor.page), [], "draft");
  await visitor.page.setViewport({ width: 1360, height: 900 });
  await visitor.press("Get a quote");
  await visitor.sees(/Sign and place the bet/);
  assert.deepEqual(await violationsEverywhere(visitor.page), [], "quote");
  await visitor.press("Change the box");
  await visitor.page.setViewport({
    width: 320, // what WCAG's "Reflow" asks for
    height: 640,
    isMobile: true,
    hasTouch: true,
  });
  await visitor.fill("upper", "123456.78");
  const cut = await visitor.page.$$eval(
    "html, .fields input",
    (elements) =>
      elements.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((element) => element.getAttribute("name") ?? element.tagName),
  );
  assert.deepEqual(cut, []);
  assert.deepEqual(await seriousViolations(visitor.page), [], "phone");
  await visitor.setTextSize("200%");
  const stake = await visitor.page.$eval(
    "input[name=amount]",
    (field) => field.clientWidth,
  );
  assert(stake > 100, `${stake} pixels for the stake in text of twice the size`);
  assert.equal(await visitor.overflowOf(".markets"), 0, "no name of a market is cut");
  const bar = await visitor.page.$(".action-bar");
  const height = await bar?.evaluate(({ clientHeight }) => clientHeight) ?? 0;
  assert(height > 0 && height < 360, `${height} of 640 pixels`);
}));

/**
 * Presses Tab until the focus is on a button of this text or a field of this name, if it is not
 * yet.
 */
async function tabTo({ page }: Visitor, name: string): Promise<void> {
  for (let pressed = 0; pressed < 60; pressed++) {
    const focused = await page.$eval(
      ":focus",
      (element) => [element.textContent?.trim() ?? "", element.getAttribute("name") ?? ""],
    ).catch((): string[] => []); // nothing has it at the end of the page
    if (focused.includes(name)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${name}`);
}
