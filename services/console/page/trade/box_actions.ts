import type { Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { formatAmount } from "../parts/format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { describeDraft, type Draft, fieldsOf } from "./draft.ts";
import { repeatedDraft, suggestedDraft, timesOf } from "./suggested_draft.ts";
import { isFix, spokenText } from "./next_step.ts";

/** Why neither market nor box changes. */
export const ON_ITS_WAY = "The market and its box stay until the outcome of your bet is known.";

/** Selector of the focusable part of the chart. */
export const CHART = ".chart .area";

/** A box around the price for the times in the fields. @param kept A box whose height is kept. */
export function suggestionOf({ feed }: PageModel, slip: BetSlip, kept?: Draft): Draft | undefined {
  const symbol = slip.symbol.peek();
  const price = feed.latest.peek()[symbol]?.price;
  if (price === undefined) return undefined;
  const times = timesOf(slip.fields.peek());
  return suggestedDraft(price, feed.historyOf(symbol).series.secondMove(), times, kept);
}

/**
 * Draws a box around the price for the times in the fields, and announces it.
 *
 * @param options With `keepsHeight`, the box keeps its height.
 */
export function suggestBox(model: PageModel, slip: BetSlip, { keepsHeight = false } = {}): void {
  const draft = suggestionOf(model, slip, keepsHeight ? slip.draft : undefined);
  if (draft === undefined) return void model.announce("There is no price yet.");
  const name = keepsHeight ? "Moved box" : slip.isEmpty ? "Suggested box" : "Fitted box";
  slip.edit(fieldsOf(draft));
  showChart();
  announceBox(model, slip, name);
}

/** Draws the box of an earlier bet around the present price, in its market and with its amount. */
export function repeatBet(model: PageModel, slip: BetSlip, bet: Thesis): void {
  const symbol = model.markets.find(bet.base, bet.quote)?.symbol;
  const price = model.feed.latest.peek()[symbol ?? ""]?.price;
  if (slip.stage.peek().name === "sending") return void model.announce(ON_ITS_WAY);
  if (!symbol || price === undefined) {
    return void model.announce("Its market has no price: it cannot be repeated now.");
  }
  slip.choose(symbol);
  slip.edit(repeatedDraft(bet, price, timesOf(slip.fields.value).startsInMs));
  showChart();
  const amount = formatAmount(bet.betAmount);
  const name = `The same bet of ${amount} USDC on ${symbol}, around the current price`;
  announceBox(model, slip, name);
}

/** Announces where the box is now, or how to get one. */
export function announceBox({ announce }: PageModel, { draft }: BetSlip, name = "Box"): void {
  if (draft === undefined) announce("No box yet: press Enter for one.", { isAnswer: true });
  else announce(`${name}: ${describeDraft(draft)}`, { isSpoken: true });
}

/** Clears the box and announces it. Focuses the chart, where the next box is drawn. */
export function clearBox({ announce }: PageModel, slip: BetSlip): void {
  slip.clear();
  announce("The box was cleared.", { isSpoken: true });
  document.querySelector<HTMLElement>(CHART)?.focus({ preventScroll: true });
}

/** Requests a quote. If there is an obstacle, removes it or announces it. */
export function askQuote(model: PageModel, slip: BetSlip): void {
  const obstacle = slip.obstacle.peek();
  if (obstacle === undefined) return void slip.quote();
  const { action } = obstacle;
  if (action === "suggest" || isFix(obstacle)) {
    return suggestBox(model, slip, { keepsHeight: action === "move" });
  }
  if (action === "switch") return model.session.switchChain();
  const field = document.getElementById(`field-${obstacle.field}`);
  // The page shows it, and the error of a field is read as that gets the focus.
  const isRead = field !== document.activeElement && field?.ariaInvalid === "true";
  field?.focus();
  if (!isRead) model.announce(spokenText(obstacle), { isSpoken: true, isAnswer: true });
}

/**
 * Scrolls the chart into view, because the page may be scrolled to its fields or bets. Does nothing
 * if an element has keyboard focus, which must stay visible.
 */
export function showChart(): void {
  if (document.activeElement?.matches(":focus-visible")) return;
  document.querySelector(".chart")?.scrollIntoView({ block: "nearest" });
}

/** Moves the focus to the button of the next step. */
export function focusNextStep(): void {
  document.querySelector<HTMLElement>(".action-bar [data-next]")?.focus();
}
