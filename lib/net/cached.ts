import type { Clock } from "../clock.ts";

/**
 * How long what the node said is said again where no limiter counts the callers, such as health
 * checks: it bounds what they cost the node, and how long they may be told of a node that is gone.
 */
export const NODE_ANSWER_MS = 1_000;

/**
 * A question that is asked at most once in `forMs`: whoever comes meanwhile shares its answer, be it
 * a failure. Its age counts from when it was asked, so that no answer tells of an older time.
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
