import type { Signal } from "@preact/signals";
import type { ComponentChildren, HTMLAttributes } from "preact";

/** A column: its heading, and what each row shows in it. Numbers stand at the right edge. */
export type Column<Row> =
  | { name: string; text(row: Row): ComponentChildren; isSortable?: boolean }
  | { name: string; number(row: Row): ComponentChildren };

/** The order of the rows. */
export interface Sort {
  /** Heading of the column that decides it. */
  by: string;
  isDescending: boolean;
}

interface TableProps<Row> {
  /** Plural noun for the rows, such as `markets`. */
  of: string;
  /** The first one names the row. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string | number;
  /** Attributes of the row's element, beside `data-row`, its key. */
  attributesOf?(row: Row): HTMLAttributes<HTMLTableRowElement> & Record<`data-${string}`, unknown>;
  /** Shown without rows. */
  empty?: string;
  /** With it, each heading is a button that sorts, unless its column says otherwise. */
  sort?: Signal<Sort>;
  /** On a narrow page, each row becomes a card. */
  isCards?: boolean;
}

/** A table that scrolls in its own frame, with the keyboard too. */
export function Table<Row>(props: TableProps<Row>) {
  const { of, columns, rows, keyOf, attributesOf, empty, sort, isCards = false } = props;
  const classOf = (column: Column<Row>) => "number" in column ? "number" : undefined;
  const cellOf = (column: Column<Row>, row: Row) =>
    "number" in column ? column.number(row) : column.text(row);
  if (rows.length === 0 && empty !== undefined) return <p class="note">{empty}</p>;
  return (
    <div
      class={isCards ? "scroller cards" : "scroller"}
      tabIndex={0}
      role="region"
      aria-label={`Table of ${of}`}
    >
      <table aria-label={of}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                data-column={column.name}
                class={classOf(column)}
                aria-sort={sort?.value.by !== column.name
                  ? undefined
                  : sort.value.isDescending
                  ? "descending"
                  : "ascending"}
              >
                {sort === undefined || "isSortable" in column && !column.isSortable
                  ? column.name
                  : <SortButton name={column.name} isNumber={"number" in column} sort={sort} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} data-row={keyOf(row)} {...attributesOf?.(row)}>
              {columns.map((column, index) =>
                index === 0
                  ? <th key={column.name} scope="row">{cellOf(column, row)}</th>
                  : (
                    <td key={column.name} class={classOf(column)} data-column={column.name}>
                      {cellOf(column, row)}
                    </td>
                  )
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface SortButtonProps {
  name: string;
  isNumber: boolean;
  sort: Signal<Sort>;
}

/** Sorts by its column, largest numbers first; a second press turns the order round. */
function SortButton({ name, isNumber, sort }: SortButtonProps) {
  const { by, isDescending } = sort.value;
  const sign = by !== name ? "" : isDescending ? " ↓" : " ↑";
  return (
    <button
      type="button"
      class="quiet sort"
      onClick={() =>
        sort.value = { by: name, isDescending: by === name ? !isDescending : isNumber }}
    >
      {name}
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
