import type { Address } from "../protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../protocol/thesis.ts";
import { type Context, walletOf } from "./context.ts";
import { WatchError } from "./errors.ts";
import { requireAddress, requireThesisId } from "./input.ts";
import { requireWebSocket } from "./options.ts";
import { ThesisWatch, type WatchHandlers } from "./theses.ts";

const OPEN_TIMEOUT_MS = 10_000;

/** How long a thesis that was just executed may take to reach the node that answers. */
const APPEARS_MS = 3_000;
const POLL_MS = 100;

/** Opens a watch of a party's theses: of the wallet's account by default. */
export async function watch(
  context: Context,
  handlers: WatchHandlers,
  of: Address | { solver: Address } | undefined,
): Promise<ThesisWatch> {
  const { urls, node, clock, connect } = context;
  requireWebSocket(connect);
  const isSolver = typeof of === "object";
  requireAddress(isSolver ? "solver" : "user", isSolver ? of.solver : of);
  const watch = new ThesisWatch({
    ...handlers,
    url: urls.proxyWs,
    node,
    party: isSolver ? of : { user: of ?? await walletOf(context).address() },
    clock,
    random: Math.random,
    connect,
  });
  try {
    await watch.open(OPEN_TIMEOUT_MS);
  } catch (thrown) {
    watch.close();
    throw thrown;
  }
  return watch;
}

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
