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

/** Moves the focus to the chart. */
export function focusChart(): void {
  document.querySelector<HTMLElement>(".chart .area")?.focus({ preventScroll: true });
}
