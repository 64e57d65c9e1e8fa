/**
 * Brings the chart to the screen: under a thumb, the page may be scrolled to its fields or bets. What
 * has the keyboard's focus is not scrolled away.
 */
export function showChart(): void {
  if (document.activeElement?.matches(":focus-visible")) return;
  document.querySelector(".chart")?.scrollIntoView({ block: "nearest" });
}

/** Moves the focus to the button of the next step. */
export function focusNextStep(): void {
  document.querySelector<HTMLElement>(".action-bar [data-next]")?.focus();
}
