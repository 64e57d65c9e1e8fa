/** What the user prefers: less motion, and a theme. */
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { seriousViolations } from "./accessibility.ts";
import { pageTest } from "./shared_page.ts";

Deno.test(pageTest("with reduced motion, the chart is still, but follows a drag", async (open) => {
  const visitor = await open(async (page) => {
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    await page.evaluateOnNewDocument(() => {
      const prototype = Reflect.get(globalThis, "CanvasRenderingContext2D").prototype;
      const { save } = prototype;
      Object.assign(globalThis, { painted: 0 });
      prototype.save = function () {
        Object.assign(globalThis, { painted: Reflect.get(globalThis, "painted") + 1 });
        return save.call(this);
      };
    });
  });
  const { page } = visitor;
  await visitor.sees(/ETH\/USDT\s+[23],\d{3}/);
  await page.mouse.move(5, 5);
  const painted = () => page.evaluate(() => Number(Reflect.get(globalThis, "painted")));
  const resting = await painted();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const rested = await painted() - resting;
  assert(rested >= 1 && rested <= 10, `${rested} in 2 s: two for each half second`);
  const canvas = await page.$(".chart canvas");
  const box = await canvas?.boundingBox() ?? assert.fail();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.3 * box.height);
  await page.mouse.down();
  const before = await painted();
  const STEPS = 30;
  for (let step = 1; step <= STEPS; step++) {
    await page.mouse.move(
      box.x + (0.6 + 0.006 * step) * box.width,
      box.y + (0.3 + 0.012 * step) * box.height,
    );
    await page.evaluate(() =>
      new Promise((resolve) => Reflect.get(globalThis, "requestAnimationFrame")(resolve))
    );
  }
  const dragged = await painted() - before;
  assert(dragged >= STEPS * 0.8, `${dragged} frames for ${STEPS} moves`);
  await page.mouse.up();
  await visitor.close({ outages: true });
}));

Deno.test(
  pageTest(
    "a chosen theme applies to charts in other tabs, and survives a reload",
    async (open) => {
      const visitor = await open();
      const { page } = visitor;
      await visitor.sees(/Live/);
      const corner = async () =>
        Number(
          await page.evaluate(
            `document.querySelector(".chart canvas").getContext("2d").getImageData(1, 1, 1, 1).data[0]`,
          ),
        );
      assert(await corner() > 200, "light");
      const other = await visitor.newTab();
      await other.sees(/Live/);
      await other.page.select("select[name=theme]", "dark");
      await page.bringToFront();
      await eventually("a dark chart", async () => await corner() < 60 || undefined);
      assert.equal(await page.$eval("select[name=theme]", ({ value }) => value), "dark");
      await page.reload();
      await visitor.sees(/Live/);
      await eventually("a dark chart", async () => await corner() < 60 || undefined);
      assert.deepEqual(await seriousViolations(page), []);
      await visitor.close();
    },
  ),
);
