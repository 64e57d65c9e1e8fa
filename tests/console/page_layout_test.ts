/** Where things are in the trade view: at each step, in enlarged text, on low screens, under drags. */
import assert from "node:assert/strict";
import type { Page } from "puppeteer-core";
import { eventually } from "../support/eventually.ts";
import { pageTest, PHONE } from "./shared_page.ts";

const LOW = { ...PHONE, width: 360, height: 640 };

Deno.test(pageTest("on a wide screen, the next button keeps its place", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.sees(/3\. Draw your box/);
  const places: string[] = [];
  for (
    const [action, then] of [
      ["Suggest a box", /Odds\s+×\s\d/],
      ["Get a quote", /Sign within \d+ s/],
      ["Sign and place the bet", /is placed/],
      ["Make another bet", /Suggest a box/],
    ] as const
  ) {
    const { top, bottom } = await visitor.placeOf(".next [data-next]");
    places.push(`${top} to ${bottom}`);
    const choice = await page.$(".side label:has(select)");
    if (choice) {
      assert(Number((await choice.boundingBox())?.height) < 45, "the choice is on a line");
    }
    await visitor.press(action);
    await visitor.sees(then);
    const isAbout = await page.$(".side :is(#range, [data-outcome])");
    if (isAbout === null) continue;
    const parts = await page.$$eval(
      ".side .action-bar > *",
      (parts) =>
        parts.map((part) => part.getBoundingClientRect()).map(({ top, bottom }) => ({
          top,
          bottom,
        })).sort((one, other) => one.top - other.top),
    );
    const gaps = parts.slice(1).map(({ top }, index) => top - parts[index]!.bottom);
    assert(Math.max(...gaps) < 90, `${action}: gaps of ${gaps.map(Math.round)} between its parts`);
    const space = Number((await isAbout.boundingBox())?.y) -
      (await visitor.placeOf(".side h2")).bottom;
    assert(space > 0 && space < 40, `${action}: ${space} below the heading`);
  }
  assert.equal(new Set(places).size, 1, places.join());
}));

for (const size of [{ width: 1360, height: 660 }, PHONE]) {
  const behaviour = `an estimate and its warning move no button, ${size.width} pixels wide`;
  Deno.test(pageTest(behaviour, async (visitor) => {
    const { page } = visitor;
    const held = Promise.withResolvers<void>();
    await page.setRequestInterception(true);
    page.on("request", async (request) => {
      const isEstimate = request.url().endsWith("/estimate") && request.method() === "POST";
      if (!isEstimate) return void request.continue();
      await held.promise;
      const estimate = {
        betAmount: "10000000",
        payout: "100000000",
        multiplier: "10.0000",
        solverCollateral: "90000000",
      };
      const body = JSON.stringify({ success: true, estimate, pricing: { probability: 0.09 } });
      await request.respond({ headers: { "access-control-allow-origin": "*" }, body });
    });
    const places = async () => {
      for (let frame = 0; frame < 2; frame++) await visitor.nextFrame();
      const parts = ["input[name=lower]", "input[name=amount]", ".stakes button", "[data-next]"];
      if (size !== PHONE) parts.push(".side > .card + .card h2");
      return await Promise.all(parts.map((part) => visitor.placeOf(part)));
    };
    await visitor.enter();
    await visitor.fill("startsIn", "8 s");
    await visitor.fill("lasts", "15 s");
    await visitor.press("Suggest a box");
    const before = await places();
    held.resolve();
    await visitor.sees(/The payout is capped/);
    assert.deepEqual(await places(), before);
    assert.deepEqual(await visitor.cutOff(["#bar-note"]), []);
  }, size));
}

Deno.test(pageTest("a refusal of a service that has a long word fits the page", async (visitor) => {
  const { page } = visitor;
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    const isEstimate = request.url().endsWith("/estimate") && request.method() === "POST";
    if (!isEstimate) return void request.continue();
    const body = JSON.stringify({ success: false, code: "ODD", error: "odd".repeat(200) });
    await request.respond({ headers: { "access-control-allow-origin": "*" }, body });
  });
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.sees(/oddodd/);
  assert.equal(await visitor.overflowOf("html"), 0);
}));

Deno.test(pageTest("on a low phone, the page stays still with each step", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.press("Suggest a box");
  await visitor.sees(/Odds\s+×\s\d/);
  await page.$eval("html", (html) => html.scrollTop = 0);
  for (
    const [action, then, shown] of [
      ["Get a quote", /Sign within \d+ s/, "#range"],
      ["Sign and place the bet", /is placed/, "[data-outcome]"],
      ["Make another bet", /Suggest a box/, ".next"],
    ] as const
  ) {
    await visitor.press(action);
    await visitor.sees(then);
    await visitor.nextFrame();
    assert.equal(await page.evaluate("scrollY"), 0, action);
    const { top, bottom } = await visitor.placeOf(shown);
    assert(top > 0 && bottom <= LOW.height, `${shown}: ${top} to ${bottom}`);
    const isInBar = await page.$eval(".action-bar", (bar) => bar.matches(".card > *"));
    const heading = '.side [aria-label="Your box"] > .row';
    const isShown = await page.$eval(heading, (heading) => heading.checkVisibility());
    assert.equal(isShown, !isInBar, `${action}: a card has more than a heading`);
  }
}, LOW));

Deno.test(
  pageTest("with large text on a phone, the quote to sign is on the screen", async (visitor) => {
    const { page } = visitor;
    await visitor.enter();
    await visitor.setTextSize("200%");
    await visitor.press("Suggest a box");
    await visitor.sees(/Odds\s+×\s\d/);
    await page.$eval("html", (html) => html.scrollTop = 0);
    await eventually("a low bar", async () => {
      const { top } = await visitor.placeOf("input[name=amount]");
      const { bottom } = await visitor.placeOf("[data-next]");
      return top > PHONE.height / 2 && bottom <= PHONE.height;
    });
    await visitor.press("Get a quote");
    await visitor.sees(/Sign within \d+ s/);
    const [range, sign] = [await visitor.placeOf("#range"), await visitor.placeOf("[data-next]")];
    assert(range.top >= 0 && range.bottom <= sign.top, JSON.stringify({ range, sign }));
    // What is signed is beside the button, wherever the page is scrolled to.
    await page.setViewport({ ...PHONE, width: 320, height: 640 });
    for (const scrollTop of [0, 10_000]) {
      await page.$eval("html", (html, top) => html.scrollTop = top, scrollTop);
      await eventually("the payout above the button", async () => {
        const payout = await visitor.placeOf(".payout");
        const sign = await visitor.placeOf("[data-next]");
        return payout.top > 320 && payout.bottom <= sign.top && sign.bottom <= 640;
      });
    }
    await visitor.setTextSize("100%");
    for (const [width, height] of [[320, 256], [844, 195]] as const) {
      await page.setViewport({ ...PHONE, width, height });
      await eventually(`all terms of the quote on ${width} x ${height}`, async () => {
        const hidden: string[] = [];
        for (const part of ["#range", ".deadline", ".terms", ".payout", "[data-next]"]) {
          await page.$eval(part, (part) => part.scrollIntoView({ block: "nearest" }));
          hidden.push(...await visitor.cutOff([part]));
        }
        return hidden.length === 0;
      });
    }
  }, PHONE),
);

Deno.test(pageTest("on low screens, each field is seen with its label", async (visitor) => {
  const { page } = visitor;
  // In two columns, only its last part stays.
  const barTop = async () =>
    (await visitor.placeOf(".action-bar")).top || (await visitor.placeOf(".next")).top;
  await visitor.enter();
  await visitor.press("Suggest a box");
  for (
    const [width, height, text] of [
      [640, 380, "100%"],
      [844, 390, "100%"],
      [844, 390, "200%"],
      [1280, 757, "200%"],
      [320, 640, "200%"],
    ] as const
  ) {
    await page.setViewport({ width, height });
    await page.$eval("html", (html, text) => html.style.setProperty("font-size", text), text);
    const hidden = [
      ...await visitor.hiddenFocus(".side button.quiet", 6),
      ...await visitor.hiddenFocus("input[name=amount]", 6, { isBack: true }),
    ];
    assert.deepEqual(hidden, [], `${width} x ${height}, ${text}`);
    await visitor.fill("startsIn", "abc");
    const error = await page.waitForSelector("#error-startsIn");
    await eventually("the error above the bar", async () => {
      const seen = await error?.evaluate((found) => found.getBoundingClientRect().bottom);
      return seen !== undefined && seen <= await barTop();
    });
    await visitor.fill("startsIn", "20 s");
  }
  await visitor.setTextSize("100%");
  await page.focus("input[name=upper]");
  await page.$eval("input[name=upper]", (field) => field.scrollIntoView({ block: "end" }));
  await page.$eval(".next", (next) => next.style.paddingTop = "60px"); // as a price does
  await eventually("the field in use above the bar that grew", async () => {
    const { bottom } = await visitor.placeOf(":focus");
    return bottom <= await barTop();
  });
}));

Deno.test(pageTest("a key brings the chart back from the list of keys", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  await visitor.setTextSize("200%");
  // A finger needs no keys until they are asked for.
  assert.equal(await page.$eval(".keys", (keys) => keys.checkVisibility()), false);
  await page.$eval(".chart .area", (area) => area.focus());
  await page.keyboard.press("?");
  await page.waitForSelector(".keys ul", { visible: true });
  await eventually("the keys instead of the chart", async () => {
    return (await visitor.placeOf(".chart")).bottom < 320;
  });
  await page.keyboard.press("Enter");
  const { top, bottom } = await visitor.placeOf(".chart");
  assert(top > -1 && bottom <= 640, `${top} to ${bottom}`);
}, { ...PHONE, width: 320, height: 640 }));

Deno.test(pageTest("a drag to the edge leaves the view still", async (visitor) => {
  const { page } = visitor;
  await visitor.enter();
  await visitor.fill("startsIn", "8 s");
  await visitor.press("Suggest a box");
  await visitor.fill("lasts", "10 s"); // as high as for a minute: the price stays inside
  const startsIn = () => visitor.valueOf("startsIn");
  const secondsShown = async () => {
    const label = await page.$eval(".choice .span", (span) => span.textContent);
    return parseFloat(label) * (label.endsWith("min") ? 60 : 1);
  };
  // The plot is 272 pixels of 340.
  const middle = async () => (0.42 + 13 / await secondsShown()) * 272 / 340;
  const [start, before] = [await middle(), await secondsShown()];
  const toEdge = Array.from({ length: 30 }, (_, step) => Math.min(0.78, start + step / 60));
  await visitor.touch(toEdge.map((x) => [[x, 0.5]]), 300);
  assert.notEqual(await startsIn(), "8 s", "it was dragged");
  const after = await secondsShown();
  assert(after <= 2 * before, `${before} s, then ${after} s`);
  await visitor.fill("startsIn", "8 s");
  await visitor.press("Get a quote");
  await visitor.sees(/Ask for a new quote/);
  const grip = await middle();
  await visitor.touch([0, 0.02, 0.05, 0.1].map((x) => [[grip + x, 0.5]]), 300);
  assert.notEqual(await startsIn(), "8 s", "it was dragged again");
}, PHONE));

const countInvitations = async (page: Page) => {
  await page.evaluateOnNewDocument(`
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        if (text === "Tap or draw") globalThis.invitedMs = performance.now();
        if (/^0\\.\\d+$/.test(text)) globalThis.isWrong = true;
        return fillText.call(this, text, ...rest);
      }`);
};

Deno.test(pageTest("a wrong field leaves the box on the chart", async (visitor) => {
  const { page } = visitor;
  await visitor.sees(/Live/);
  await page.waitForFunction("globalThis.invitedMs > 0");
  assert.equal(await page.evaluate("globalThis.isWrong"), undefined, "no price is near 0");
  await visitor.press("Suggest a box");
  await visitor.fill("startsIn", "abc");
  await page.waitForSelector('input[name=startsIn][aria-invalid="true"]');
  const wrongMs = await page.evaluate("performance.now()");
  await page.waitForFunction("performance.now() > " + (Number(wrongMs) + 1_500)); // frames
  assert(Number(await page.evaluate("invitedMs")) < Number(wrongMs), "no invitation");
}, countInvitations));

Deno.test(
  pageTest("where a browser keeps nothing, the page says why it cannot start", async (visitor) => {
    await visitor.sees(/does not let the page start: .* Does it allow pages to store data\?/);
    assert.equal(visitor.problems.splice(0).length, 1);
  }, async (page) => {
    await page.evaluateOnNewDocument(() =>
      Object.defineProperty(globalThis, "localStorage", {
        get() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        },
      })
    );
  }),
);
