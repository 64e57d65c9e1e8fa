import type { ComponentChildren } from "preact";

/** The heading of a column; numbers stand at its right edge. */
export type Column = string | { number: string };

interface TableProps {
  /** Plural noun for the rows, such as `markets`. */
  of: string;
  columns: readonly Column[];
  children: ComponentChildren;
}

/** A table that scrolls in its own frame, with the keyboard too. */
export function Table({ of, columns, children }: TableProps) {
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={`Table of ${of}`}>
      <table>
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === "string"
                ? <th key={column} scope="col">{column}</th>
                : <th key={column.number} scope="col" class="number">{column.number}</th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
