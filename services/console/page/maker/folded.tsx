import type { ComponentChildren } from "preact";

interface FoldedProps {
  title: string;
  /** Whether a wide page shows the content at first. */
  isOpen?: boolean;
  children: ComponentChildren;
}

/** Content that a phone shows only on request. */
export function Folded({ title, isOpen = true, children }: FoldedProps) {
  return (
    <details class="part" open={isOpen && matchMedia("(min-width: 641px)").matches}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
