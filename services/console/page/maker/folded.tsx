import type { ComponentChildren } from "preact";

interface FoldedProps {
  title: string;
  children: ComponentChildren;
}

/** What a phone shows only when it is asked for. */
export function Folded({ title, children }: FoldedProps) {
  return (
    <details class="part" open={matchMedia("(min-width: 641px)").matches}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
