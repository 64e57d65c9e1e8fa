import axe from "axe-core";
import type { Page } from "puppeteer-core";

/** The serious and critical violations that axe-core finds on a page, as text. */
export async function seriousViolations(page: Page): Promise<string[]> {
  // Evaluated through the debugger, which the page's security policy does not concern.
  await page.evaluate(axe.source);
  const { violations } = await page.$eval("html", (html) => globalThis.axe.run(html));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
}

declare global {
  /** In the page, once the source of axe-core was evaluated there. */
  var axe: { run(root: unknown): Promise<axe.AxeResults> };
}
