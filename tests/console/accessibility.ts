import axe from "axe-core";
import type { Page } from "puppeteer-core";

/** The violations that axe-core finds on a page, except minor ones, as text. */
export async function seriousViolations(page: Page): Promise<string[]> {
  // Evaluated through the debugger, which the page's security policy does not concern.
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe.source);
  const { violations } = await page.$eval(
    "html",
    (html) => globalThis.axe.run(html, { resultTypes: ["violations"] }),
  );
  return violations
    .filter(({ impact }) => impact !== "minor")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
}

/** Widths of WCAG's "Reflow", of a laptop, and of a wide screen. */
const WIDTHS = [320, 1280, 2560];

/**
 * Looks at a page in both themes at all widths, with text of twice the size and in forced colours.
 *
 * @returns The violations with their places.
 */
export async function violationsEverywhere(page: Page): Promise<string[]> {
  const session = await page.createCDPSession();
  const found: string[] = [];
  const look = async (where: string) => {
    const overflow = await page.$eval("html", (html) => html.scrollWidth - html.clientWidth);
    if (overflow > 0) found.push(`${where}: ${overflow} pixels wider than the page`);
    for (const violation of await seriousViolations(page)) found.push(`${where}: ${violation}`);
  };
  const show = async (features: Record<string, string>) => {
    const list = Object.entries(features).map(([name, value]) => ({ name, value }));
    await session.send("Emulation.setEmulatedMedia", { features: list });
  };
  for (const theme of ["light", "dark"]) {
    await show({ "prefers-color-scheme": theme });
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 900 });
      await look(`${theme}, ${width} pixels`);
    }
  }
  await page.$eval("html", (html) => html.style.setProperty("font-size", "200%"));
  for (const width of [320, 1280]) {
    await page.setViewport({ width, height: 900 });
    await look(`twice the text, ${width} pixels`);
  }
  await page.$eval("html", (html) => html.style.removeProperty("font-size"));
  await show({ "forced-colors": "active" });
  await look("forced colours");
  await show({});
  await session.detach();
  return found;
}

declare global {
  /** In the page, once the source of axe-core was evaluated there. */
  var axe: { run(root: unknown, options: axe.RunOptions): Promise<axe.AxeResults> };
}
