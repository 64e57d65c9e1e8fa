/** The user's theme, stored in the browser and shared by all tabs. */
import { signal } from "@preact/signals";
import * as z from "zod";

/** `system`: light or dark, as set in the operating system. */
export const THEMES = ["system", "light", "dark"] as const;

const STORAGE_KEY = "rangemaker.theme";

const themeSchema = z.enum(THEMES).catch("system");

/** The current theme. Its change repaints all canvases. */
export const theme = signal<z.output<typeof themeSchema>>("system");

/** Applies the stored theme now, and whenever another tab stores one. */
export function followTheme(): void {
  const follow = () => applyTheme(localStorage.getItem(STORAGE_KEY));
  follow();
  addEventListener("storage", ({ key }) => {
    if (key === STORAGE_KEY) follow();
  });
}

/** Applies a theme and stores it. */
export function applyTheme(name: string | null): void {
  const applied = themeSchema.parse(name);
  localStorage.setItem(STORAGE_KEY, applied);
  document.documentElement.dataset.theme = applied;
  theme.value = applied;
}
