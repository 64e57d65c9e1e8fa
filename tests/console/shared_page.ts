/** One browser, and the stacks that are needed, for all tests of an isolate. */
import { fileURLToPath as fromFileUrl } from "node:url";
import type { Browser, Page, Viewport } from "puppeteer-core";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, startStack } from "../../services/stack/stack.ts";
import { consolePage } from "../support/console_page.ts";
import { eventually } from "../support/eventually.ts";
import { marketsToml, withMarketsFile } from "../support/files.ts";
import { type Claim, createClaim, hasChromium, launchBrowser, Visitor } from "./browser.ts";

const DESKTOP = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

/** What a test has besides its visitor. */
interface Surroundings {
  /** The stack behind the page. */
  stack: RunningStack;
  claim: Claim;
}

/** As long as a symbol can be. */
export const LONG_SYMBOL = "ABCDEFGHIJKLMNOP/QRSTUVWXYZ012345";

const MARKETS = `${marketsToml(20)}
[[market]]
symbol = "${LONG_SYMBOL}"
base = "0x${"12".repeat(20)}"
quote = "0x${"34".repeat(20)}"
`;

/**
 * Stacks with a solver that prices a box around the price by its width, or any box at random, and with
 * markets of a file.
 */
type StackName = "by-width" | "mock" | "own-markets";

interface VisitOptions {
  stack?: StackName;
  /** Whether no request may fail or be refused. */
  isStrict?: boolean;
}

const stacks: Partial<Record<StackName, RunningStack>> = {};
/** How many tests have yet to end that need a stack: it is stopped after the last one. */
const remaining = new Map<StackName, number>();
let browser: Browser | undefined;

// They run during several tests, so that the sanitizers would report them.
Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.beforeAll(async () => {
  if (hasChromium) browser = await launchBrowser({ isCalm: true });
});
Deno.test.afterAll(async () => {
  await browser?.close();
  for (const stack of Object.values(stacks)) await stack.stop();
});

/** Starts a stack, and waits until all its markets have prices. */
async function start(name: StackName): Promise<RunningStack> {
  const given = { ports: { ...FREE_PORTS, console: 0 }, page: await consolePage(), seed: 1 };
  const pricing = { pricing: fromFileUrl(import.meta.resolve("./strategy.ts")) };
  await withMarketsFile(MARKETS, async (markets) => {
    const options = { "by-width": { pricing }, mock: {}, "own-markets": { markets } };
    stacks[name] = await startStack({ ...given, ...options[name] });
  });
  const stack = stacks[name]!;
  const client = new RangemakerClient({ urls: stack.urls, chainId: 1337 });
  await eventually("all prices", async () => {
    const prices = Object.values(await client.prices());
    return prices.length > 0 && prices.every(({ state }) => state === "fresh");
  });
  return stack;
}

/**
 * The test of a behaviour of the page. At its end, nothing may have gone wrong in the page.
 *
 * @param prepare The size of the screen, or what is done before the page is loaded.
 */
export function pageTest(
  behaviour: string,
  play: (visitor: Visitor, surroundings: Surroundings) => Promise<void>,
  prepare: Viewport | ((page: Page) => Promise<void>) = DESKTOP,
  { stack: name = "by-width", isStrict = false }: VisitOptions = {},
): Deno.TestDefinition {
  remaining.set(name, (remaining.get(name) ?? 0) + 1);
  return {
    name: `Console: ${behaviour}`,
    ignore: !hasChromium,
    async fn(test) {
      const stack = stacks[name] ?? await start(name);
      const url = stack.urls.console!; // it has a port
      const prepared = typeof prepare === "function"
        ? prepare
        : (page: Page) => page.setViewport(prepare);
      try {
        const visitor = await Visitor.open(browser!, url, prepared);
        await play(visitor, { stack, claim: createClaim(test) });
        await visitor.close({ outages: !isStrict });
      } finally {
        const left = remaining.get(name)! - 1; // it was counted
        remaining.set(name, left);
        if (left === 0) await stack.stop();
      }
    },
  };
}
