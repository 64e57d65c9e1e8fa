/** The theme that the user chose, kept in the browser. */
import * as z from "zod";

/** `system` is light or dark, as the system says. */
export const THEMES = ["system", "light", "dark"] as const;

const STORAGE_KEY = "rangemaker.theme";

const themeSchema = z.enum(THEMES).catch("system");

/** Dispatched on the window when another theme applies: what is painted has to be painted again. */
export const THEME_EVENT = "rangemaker-theme";

export function storedTheme(): z.output<typeof themeSchema> {
  return themeSchema.parse(localStorage.getItem(STORAGE_KEY));
}

/** Shows a theme, from now on and after a reload. */
export function applyTheme(name: string): void {
  const theme = themeSchema.parse(name);
  localStorage.setItem(STORAGE_KEY, theme);
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event(THEME_EVENT));
}
