/** One browser, and a stack for each pricing, for all tests of an isolate. */
import assert from "node:assert/strict";
import { fileURLToPath as fromFileUrl } from "node:url";
import type { Browser, Page, Viewport } from "puppeteer-core";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, startStack } from "../../services/stack/stack.ts";
import { consolePage } from "../support/console_page.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";

const DESKTOP = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

/** What a test has besides its visitor. */
interface Surroundings {
  /** The stack behind the page. */
  stack: RunningStack;
  /** Checks a claim of the test, on the page as the claims before left it. */
  claim(claim: string, check: () => Promise<void>): Promise<void>;
}

interface VisitOptions {
  /** The solver's pricing: any box at random, or a box around the price by its width. */
  pricing?: "mock" | "by-width";
  /** Whether no request may fail or be refused. */
  isStrict?: boolean;
}

const stacks: Partial<Record<"mock" | "by-width", RunningStack>> = {};
const needed = new Set<keyof typeof stacks>();
let browser: Browser | undefined;

// They run during every test, so that the sanitizers would report them.
Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.beforeAll(async () => {
  if (!hasChromium) return;
  const page = await consolePage();
  const strategy = { pricing: fromFileUrl(import.meta.resolve("./strategy.ts")) };
  for (const name of needed) {
    const pricing = name === "mock" ? undefined : strategy;
    const ports = { ...FREE_PORTS, console: 0 };
    const stack = await startStack({ ports, page, seed: 1, ...(pricing && { pricing }) });
    stacks[name] = stack;
    const client = new RangemakerClient({ urls: stack.urls, chainId: 1337 });
    await waitForPrices(stack.urls, client, systemClock);
  }
  browser = await launchBrowser({ isCalm: true });
});
Deno.test.afterAll(async () => {
  await browser?.close();
  for (const stack of Object.values(stacks)) await stack.stop();
});

/**
 * The test of a behaviour of the page. At its end, nothing may have gone wrong in the page.
 *
 * @param prepare The size of the screen, or what is done before the page is loaded.
 */
export function pageTest(
  behaviour: string,
  play: (visitor: Visitor, surroundings: Surroundings) => Promise<void>,
  prepare: Viewport | ((page: Page) => Promise<void>) = DESKTOP,
  { pricing = "by-width", isStrict = false }: VisitOptions = {},
): Deno.TestDefinition {
  needed.add(pricing);
  return {
    name: `Console: ${behaviour}`,
    ignore: !hasChromium,
    async fn(test) {
      const stack = stacks[pricing]!; // since the first test, as the browser
      const url = stack.urls.console!; // it has a port
      const prepared = typeof prepare === "function"
        ? prepare
        : (page: Page) => page.setViewport(prepare);
      const visitor = await Visitor.open(browser!, url, prepared);
      await play(visitor, {
        stack,
        async claim(claim, check) {
          assert(await test.step(claim, check), "the claims after it are not checked");
        },
      });
      await visitor.close({ outages: !isStrict });
    },
  };
}
