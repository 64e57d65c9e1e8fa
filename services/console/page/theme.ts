/** The theme that the user chose, kept in the browser and the same in all of its tabs. */
import { signal } from "@preact/signals";
import * as z from "zod";

/** `system` is light or dark, as the system says. */
export const THEMES = ["system", "light", "dark"] as const;

const STORAGE_KEY = "rangemaker.theme";

const themeSchema = z.enum(THEMES).catch("system");

/** The theme that applies: what is painted with another one has to be painted again. */
export const theme = signal<z.output<typeof themeSchema>>("system");

/** Shows the stored theme, now and whenever another tab stores one. */
export function followTheme(): void {
  const follow = () => applyTheme(localStorage.getItem(STORAGE_KEY));
  follow();
  addEventListener("storage", ({ key }) => {
    if (key === STORAGE_KEY) follow();
  });
}

/** Shows a theme, from now on and after a reload. */
export function applyTheme(name: string | null): void {
  const applied = themeSchema.parse(name);
  localStorage.setItem(STORAGE_KEY, applied);
  document.documentElement.dataset.theme = applied;
  theme.value = applied;
}
