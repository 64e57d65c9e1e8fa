/**
 * Brings the chart to the screen: under a thumb, the page may be scrolled to its fields or bets. What
 * has the keyboard's focus is not scrolled away.
 */
export function showChart(): void {
  if (document.activeElement?.matches(":focus-visible")) return;
  document.querySelector(".chart")?.scrollIntoView({ block: "nearest" });
}
