/** How long a condition may take by default to become true: a busy machine is slow. */
const DEADLINE_MS = 30_000;

/** How long to wait between two questions: a tenth of the time so far, within these bounds. */
const POLL_MS = { min: 10, max: 50 };

/**
 * Asks until the answer is truthy, and returns it.
 *
 * @throws If it still is not at the deadline, naming what was waited for.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  withinMs = DEADLINE_MS,
): Promise<Exclude<T, undefined | null | false | 0 | "">> {
  const startMs = Date.now();
  for (;;) {
    const answer = await ask();
    if (answer) return answer as Exclude<T, undefined | null | false | 0 | "">;
    const passedMs = Date.now() - startMs;
    if (passedMs > withinMs) throw new Error(`Not within ${withinMs} ms: ${what}`);
    const pollMs = Math.min(Math.max(POLL_MS.min, passedMs / 10), POLL_MS.max);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Resolves in the next turn of the event loop, after everything that is ready has run. */
export const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** Resolves once all that waits for promises only is done, or for that many turns of the event loop. */
export async function settled(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Whether a promise is settled after ten turns of the event loop. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const note = () => isDone = true;
  promise.then(note, note);
  await settled(10);
  return isDone;
}
