import type { ComponentChildren } from "preact";

interface FoldedProps {
  title: string;
  /** Shown beside the title while the content is not. */
  note?: string | undefined;
  /** Whether a wide page shows the content at first. */
  isOpen?: boolean;
  children: ComponentChildren;
}

/** Content that a phone shows only on request. */
export function Folded({ title, note, isOpen = true, children }: FoldedProps) {
  return (
    <details class="part" open={isOpen && matchMedia("(min-width: 641px)").matches}>
      <summary>
        {title}
        {note && <span class="detail">{note}</span>}
      </summary>
      {children}
    </details>
  );
}
