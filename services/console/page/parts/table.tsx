import { useSignal } from "@preact/signals";
import type { ComponentChildren, HTMLAttributes } from "preact";

/** A column: its heading, and its content in each row. Numbers are aligned to the right. */
export type Column<Row> =
  & { name: string }
  & (
    | { text(row: Row): ComponentChildren }
    | { number(row: Row): ComponentChildren }
  );

interface TableProps<Row> {
  /** Plural noun for the rows, such as `markets`. */
  of: string;
  /** The first column is the heading of the row. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string | number;
  /** Attributes of the row's element, besides `data-row`, which is its key. */
  attributesOf?(row: Row): HTMLAttributes<HTMLTableRowElement> & Record<`data-${string}`, unknown>;
  empty?: string;
  /** On a narrow page, rows are cards without headings. */
  isCards?: boolean;
  /** Number of rows shown at first, below a button that shows all. */
  first?: number;
}

/** A table that scrolls in its own frame, with the keyboard too. */
export function Table<Row>(props: TableProps<Row>) {
  const { of, columns, rows, keyOf, attributesOf, empty, isCards = false } = props;
  const { first = Infinity } = props;
  const isWhole = useSignal(false);
  // One row more takes no more space than the button.
  const isLong = rows.length > first + 1;
  const classOf = (column: Column<Row>) => "number" in column ? "number" : undefined;
  const cellOf = (column: Column<Row>, row: Row) =>
    "number" in column ? column.number(row) : column.text(row);
  if (rows.length === 0 && empty !== undefined) return <p class="note">{empty}</p>;
  return (
    <>
      {/* Above the table, where it stays in sight when rows come and go. */}
      {isLong && (
        <p>
          <button
            type="button"
            aria-expanded={isWhole.value}
            onClick={() => isWhole.value = !isWhole.value}
          >
            {isWhole.value ? `Show the first ${first}` : `Show all ${rows.length}`}
          </button>
        </p>
      )}
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
                >
                  {column.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, isLong && !isWhole.value ? first : rows.length).map((row) => (
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
    </>
  );
}
