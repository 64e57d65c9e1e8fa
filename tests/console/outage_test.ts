/** The console while services stop and return: it shows outages, and continues by itself. */
import assert from "node:assert/strict";
import type { Browser, HTTPRequest } from "puppeteer-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock, waitMs } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { eventually } from "../support/eventually.ts";
import { violationsEverywhere } from "./accessibility.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";
import { TestServices } from "./services.ts";

type Test = (visitor: Visitor, services: TestServices) => Promise<void>;

/** What is tried, on the same services one after the other: its name, and the view it opens. */
const tests: { name: string; view: string; test: Test }[] = [];

function browserTest(name: string, view: string, test: Test): void {
  tests.push({ name, view, test });
}

/**
 * A bet that is open for the whole test, so that the maker has something to lose.
 *
 * @returns When its window begins.
 */
async function placeBet(services: TestServices, startsInMs = 60_000): Promise<number> {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const client = new RangemakerClient({ urls: services.urls, chainId: 1337, wallet });
  const oracle = services.urlOf("oracle");
  const { price } = await waitForPrices({ oracle }, client, systemClock);
  await client.deposit(10_000_000n);
  const startTime = systemClock.now() + startsInMs;
  await client.execute(
    await client.quote({
      symbol: "ETH/USDT",
      lowerPrice: price / 2n,
      upperPrice: 2n * price,
      betAmount: 5_000_000n,
      startTime,
      endTime: startTime + 600_000,
    }),
  );
  return startTime;
}

browserTest("the maker's view survives outages and resets", "#maker", async (visitor, services) => {
  await placeBet(services);
  await visitor.sees(/In bets being placed\s+–[\s\S]*No bet is settled yet[\s\S]*1 open/);

  const exposureOf = () => visitor.textOf("[data-maker-exposure]");
  const open = Number.parseFloat(await exposureOf());
  const { page } = visitor;
  const thesesUrl = `${services.urlOf("solver")}/theses`;
  const isPlacing = (request: HTTPRequest) =>
    void (request.url().startsWith(thesesUrl)
      ? request.respond({
        headers: { "access-control-allow-origin": "*" },
        body: JSON.stringify({
          executing: "7000000",
          maxExposure: "300000000",
          complete: true,
        }),
      })
      : request.continue());
  await page.setRequestInterception(true);
  page.on("request", isPlacing);
  await visitor.sees(/on 1 bet\.[\s\S]*In bets being placed\s+7\.00/);
  await services.stop("solver");
  await visitor.sees(
    new RegExp(
      `solver cannot be reached[\\s\\S]*${(open + 7).toFixed(2)} USDC\\s+At most, on 1 bet\\.` +
        "[\\s\\S]*In bets being placed\\s+7\\.00",
    ),
  );
  const ofBets = (isOld: boolean) =>
    page.waitForSelector(`[data-old="${isOld}"] [data-maker-exposure]`);
  await ofBets(false); // the chain has them
  page.off("request", isPlacing);
  await page.setRequestInterception(false);
  const status = (pattern: RegExp) => visitor.sees(pattern, '.board [role="status"]');
  await status(/the solver cannot be reached, its own figures are of/);
  await visitor.sees(/The limit was 300\.00 USDC at [\d:]+\./);
  await visitor.sees(/No bet is settled yet[\s\S]*1 open/);
  await visitor.page.reload(); // the node has the bets
  await visitor.sees(/No bet is settled yet[\s\S]*1 open/);
  await status(/the solver cannot be reached, its limit/);
  await visitor.sees(
    /on 1 bet, without bets being placed\.[\s\S]*In bets being placed\s+unknown/,
  );
  assert.equal(await exposureOf(), `${open.toFixed(2)} USDC`);
  assert.deepEqual(await violationsEverywhere(visitor.page), []);
  await services.start("solver");
  await status(/live, pricing/); // spoken, like the outage

  await services.stop("oracle");
  await visitor.sees(/moves now and stays: at worst .*\. The current price is missing/);
  await services.start("oracle");
  await visitor.seesNo(/The current price is missing/);

  await services.stop("proxy");
  await visitor.sees(/, the bets are of [\d:]+\..*Trying again/);
  await visitor.sees(/Not live/);
  await visitor.sees(/No bet is settled yet[\s\S]*1 open/);
  await ofBets(true);
  await visitor.page.reload();
  await status(/Only the solver’s own figures are known: the chain cannot be reached/);
  await visitor.sees(/Quotes and refusals/);
  assert.doesNotMatch(await visitor.textOf("main"), /Fine|No limit/, "it cannot know");
  await services.start("proxy");
  await visitor.seesNo(/Not live/);
  await status(/live, pricing/);

  await services.stop("node");
  await visitor.sees(/, the bets are of [\d:]+/);
  await services.start("node");
  await visitor.sees(/No bet is open\.[\s\S]*No bet is settled yet/);
  await visitor.seesNo(/Not live/);
  // Their stores are of the chain that is gone.
  for (const name of ["bridge", "solver"] as const) {
    await services.stop(name);
    await services.start(name);
  }
  await placeBet(services);
  await visitor.sees(/No bet is settled yet[\s\S]*1 open/);
});

browserTest("the operator sees an outage, and its end", "#operator", async (visitor, services) => {
  const { page } = visitor;
  const startTime = await placeBet(services, 1_500);
  const isUp = (name: string, up: boolean) =>
    page.waitForSelector(`[data-service="${name}"][data-up="${up}"]`);
  for (const name of ["oracle", "node", "proxy", "bridge", "solver"] as const) {
    await isUp(name, true);
    await services.stop(name);
    await isUp(name, false);
    await visitor.sees(/✕ does not answer[\s\S]* · figures of \d\d:\d\d:\d\d/);
    await visitor.sees(
      new RegExp(`✕ Critical\\s+${name}: It does not answer\\s+seen since \\d\\d:`),
    );
    await visitor.sees(/Effect: [a-z]/);
    assert.match(await page.title(), /^✕ [1-9] · Operator/);
    if (name === "bridge") await page.focus(".finding a");
    if (name === "solver") {
      await visitor.sees(/No quotes/);
      assert.deepEqual(await violationsEverywhere(page), []);
    }
    // Some prices of the bet are missing.
    const hasGap = () => systemClock.now() > startTime + 500;
    await eventually("the window of the bet has begun", hasGap);
    await services.start(name);
    await isUp(name, true);
    if (name === "bridge") {
      const isKept = () =>
        page.evaluate("document.querySelector('main').contains(document.activeElement)");
      await eventually(
        "the focus that went with its link",
        async () => await isKept(),
      );
    }
    if (name === "oracle") {
      await visitor.sees(
        /Open bets on ETH\/USDT need prices that are missing[\s\S]*Do first: Before these bets end,[\s\S]*Runbook: NodePricesMissing/,
      );
    }
    await visitor.seesNo(new RegExp(`${name}: It does not answer\\s+seen since`));
  }
  await visitor.sees(/✓ healthy, ready[\s\S]*unchanged since \d\d:\d\d:\d\d/);
  await visitor.sees(/Live/);
  await page.$eval('nav a[href="#trade"]', (link) => link.click());
  await eventually("its title", async () => /^Trade/.test(await page.title()));
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  await waitMs(systemClock, 3_000);
  assert.deepEqual(asked.filter((url) => url.endsWith("/metrics")), [], "behind another view");
  await page.$eval('nav a[href="#operator"]', (link) => link.click());
  await isUp("solver", true);
});

browserTest("if none answers, no service is blamed", "#operator", async (visitor, services) => {
  const { page } = visitor;
  const allAre = (up: boolean) => page.waitForSelector(`.services:not(:has([data-up="${!up}"]))`);
  await visitor.sees(/✓ healthy, ready/);
  await allAre(true);
  const titles: string[] = [];
  await page.exposeFunction("noteTitle", (title: string) => void titles.push(title));
  await page.evaluate(
    "new MutationObserver(() => noteTitle(document.title))" +
      ".observe(document.head, { childList: true, subtree: true, characterData: true })",
  );
  const isOwn = (url: string) => url.startsWith(services.urlOf("console"));
  const fail = (request: HTTPRequest) =>
    void (isOwn(request.url()) ? request.continue() : request.abort());
  await page.setRequestInterception(true);
  page.on("request", fail);
  await visitor.sees(
    /✕ This page reaches no service\. .* If it works, all services have stopped/,
  );
  await allAre(false);
  const isBlamed = async () => /Critical|does not answer/.test(await visitor.textOf("main"));
  assert(!await isBlamed());
  page.off("request", fail);
  await page.setRequestInterception(false);
  await visitor.seesNo(/reaches no service/);
  await allAre(true);
  await visitor.sees(/✓ healthy, ready/);
  assert(!await isBlamed());
  assert.deepEqual(titles.filter((title) => title.startsWith("✕")), []);
});

browserTest(
  "a bet that lacks prices waits, also where it was placed",
  "",
  async (visitor, services) => {
    await visitor.enter();
    await visitor.press("Suggest a box");
    await visitor.fill("startsIn", "8 s");
    await visitor.fill("lasts", "1 s");
    await visitor.press("Get a quote");
    await visitor.press("Sign and place the bet");
    await visitor.sees(/Bet \d+ is placed/);
    await services.stop("oracle");
    await visitor.sees(/waits for prices/, "[data-outcome]");
    await visitor.sees(/waits for prices/, ".your-bets");
    await services.start("oracle");
    await visitor.sees(/Live/);
  },
);

browserTest("the page follows oracle and chain", "", async (visitor, services) => {
  const asked: string[] = [];
  await visitor.page.setRequestInterception(true);
  visitor.page.on("request", (request) => {
    asked.push(request.url());
    // Of the proxy's `/`, the fronts in docs/deployment answer a page only what it posts.
    const isRefused = request.method() === "GET" && request.url() === `${services.urlOf("proxy")}/`;
    void (isRefused ? request.respond({ status: 404 }) : request.continue());
  });
  await visitor.sees(/Live/);
  await visitor.sees(/ETH\/USDT\s+[23],\d{3}\.\d{2}/);

  await services.stop("proxy");
  await visitor.sees(/No connection to the prices: reconnecting/);
  await services.start("proxy");
  await visitor.seesNo(/No connection/);

  await services.stop("oracle");
  await visitor.sees(/The price is not fresh: no bets until it is/);
  await services.start("oracle");
  await visitor.seesNo(/is not fresh/);

  await services.stop("node");
  await visitor.sees(/No connection to the prices: reconnecting/);
  await services.start("node");
  await visitor.sees(/The chain was reset/);
  await visitor.seesNo(/No connection|is not fresh|The chain was reset/);
  await visitor.sees(/Live/);
  await services.stop("node");
  await services.start("node"); // so soon that the proxy keeps the page's connections
  await visitor.sees(/The chain was reset/);
  const forOperators = asked.filter((url) => /\/(metrics|health|ready)$/.test(url));
  assert.deepEqual(forOperators, [], "a trader's page does not watch the services");
});

/** Stops all processes of a browser, as a laptop does that sleeps, until something is done. */
async function whileAsleep(browser: Browser, task: () => Promise<void>): Promise<void> {
  const { pid } = browser.process() ?? {};
  assert(pid !== undefined);
  Deno.kill(-pid, "SIGSTOP"); // the group, which puppeteer made for it
  try {
    await task();
  } finally {
    Deno.kill(-pid, "SIGCONT");
  }
}

browserTest("every view continues after it slept", "", async (visitor, services) => {
  const { page } = visitor;
  const browser = page.browser();
  await visitor.sees(/Live/);
  for (const view of ["trade", "maker", "operator"]) {
    await page.$eval(`nav a[href="#${view}"]`, (link) => link.click());
    await visitor.sees(view === "operator" ? /✓ healthy, ready/ : /Live/);
    await whileAsleep(browser, async () => {
      for (const name of ["solver", "proxy"] as const) {
        await services.stop(name);
        await services.start(name);
      }
    });
    await visitor.seesNo(/Not live|out of date|No connection|is down/);
    await visitor.sees(/Live/);
  }
  // It is live indeed: the next outage is noticed.
  await services.stop("oracle");
  await visitor.sees(/Not live/);
});

Deno.test({
  name: "Console: the page follows services that stop and return",
  ignore: !hasChromium,
  timeout: 300_000,
  async fn(t) {
    await using services = await TestServices.start();
    await using browser = await launchBrowser({ isCalm: true });
    for (const { name, view, test } of tests) {
      await t.step(name, async () => {
        const visitor = await Visitor.open(browser, services.urlOf("console") + view);
        await test(visitor, services);
        await visitor.close({ outages: true });
      });
    }
  },
});
