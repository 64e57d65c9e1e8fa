/** The page under a thumb: on a phone, upright and in landscape, and on a tablet. */
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import type { PageConfig } from "../../services/console/page_config.ts";
import { eventually } from "../support/eventually.ts";
import { seriousViolations } from "./accessibility.ts";
import type { Place, Visitor } from "./browser.ts";
import { pageTest, PHONE } from "./shared_page.ts";

const LANDSCAPE = { ...PHONE, width: PHONE.height, height: PHONE.width };

Deno.test(
  pageTest("on a phone, the thumb always reaches the next step", async (visitor, { claim }) => {
    const { page } = visitor;
    await visitor.sees(/Live/);
    await claim("the account and money are in reach", async () => {
      await visitor.sees(/1\. Open an account/);
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
    });
    await claim("a message covers neither the views nor the next step", async () => {
      for (const scrollTop of [0, 100_000]) {
        await page.$eval("html", (html, top) => html.scrollTop = top, scrollTop);
        assert.deepEqual(await coveredByMessage(page), []);
      }
    });
    await claim("the page stays at its end as the balance changes", async () => {
      const end = "document.documentElement.scrollHeight - innerHeight";
      await page.evaluate(`scrollTo(0, ${end})`);
      await page.evaluate('document.querySelector(".side details form").requestSubmit()');
      await visitor.sees(/2,000\.00 USDC\s/);
      const [at, left] = [await page.evaluate("scrollY"), await page.evaluate(`${end} - scrollY`)];
      assert(Number(at) > 0 && Math.abs(Number(left)) < 2, `at ${at}, ${left} from the end`);
    });
    await claim("the box is in reach, and shows what it pays", async () => {
      await assertInReach(page, "Suggest a box");
      await visitor.press("Suggest a box");
      await visitor.sees(
        /Odds\s+×\s[\d.]+\s+Chance\s+[\d.]+\s%\s+Break-even\s+[\d.]+\s%\s+You get\s+[\d.]+ USDC, at least [\d.]+/,
      );
      // 60 s from 20 s on do not fit beside the past of the minute shown before.
      await page.waitForSelector('[aria-label="Time shown: 3 min"]');
    });
    await claim("the bar covers nothing that has the focus", async () => {
      assert.deepEqual(await visitor.hiddenFocus("header a", 30), []);
    });
    await claim("the quote, what is signed and the next box are in reach", async () => {
      for (
        const [action, then] of [
          ["Get a quote", /Sign within \d+ s\./],
          ["Sign and place the bet", /is placed/],
          ["Make another bet", /Draw on the chart/],
        ] as const
      ) {
        await assertInReach(page, action);
        if (action === "Sign and place the bet") {
          await visitor.sees(
            /You bet\s+10\.00\s+Odds\s+× [\d.]+\s+Chance\s+[\d.]+\s%\s+Break-even\s+[\d.]+\s%\s+You get\s+[\d.]+ USDC, at least [\d.]+/,
            ".action-bar",
          );
          assert.deepEqual(await visitor.cutOff([".terms", ".payout"]), []);
        }
        assert.deepEqual(await seriousViolations(page), [], action);
        assert.deepEqual(await smallTargets(page), [], action);
        await visitor.press(action);
        await visitor.sees(then);
      }
    });
    await claim("the open bet is below the chart", async () => {
      assert.match(
        await visitor.textOf(".legend .open"),
        /^● Bet \d+: .*\d+ s.*, pays \d+\.\d\d USDC$/,
      );
    });
    const row = "tr[data-thesis]"; // the only one of this account
    await claim("a reloaded page is at its top, without a focus", async () => {
      await page.$eval("html", (html) => html.scrollTop = 600);
      await page.reload();
      await visitor.sees(/1 open/);
      const opened = await page.evaluate(
        "[scrollY, document.activeElement === document.body].join()",
      );
      assert.equal(opened, "0,true", "at the top, without a focus");
    });
    await claim("a row shows its bet on the chart", async () => {
      await page.$eval("html", (html) => html.scrollTop = 900);
      await page.$eval(row, (row) => row.click());
      await page.waitForSelector(`${row}[data-chosen="true"]`);
      const marked = await page.$eval(
        row,
        (row) => row.ownerDocument.defaultView?.getComputedStyle(row).backgroundColor,
      );
      assert.notEqual(marked, "rgba(0, 0, 0, 0)", "the whole row, not its cells");
      const top = await page.$eval(".chart", (chart) => chart.getBoundingClientRect().top);
      assert(top > -1 && top < PHONE.height / 2, `${top}`);
    });
    await claim("what can be pressed in the other views is large enough", async () => {
      for (const view of ["maker", "operator"]) {
        await page.$eval(`nav a[href="#${view}"]`, (link) => link.click());
        await visitor.sees(view === "maker" ? /What you may lose/ : /Price sources/);
        assert.deepEqual(await smallTargets(page), [], view);
      }
    });
  }, PHONE),
);

Deno.test(
  pageTest("on a phone of a chain with money, the wallet is the next step", async (visitor) => {
    const { page } = visitor;
    await visitor.sees(/To bet, install a browser wallet/);
    const bar = await page.$eval("html", ({ style }) => style.getPropertyValue("--bar"));
    assert.equal(bar, "0px", "no step needs a bar");
    await page.evaluate(`{
    const answers = { eth_requestAccounts: ["0x${"12".repeat(20)}"], eth_chainId: "0x539" };
    const provider = { request: async ({ method }) => answers[method] };
    const detail = { info: { uuid: "1", name: "Testing Wallet", rdns: "test" }, provider };
    dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  }`);
    await assertInReach(page, "Connect Testing Wallet");
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    await assertInReach(page, "Connect Testing Wallet");
    assert.deepEqual(await visitor.cutOff([".foot"]), [], "the page ends above the bar");
    await visitor.press("Connect Testing Wallet");
    await visitor.sees(/2\. Take money to bet with/);
    await visitor.focusIsOn("Deposit");
    await visitor.press("Disconnect");
    await visitor.focusIsOn("Connect Testing Wallet");
  }, onPhoneWith({ isDevelopmentChain: false })),
);

Deno.test(
  pageTest("on a phone, a node of another chain is why no account is made", async (visitor) => {
    const reason = /The node has chain 1337, and this page is for chain 9: nobody can bet here/;
    await visitor.sees(reason, ".side > .card:first-child .action-bar");
  }, onPhoneWith({ chainId: 9 })),
);

/** Opens the page on a phone with another configuration than its console's. */
function onPhoneWith(changes: Partial<PageConfig>) {
  return async (page: Page) => {
    await page.setViewport(PHONE);
    await page.setRequestInterception(true);
    page.on("request", async (request) => {
      if (!request.url().endsWith("/config.json")) return await request.continue();
      const config = await (await fetch(request.url())).json();
      await request.respond({ body: JSON.stringify({ ...config, ...changes }) });
    });
  };
}

Deno.test(pageTest("a swipe scrolls the page, and drawing does not", async (visitor, { claim }) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  const scrolled = () => page.$eval("html", ({ scrollTop }) => scrollTop);
  const lower = () => visitor.valueOf("lower");
  const scrolls = async (from: Place, to: Place) => {
    // The page keeps scrolling for a moment after the finger is lifted.
    const scrollEnd = page.evaluate(`new Promise((resolve) =>
    document.addEventListener("scrollend", () => resolve(true), { once: true }))`);
    await swipe(visitor, from, to);
    assert(await scrollEnd && await scrolled() > 50, "the page has scrolled");
    await page.$eval("html", (html) => html.scrollTop = 0);
  };
  await claim("a quick stroke scrolls, also on the future", async () => {
    await scrolls([0.15, 0.8], [0.2, 0.2]);
    await scrolls([0.6, 0.8], [0.62, 0.2]); // on the future
    assert.equal(await lower(), "");
  });
  await claim("at the top of the page it draws, and moves no box without a rest", async () => {
    await swipe(visitor, [0.5, 0.2], [0.62, 0.8]); // the page is at its top
    await eventually("a box", async () => await lower() !== "");
    await visitor.seesNo(/a quick vertical stroke scrolls/);
    const drawn = await lower();
    await swipe(visitor, [0.56, 0.4], [0.57, 0.7]);
    await visitor.sees(
      /Hold for a moment, then draw or resize: a quick vertical stroke scrolls\./,
    );
    assert.equal(await lower(), drawn);
  });
  await claim("a sliver draws nothing, a tap the suggested box", async () => {
    await visitor.press("Clear the box");
    await swipe(visitor, [0.5, 0.6], [0.7, 0.61]);
    assert.equal(await lower(), "", "a sliver is not meant");
    await visitor.touch([[[0.6, 0.5]]]); // a tap where the chart invites to draw
    await eventually("a suggested box", async () => await lower() !== "");
  });
  await claim("after a rest, a finger draws and does not scroll", async () => {
    await visitor.press("Clear the box");
    await swipe(visitor, [0.5, 0.8], [0.6, 0.2], 300);
    await eventually("a box", async () => await lower() !== "");
    assert.equal(await scrolled(), 0);
  });
  await claim("near a corner, a quick stroke moves a box; a rested one resizes it", async () => {
    const sides = () =>
      page.$$eval(
        "input[name=lower], input[name=upper], input[name=lasts]",
        (inputs) => inputs.map(({ value }) => parseFloat(value)),
      );
    const heightOf = ([low = 0, high = 0]: number[]) => Math.round(100 * (high - low));
    await visitor.press("Clear the box");
    await swipe(visitor, [0.5, 0.7], [0.7, 0.3], 300);
    await eventually("a box", async () => await lower() !== "");
    const drawnSides = await sides();
    await swipe(visitor, [0.65, 0.38], [0.57, 0.4]); // beside the handle
    const movedSides = await eventually("a moved box", async () => {
      const now = await sides();
      return now[0] !== drawnSides[0] ? now : undefined;
    });
    assert.deepEqual([heightOf(movedSides), movedSides[2]], [
      heightOf(drawnSides),
      drawnSides[2],
    ]);
    await swipe(visitor, [0.6, 0.35], [0.55, 0.5], 300);
    await eventually("a smaller box", async () => {
      const now = await sides();
      return heightOf(now) < heightOf(drawnSides) && now[0] === movedSides[0];
    });
  });
  await claim("a quoted box stays as it is", async () => {
    await visitor.enter();
    await visitor.press("Clear the box");
    await visitor.fill("startsIn", "20 s");
    await visitor.fill("lasts", "1 min");
    await visitor.press("Suggest a box");
    await visitor.press("Get a quote");
    await visitor.sees(/Sign within \d+ s\./);
    await page.$eval("html", (html) => html.scrollTop = 0);
    await swipe(visitor, [0.5, 0.8], [0.75, 0.3]);
    await visitor.sees(/Sign within \d+ s\./);
  });
}, PHONE));

Deno.test(pageTest("a phone's keyboard hides no next step", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.fill("lasts", "25");
  for (const [field, text] of [["upper", "8994"], ["lower", "8990"]] as const) {
    await visitor.fill(field, text);
  }
  await visitor.sees(/Move the box/, ".action-bar");
  await page.setViewport({ ...PHONE, height: 430 });
  await page.$eval("html", (html) => html.scrollTop = 0);
  await page.$$eval(".toasts button", (buttons) => buttons.forEach((one) => one.click()));
  await eventually(
    "the header and the next step on the screen",
    async () => {
      const cut = await visitor.cutOff([
        ".brand",
        ".connection",
        ".account-chip",
        "[data-next]",
      ]);
      return cut.length === 0;
    },
  );
  const heights = await page.$$eval(
    ".connection, .account-chip strong",
    (parts) => parts.map((part) => part.getBoundingClientRect().height),
  );
  assert(heights.every((height) => height < 30), `one line each: ${heights}`);
}, PHONE));

Deno.test(pageTest("landscape and tablets show chart and next step", async (visitor, { claim }) => {
  const { page } = visitor;
  await claim("the column stays at its top as the card of the box becomes its first", async () => {
    await visitor.press("Make a test account");
    await visitor.sees(/Take test money/);
    await page.$eval("button[data-next]", (button) => {
      button.click();
      button.closest(".side")?.scrollTo(0, 1_000);
    });
    await visitor.sees(/1,000\.00 USDC/);
    await page.waitForFunction('document.querySelector(".side").scrollTop === 0');
    await page.$eval("html", (html) => html.scrollTop = 0);
    assert.deepEqual(await visitor.cutOff([".chart canvas", ".action-bar button.wide"]), []);
  });
  await claim("the whole stake is shown", async () => {
    await visitor.fill("amount", "1234.56");
    const [wide, shown = 0] = await page.$eval(
      "input[name=amount]",
      ({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth],
    );
    assert(wide === shown && shown > 90, `${shown} pixels show the stake`);
  });
  await claim("a box at the edge of the future is seen when that is smaller", async () => {
    await page.setViewport(PHONE);
    const ahead = { startsIn: "30 s", lasts: "1 min", lower: "1000", upper: "9000" };
    for (const [field, text] of Object.entries(ahead)) await visitor.fill(field, text);
    await page.waitForSelector('[aria-label="Time shown: 3 min"]');
    await page.setViewport(LANDSCAPE);
    await page.waitForSelector('[aria-label="Time shown: 4 min"]');
  });
  await claim("the next step is on the screen of a tablet", async () => {
    await page.setViewport({ ...PHONE, width: 820, height: 1180 });
    await page.$eval("html", (html) => html.scrollTop = 0);
    await eventually("the button on the screen of a tablet", async () => {
      return (await visitor.cutOff([".action-bar button.wide"])).length === 0;
    });
  });
  await claim("in landscape, payout, stakes, next step and zoom are on the screen", async () => {
    await page.setViewport(LANDSCAPE);
    const away = { upper: "8994", lower: "8990", startsIn: "20 s", lasts: "1 min", amount: "20" };
    for (const [field, text] of Object.entries(away)) await visitor.fill(field, text);
    await visitor.sees(/Move the box/, ".action-bar");
    assert.deepEqual(await visitor.cutOff([".action-bar button.wide"]), []);
    await visitor.press("Move the box to the price");
    await visitor.sees(/Odds\s+×\s[\d.]+[\s\S]*You get\s+[\d.]+ USDC, at least [\d.]+/);
    await page.$eval("html", (html) => html.scrollTop = 0);
    const seen = await page.$$eval(
      ".payout, .stakes, .action-bar button.wide, .legend [aria-label^=Show]",
      (parts) =>
        parts.map((part) => part.getBoundingClientRect())
          .filter(({ top, bottom, height }) => height > 0 && top >= 0 && bottom <= 390)
          .length,
    );
    assert.equal(seen, 5, "payout, stakes, next step and both zoom buttons are on the screen");
  });
  await claim("the quote, its terms and its deadline are, too", async () => {
    await visitor.press("Get a quote");
    await visitor.sees(/Sign and place the bet/);
    // Not by the mouse: the message may end meanwhile.
    await page.$$eval(".toasts button", (buttons) => buttons.forEach((one) => one.click()));
    const parts = [
      ".deadline",
      ".terms",
      ".payout",
      ".side .facts dt",
      ".side .facts dd",
      "[data-next]",
    ];
    assert.deepEqual(await visitor.cutOff(parts), []);
  });
  await claim("the style sheet has room for a notice, and cuts only longer ones", async () => {
    const hidden = await page.$eval("#bar-note p", (note) => {
      note.textContent = "Not placed: the odds changed. This is a new quote, for a window from " +
        "17:20:33. It pays 15 % less than the estimate of 215.82 USDC: the chance rose.";
      return note.scrollHeight - note.clientHeight;
    });
    assert.equal(hidden, 0, "the whole notice");
    assert.deepEqual(await visitor.cutOff(["#bar-note p", ".deadline", "[data-next]"]), []);
    await page.$eval("#bar-note p", (note) => note.textContent = "It pays more. ".repeat(30));
    assert.deepEqual(await visitor.cutOff([".deadline", "[data-next]"]), [], "a long note");
  });
  await claim("a placed bet is beside the chart", async () => {
    await page.$eval(".side", (side) => side.scrollTop = 200);
    await visitor.press("Sign and place the bet");
    await visitor.sees(/is placed/);
    assert.equal(await page.$eval(".side", ({ scrollTop }) => scrollTop), 0);
    await page.$eval(".your-bets h2", (bets) => bets.scrollIntoView({ block: "center" }));
    assert.deepEqual(await visitor.cutOff([".your-bets h2", ".chart"]), [], "beside the chart");
  });
}, LANDSCAPE));

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
  return await page.$$eval("nav, .action-bar, .toasts", (parts) => {
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
