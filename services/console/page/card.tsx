import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface CardProps {
  title: ComponentChildren;
  /** Beside the heading. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a view, under its heading. */
export function Card({ title, note, children }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <div class="row">
        <h2 id={id}>{title}</h2>
        {note && <span class="note">{note}</span>}
      </div>
      {children}
    </section>
  );
}
