/** An answer that may be continued. */
export interface Page {
  /** `cursor` of the request for the next page; null on the last one. */
  nextCursor: string | null;
}

/**
 * Reads page after page, from the first to the last.
 *
 * @param read Reads the page that begins at a cursor; undefined stands for the first page.
 * @param pagesMax Stops after this many pages, even if more follow.
 */
export async function* pagesOf<P extends Page>(
  read: (cursor: string | undefined) => Promise<P>,
  pagesMax: number = Infinity,
): AsyncGenerator<P, void> {
  let cursor: string | undefined;
  for (let count = 0; count < pagesMax; count++) {
    const page = await read(cursor);
    yield page;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}
