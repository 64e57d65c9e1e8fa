import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** The heading of a column; numbers stand at its right edge. */
export type Column = string | { number: string };

/** The order of the rows. */
export interface Sort {
  /** Heading of the column that decides it. */
  by: string;
  isDescending: boolean;
}

interface TableProps {
  /** Plural noun for the rows, such as `markets`. */
  of: string;
  columns: readonly Column[];
  /** With it, each heading is a button that sorts. */
  sort?: Signal<Sort>;
  children: ComponentChildren;
}

/** A table that scrolls in its own frame, with the keyboard too. */
export function Table({ of, columns, sort, children }: TableProps) {
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={`Table of ${of}`}>
      <table aria-label={of}>
        <thead>
          <tr>
            {columns.map((column) => {
              const isText = typeof column === "string";
              const name = isText ? column : column.number;
              return (
                <th
                  key={name}
                  scope="col"
                  class={isText ? undefined : "number"}
                  aria-sort={sort?.value.by !== name
                    ? undefined
                    : sort.value.isDescending
                    ? "descending"
                    : "ascending"}
                >
                  {sort === undefined ? name : <SortButton name={name} sort={sort} />}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Sorts by its column; a second press turns the order round. */
function SortButton({ name, sort }: { name: string; sort: Signal<Sort> }) {
  const { by, isDescending } = sort.value;
  const sign = by !== name ? "" : isDescending ? " ↓" : " ↑";
  return (
    <button
      type="button"
      class="quiet sort"
      onClick={() => sort.value = { by: name, isDescending: by !== name || !isDescending }}
    >
      {name}
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
