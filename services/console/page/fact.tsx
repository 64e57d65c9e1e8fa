import type { ComponentChildren } from "preact";

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
