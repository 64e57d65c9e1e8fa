import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis, ThesisStatus } from "../../../lib/protocol/thesis.ts";

/** Which theses, and how many of them. */
export interface ThesesQuery {
  user?: Address;
  solver?: Address;
  status?: ThesisStatus;
  limit: number;
  /** Id of the last thesis of the page before, as text. */
  cursor?: string;
}

/**
 * One page of the theses that match, oldest first.
 *
 * @param theses All theses, by id from 1 on.
 * @returns `nextCursor` is null on the last page.
 */
export function pageOfTheses(
  theses: readonly Thesis[],
  query: ThesesQuery,
): { theses: Thesis[]; nextCursor: string | null } {
  const page: Thesis[] = [];
  for (let index = Number(query.cursor ?? 0); index < theses.length; index++) {
    const thesis = theses[index]!; // below the length
    if (!matches(thesis, query)) continue;
    if (page.length === query.limit) {
      return { theses: page, nextCursor: page.at(-1)!.id.toString() }; // a limit is at least 1
    }
    page.push(thesis);
  }
  return { theses: page, nextCursor: null };
}

function matches(thesis: Thesis, { user, solver, status }: ThesesQuery): boolean {
  return (user === undefined || thesis.user === user) &&
    (solver === undefined || thesis.solver === solver) &&
    (status === undefined || thesis.status === status);
}
