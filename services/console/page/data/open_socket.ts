import { type Clock, NetworkError } from "@rangemaker/client";
import { Poll } from "./http.ts";

/** Pause between two requests to a proxy that does not answer. */
const PROBE_MS = 1_000;

/**
 * Opens the page's WebSockets, but after one that failed, only once the proxy answers plain requests.
 * Firefox delays the next WebSocket after each failed one, after some minutes by up to a minute.
 *
 * @param ask A request that the proxy answers whenever the page works: a front may refuse others.
 * @throws {NetworkError} The proxy does not answer yet; the client tries again.
 */
export function createSocketOpener(
  ask: () => Promise<unknown>,
  clock: Clock,
): (url: string) => WebSocket {
  let isAway = false;
  const probe = new Poll(clock, async (signal) => {
    const hasAnswered = await ask().then(() => true, () => false);
    if (signal.aborted) return;
    isAway = !hasAnswered;
    if (hasAnswered) probe.stop();
  }, PROBE_MS);
  return (url) => {
    if (isAway) throw new NetworkError("NODE_UNREACHABLE", "The proxy does not answer");
    const socket = new WebSocket(url);
    socket.addEventListener("error", () => probe.start());
    return socket;
  };
}
