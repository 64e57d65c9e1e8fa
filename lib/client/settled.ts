import { isUnsettled, type Thesis } from "../protocol/thesis.ts";
import type { Context } from "./context.ts";
import { WatchError } from "./errors.ts";
import { requireThesisId } from "./input.ts";
import { watch } from "./theses.ts";

/** How long a thesis that was just executed may take to reach the node that answers. */
const APPEARS_MS = 3_000;
const POLL_MS = 100;

/** Waits for the outcome of a thesis of anybody. */
export async function settled(
  context: Context,
  thesisId: number,
  timeoutMs: number,
): Promise<Thesis> {
  requireThesisId("thesisId", thesisId);
  const known = await appearing(context, thesisId, Math.min(timeoutMs, APPEARS_MS));
  if (!isUnsettled(known.status)) return known;
  const opened = await watch(context, {}, known.user);
  try {
    return await opened.until(
      ({ id, status }) => id === thesisId && !isUnsettled(status),
      timeoutMs,
    );
  } finally {
    opened.close();
  }
}

/** A thesis that the node has, or will have in a moment. @throws {WatchError} `UNKNOWN_THESIS` */
async function appearing(
  { node, clock }: Context,
  thesisId: number,
  timeoutMs: number,
): Promise<Thesis> {
  for (let waitedMs = 0;; waitedMs += POLL_MS) {
    const thesis = await node.getThesis(thesisId);
    if (thesis !== null) return thesis;
    if (waitedMs >= timeoutMs) {
      const message = `The chain has no thesis ${thesisId}`;
      throw new WatchError("UNKNOWN_THESIS", message, { thesisId });
    }
    await new Promise<void>((resolve) => clock.after(POLL_MS, resolve));
  }
}
