/** How the client opens watches, and finds a thesis. */
import { waitMs } from "../clock.ts";
import type { Thesis } from "../protocol/thesis.ts";
import { type Context, requireWebSocket } from "./context.ts";
import { WatchError } from "./errors.ts";
import { type ThesisParty, ThesisWatch, type WatchHandlers } from "./theses.ts";

/** How long a watch may take to open. */
const OPEN_TIMEOUT_MS = 10_000;

/** How long a thesis that was just executed may take to reach the node that answers. */
const PROPAGATION_MS = 3_000;
const THESIS_POLL_MS = 100;

/**
 * Opens a watch of a party's theses.
 *
 * @throws {WatchError} `NOT_CONNECTED` after 10 s at most without another page of theses.
 */
export async function openWatch(
  context: Context,
  handlers: WatchHandlers,
  party: ThesisParty,
  timeoutMs = OPEN_TIMEOUT_MS,
): Promise<ThesisWatch> {
  requireWebSocket(context.connect);
  const watch = new ThesisWatch(context, handlers, party);
  try {
    await watch.open(Math.min(timeoutMs, OPEN_TIMEOUT_MS));
  } catch (thrown) {
    watch.close();
    throw thrown;
  }
  return watch;
}

/**
 * Reads a thesis, and waits a moment for one that was just executed.
 *
 * @throws {WatchError} `UNKNOWN_THESIS`
 */
export async function waitForThesis(
  { node, clock }: Context,
  thesisId: number,
  timeoutMs: number,
): Promise<Thesis> {
  const limitMs = Math.min(timeoutMs, PROPAGATION_MS);
  let isOver = limitMs === 0;
  // A timer, since a test may move the clock's time.
  const cancel = clock.after(limitMs, () => isOver = true);
  try {
    for (;; await waitMs(clock, THESIS_POLL_MS)) {
      const thesis = await node.getThesis(thesisId);
      if (thesis !== null) return thesis;
      if (!isOver) continue;
      const message = `The chain has no thesis ${thesisId}`;
      throw new WatchError("UNKNOWN_THESIS", message, { thesisId });
    }
  } finally {
    cancel();
  }
}
