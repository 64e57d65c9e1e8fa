/** Makes the browser's "back" leave a quote, not the page. */
import { effect } from "@preact/signals";
import type { Announce } from "../data/messages.ts";
import type { BetSlip } from "./bet_slip.ts";

/** State of the browser's history entry for a quote. */
const QUOTE_ENTRY = "quote";

/** Adds a history entry while there is a quote, and drops the quote when "back" leaves it. */
export function followHistory(slip: Pick<BetSlip, "stage" | "back">, announce: Announce): void {
  // The page opens at the chart, and does not scroll when a quote is left.
  history.scrollRestoration = "manual";
  if (history.state === QUOTE_ENTRY) {
    history.replaceState(null, "");
    announce("The quote was dropped as the page was loaded again. Your box is still here.");
  }
  let hasEntry = false;
  effect(() => {
    const { name } = slip.stage.value;
    const isQuote = name === "quoting" || name === "quoted" || name === "signing";
    if (isQuote === hasEntry) return;
    hasEntry = isQuote;
    if (isQuote) history.pushState(QUOTE_ENTRY, "");
    else if (history.state === QUOTE_ENTRY) history.back();
  });
  addEventListener("popstate", () => {
    if (!hasEntry || history.state === QUOTE_ENTRY) return;
    hasEntry = false;
    slip.back();
  });
}
