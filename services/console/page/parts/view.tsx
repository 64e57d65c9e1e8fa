import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { systemClock } from "@rangemaker/client";

/** One of the page's views, behind a tab. */
export interface View {
  /** The fragment of its address, after the #. */
  id: string;
  label: string;
  Body: ComponentType;
}

/** Pause before the code of a view is requested again. */
const RETRY_MS = 2_000;

/** A view whose code is loaded on demand, because few traders open it. */
export function viewOnDemand(id: string, label: string, load: () => Promise<ComponentType>): View {
  const loaded = signal<ComponentType | "loading" | "failed">("loading");
  let isAsked = false;
  const open = () => {
    if (isAsked) return;
    isAsked = true;
    load().then((body) => loaded.value = body, () => {
      isAsked = false;
      loaded.value = "failed";
      systemClock.after(RETRY_MS, open);
    });
  };
  const Body = () => {
    useEffect(open, []);
    const Loaded = loaded.value;
    if (typeof Loaded === "function") return <Loaded />;
    const text = Loaded === "loading"
      ? "Loading …"
      : "This view was not loaded. The page tries again; after an upgrade of the console, reload it.";
    return <p class="board note">{text}</p>;
  };
  return { id, label, Body };
}
