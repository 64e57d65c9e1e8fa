import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface CardProps extends Record<`data-${string}`, unknown> {
  title: ComponentChildren;
  /** Text beside the heading. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a view with a heading. */
export function Card({ title, note, children, ...data }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id} {...data}>
      <div class="row">
        <h2 id={id}>{title}</h2>
        {note && <span class="note">{note}</span>}
      </div>
      {children}
    </section>
  );
}
