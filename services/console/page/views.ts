import type { ComponentType } from "preact";

/** One of the page's views, behind a tab. */
export interface View {
  /** Behind the # of its address. */
  id: string;
  /** On the tab. */
  label: string;
  Body: ComponentType;
}
