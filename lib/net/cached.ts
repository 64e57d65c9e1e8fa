import type { Clock } from "../clock.ts";

/**
 * How long an answer of the node is reused where no limiter counts the callers, such as in health
 * checks: it bounds the load on the node, and how late an outage shows.
 */
export const NODE_ANSWER_MS = 1_000;

/**
 * Caches a result, failures included, for `forMs` from when it was asked for. Concurrent callers share
 * one call.
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
