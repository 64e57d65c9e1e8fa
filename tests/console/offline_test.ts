/** The page without a connection. */
import assert from "node:assert/strict";
import { pageTest } from "./shared_page.ts";

Deno.test(
  pageTest("offline, the page blames its own connection", async (open, claim) => {
    const visitor = await open();
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
    });
    await claim("the operator's view blames no service, and lists no outage", async () => {
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
    });
    await visitor.close({ outages: true });
  }),
);
