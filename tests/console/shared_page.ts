/** One stack, whose prices move little, and one browser for all tests of an isolate. */
import assert from "node:assert/strict";
import { fileURLToPath as fromFileUrl } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, startStack } from "../../services/stack/stack.ts";
import { consolePage } from "../support/console_page.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";

/** Opens the page as another visitor. @param prepare Runs before the page is loaded. */
export type Open = (prepare?: (page: Page) => Promise<void>) => Promise<Visitor>;

/** Checks a claim of a test, on the page as the claims before left it. */
export type Claim = (claim: string, check: () => Promise<void>) => Promise<void>;

let shared: { stack: RunningStack; browser: Browser } | undefined;

// They run during every test, so that the sanitizers would report them.
Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.beforeAll(async () => {
  if (!hasChromium) return;
  const stack = await startStack({
    ports: { ...FREE_PORTS, console: 0 },
    page: await consolePage(),
    seed: 1,
    pricing: { pricing: fromFileUrl(import.meta.resolve("./strategy.ts")) },
  });
  shared = { stack, browser: await launchBrowser({ isCalm: true }) };
});
Deno.test.afterAll(async () => {
  await shared?.browser.close();
  await shared?.stack.stop();
});

/** The test of a behaviour of the page. */
export function pageTest(
  behaviour: string,
  play: (open: Open, claim: Claim) => Promise<void>,
): Deno.TestDefinition {
  return {
    name: `Console: ${behaviour}`,
    ignore: !hasChromium,
    fn: (test) => {
      const { stack: { urls }, browser } = shared!; // since the first test
      const open: Open = (prepare) => Visitor.open(browser, urls.console!, prepare); // it has a port
      return play(open, async (claim, check) => {
        assert(await test.step(claim, check), "the claims after it are not checked");
      });
    },
  };
}
