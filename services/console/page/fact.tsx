import type { ComponentChildren } from "preact";

interface FactProps {
  label: string;
  isBig?: boolean;
  children: ComponentChildren;
}

/** A term and its value in a list of facts. */
export function Fact({ label, isBig = false, children }: FactProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={isBig ? "big" : undefined}>{children}</dd>
    </div>
  );
}
