import type { ComponentChildren } from "preact";

interface FoldedProps {
  title: string;
  children: ComponentChildren;
}

/** Content that a phone shows only on request. */
export function Folded({ title, children }: FoldedProps) {
  return (
    <details class="part" open={matchMedia("(min-width: 641px)").matches}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
