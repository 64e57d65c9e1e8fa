import type { TextStore } from "../../services/console/page/data/wallets.ts";

/** What a browser keeps, in memory. */
export function memoryStore(): TextStore & { texts: Map<string, string> } {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
  };
}
