import type { Clock } from "../clock.ts";

/**
 * How long an answer of the node is cached on routes without a rate limit, such as health checks: it
 * bounds the load on the node, and how long callers may see a node that is gone.
 */
export const NODE_ANSWER_MS = 1_000;

/**
 * Caches a result, failures included, for `forMs`. Concurrent callers share one request. The age
 * counts from the start of the request, so that no result is older than `forMs`.
 */
export function cached<T>(
  ask: () => Promise<T>,
  forMs: number,
  clock: Clock,
): () => Promise<T> {
  let last: { answer: Promise<T>; askedMs: number; isOpen: boolean } | undefined;
  return () => {
    if (last?.isOpen || last && Math.abs(clock.now() - last.askedMs) < forMs) return last.answer;
    const question = { answer: ask(), askedMs: clock.now(), isOpen: true };
    const close = () => void (question.isOpen = false);
    question.answer.then(close, close);
    last = question;
    return question.answer;
  };
}
