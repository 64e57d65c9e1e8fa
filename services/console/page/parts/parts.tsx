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

interface FactProps {
  label: string;
  children: ComponentChildren;
}

/** A term and its value in a list of facts. */
export function Fact({ label, children }: FactProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A text after a sign, such as ✓ or ●, that is not spoken. */
export function Signed({ text }: { text: string }) {
  const end = text.indexOf(" ");
  return (
    <>
      <span aria-hidden="true">{text.slice(0, end)}</span>
      {text.slice(end)}
    </>
  );
}

/** A text whose parts in backticks are code. Requests in it are links if `url` is given. */
export function Words({ text, url }: { text: string; url?: string }) {
  return (
    <>
      {text.split("`").map((part, index) => {
        const [, path] = /^GET (\/[\w/-]+)$/.exec(part) ?? [];
        if (index % 2 === 0) return part;
        return url === undefined || path === undefined
          ? <code key={index}>{part}</code>
          : <a key={index} href={url + path} target="_blank">{part}</a>;
      })}
    </>
  );
}
