/** Real Chromium on the console's page. */
import assert from "node:assert/strict";
import puppeteer, { type Browser, type Page } from "puppeteer-core";

const CHROMIUM = "/usr/bin/chromium";

/** Whether this machine has the browser. */
export const hasChromium = await Deno.stat(CHROMIUM).then(() => true, () => false);

/** Starts a browser; close it after use. @param isCalm The chart rests between steps of time: cheap. */
export function launchBrowser({ isCalm = false } = {}): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-GB"];
  // A process for each page, plus a spare one, would cost more than most pages themselves.
  args.push("--renderer-process-limit=1", "--disable-features=SpareRendererForSitePerProcess");
  if (isCalm) args.push("--force-prefers-reduced-motion");
  return puppeteer.launch({ executablePath: CHROMIUM, args });
}

/** How long something on the page may take on a busy machine. */
const WAIT_MS = 20_000;

/** Pause before the page's text is read again: at every frame, that would cost more than the page. */
const POLL_MS = 100;

/** Failed requests are part of an outage, and the browser reports each as an error. */
const OUTAGE = /Failed to load resource|WebSocket connection to .* failed|ERR_CONNECTION/;

/** Checks a claim of a test, on the page as the claims before left it. */
export type Claim = (claim: string, check: () => Promise<void>) => Promise<void>;

export function createClaim(test: Deno.TestContext): Claim {
  return async (claim, check) =>
    assert(await test.step(claim, check), "the claims after it are not checked");
}

/** A place on the chart, as shares of its width and height. */
export type Place = readonly [x: number, y: number];

/** A user on the page of a console, who notices everything that goes wrong in it. */
export class Visitor {
  readonly page: Page;
  /** Errors of scripts, of the security policy, and on the browser's console. */
  readonly problems: string[] = [];

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens the page in a profile of its own. @param prepare Runs before the page is loaded. */
  static async open(
    browser: Browser,
    url: string,
    prepare: (page: Page) => Promise<void> = async () => {},
  ): Promise<Visitor> {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    await page.setViewport({ width: 1360, height: 900 });
    const visitor = new Visitor(page);
    visitor.#watch();
    await prepare(page);
    await page.goto(url);
    return visitor;
  }

  /** Opens the same page in another tab of the same profile. */
  async newTab(): Promise<Visitor> {
    const page = await this.page.browserContext().newPage();
    await page.setViewport({ width: 1360, height: 900 });
    const visitor = new Visitor(page);
    visitor.#watch();
    await page.goto(this.page.url());
    return visitor;
  }

  #watch(): void {
    this.page.on("pageerror", (error) => this.problems.push(String(error)));
    this.page.on("console", (message) => {
      if (message.type() !== "error") return;
      const { url = "" } = message.location();
      // A service on a busy machine is not ready or has no fresh price, as the page shows.
      if (/\/(ready|estimate)$/.test(url) && message.text().includes("503")) return;
      this.problems.push(`${message.text()} (${url})`);
    });
  }

  /** Presses a button by its name, as soon as it can be pressed. */
  async press(name: string): Promise<void> {
    await this.page.bringToFront(); // a tab behind another one draws nothing
    await this.page.locator(`::-p-aria([name="${name}"][role="button"])`)
      .filter((button) =>
        button.getAttribute("aria-disabled") !== "true" && button.dataset.unread !== "true"
      ).click()
      .catch((thrown) => this.#fail(`Cannot press ${name}`, thrown));
  }

  /** Fills a field of the bet. */
  async fill(field: string, text: string): Promise<void> {
    const { keyboard } = this.page;
    await this.page.focus(`input[name="${field}"]`);
    await keyboard.down("Control");
    await keyboard.press("a");
    await keyboard.up("Control");
    await keyboard.type(text);
  }

  /**
   * Waits until the page shows a text that fits, whose spaces may be unbreakable. Waiting for the
   * selector `::-p-text` may never end: if the text is the page's last change, it can still compare
   * with the text before.
   *
   * @param selector Where the text is.
   * @returns The text that fits.
   */
  async sees(pattern: RegExp, selector = "body"): Promise<string> {
    await this.page.bringToFront();
    const found = await this.page.waitForFunction(
      (source, selector, root) => {
        const text = root?.querySelector(selector)?.innerText ?? "";
        return new RegExp(source).exec(text.replaceAll("\xa0", " "))?.[0];
      },
      { polling: POLL_MS },
      pattern.source,
      selector,
      await this.page.$("html"),
    ).catch((thrown) => this.#fail(`Not on the page: ${pattern}`, thrown));
    return String(await found.jsonValue());
  }

  /** Waits until a part of the page shows a text no more. A message keeps its own for 8 s. */
  async seesNo(pattern: RegExp, selector = "body"): Promise<void> {
    await this.page.bringToFront();
    await this.page.waitForFunction(
      (source, part) => !new RegExp(source).test(part?.innerText.replaceAll("\xa0", " ") ?? ""),
      { polling: POLL_MS },
      pattern.source,
      await this.page.$(selector),
    );
  }

  /** Waits until a text is spoken: in the live region of the page's messages. */
  async hears(pattern: RegExp): Promise<void> {
    await this.page.waitForFunction(`[...document.querySelectorAll(".messages p")]
    .some(({ textContent }) => ${pattern}.test(textContent))`);
  }

  /** Waits until the focus is on the element with this text. */
  async focusIsOn(text: string): Promise<void> {
    await this.page.waitForFunction(
      (html, text) => html?.querySelector(":focus")?.textContent?.trim() === text,
      {},
      await this.page.$("html"),
      text,
    );
  }

  /** Where the first element of a selector is on the screen. */
  placeOf(selector: string): Promise<{ left: number; right: number; top: number; bottom: number }> {
    return this.page.$eval(selector, (part) => {
      const { left, right, top, bottom } = part.getBoundingClientRect();
      return { left, right, top, bottom };
    });
  }

  /** By how many pixels what an element has is wider than itself: 0 if nothing is hidden. */
  overflowOf(selector: string): Promise<number> {
    return this.page.$eval(selector, ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  }

  /** Where shares of the chart's width and height are on the screen. */
  async chart(): Promise<(x: number, y: number) => [x: number, y: number]> {
    const canvas = await this.page.waitForSelector(".chart canvas");
    const box = await canvas?.boundingBox() ?? assert.fail();
    return (x, y) => [box.x + x * box.width, box.y + y * box.height];
  }

  /** Waits until the page has been painted again. */
  async nextFrame(): Promise<void> {
    await this.page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
  }

  /** Sets the size of the page's text, as users enlarge it. */
  async setTextSize(size: "100%" | "200%"): Promise<void> {
    await this.page.$eval("html", (html, size) => html.style.fontSize = size, size);
  }

  /** The text in a field of the bet. */
  valueOf(field: string): Promise<string> {
    return this.page.$eval(`input[name="${field}"]`, ({ value }) => value);
  }

  /** Those parts, by selector, that are not whole on the screen, or that another one covers. */
  async cutOff(selectors: readonly string[]): Promise<string[]> {
    const isWhole = (selector: string) =>
      this.page.$eval(selector, (part) => {
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

  /**
   * What Tab reaches although it, or its label, is off the screen or covered, except the chart.
   *
   * @param from Where the focus starts.
   */
  async hiddenFocus(from: string, presses: number, { isBack = false } = {}): Promise<string[]> {
    const hidden: string[] = [];
    await this.page.focus(from);
    if (isBack) await this.page.keyboard.down("Shift");
    for (let pressed = 0; pressed < presses; pressed++) {
      await this.page.keyboard.press("Tab");
      // An estimate that arrives now changes the bar's height, and the next frame has room for it.
      for (let frame = 0; frame < 2; frame++) await this.nextFrame();
      const found = await this.page.$$eval(
        ":focus:not(.area)",
        (parts) =>
          parts.flatMap((field) => {
            const label = field.id && field.ownerDocument.querySelector(`label[for=${field.id}]`);
            return [field, ...(label ? [label] : [])].filter((part) => {
              const { left, top, bottom } = part.getBoundingClientRect();
              return [top + 2, bottom - 2].some((y) => {
                const one = field.ownerDocument.elementFromPoint(left + 8, y);
                return one === null || !part.contains(one) && !one.contains(part);
              });
            }).map((part) => part.outerHTML.slice(0, 80));
          }),
      );
      hidden.push(...found);
    }
    if (isBack) await this.page.keyboard.up("Shift");
    return hidden;
  }

  async #fail(what: string, cause: unknown): Promise<never> {
    const text = await this.page.$eval("body", ({ innerText }) => innerText);
    throw new Error(`${what}\n${text}`, { cause });
  }

  /** The text of an element, as soon as it is there. */
  async textOf(selector: string): Promise<string> {
    const element = await this.page.waitForSelector(selector);
    return (await element?.evaluate((found) => found.textContent)) ?? "";
  }

  /** Waits for a bet's row with one of these outcomes. @returns The outcome. */
  async outcomeOf(thesisId: number): Promise<string> {
    const row = `tr[data-thesis="${thesisId}"]`;
    await this.page.waitForSelector(
      `${row}[data-status="won"], ${row}[data-status="lost"]`,
    );
    return await this.page.$eval(row, (found) => found.getAttribute("data-status") ?? "");
  }

  /** Drags with the mouse over the chart, from and to shares of its width and height. */
  async drag(from: Place, to: Place): Promise<void> {
    const at = await this.chart();
    const { mouse } = this.page;
    await mouse.move(...at(...from));
    await mouse.down();
    await mouse.move(...at(...to), { steps: 8 });
    await mouse.up();
  }

  /**
   * Touches the chart with fingers at one place after the other, a frame each, and lifts them.
   *
   * @param restMs The first ones rest for this long, by the time of the events.
   */
  async touch(steps: readonly (readonly Place[])[], restMs = 0): Promise<void> {
    const canvas = await this.page.waitForSelector(".chart canvas");
    await canvas?.scrollIntoView();
    const at = await this.chart();
    const session = await this.page.createCDPSession();
    let down = 0;
    const startedAtMs = Date.now();
    for (const [index, fingers] of steps.entries()) {
      // However busy the machine is.
      const timestamp = (startedAtMs + 16 * index + (index > 0 ? restMs : 0)) / 1_000;
      const touchPoints = fingers.map((finger, id) => {
        const [x, y] = at(...finger);
        return { id, x, y };
      });
      const type = fingers.length > down ? "touchStart" : "touchMove";
      await session.send("Input.dispatchTouchEvent", { type, touchPoints, timestamp });
      down = fingers.length;
      await this.nextFrame();
    }
    await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await session.detach();
  }

  /** Makes a key in the browser and requests test money. */
  async enter(): Promise<void> {
    await this.press("Make a test account");
    await this.press("Take test money");
    await this.sees(/1,000\.00 USDC/);
  }

  /** Leaves, after making sure that nothing went wrong. */
  async close({ outages = false } = {}): Promise<void> {
    const unexpected = this.problems.filter((text) => !outages || !OUTAGE.test(text));
    assert.deepEqual(unexpected, []);
    await this.page.browserContext().close();
  }
}
