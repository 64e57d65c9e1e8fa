/** How long a condition may take to become true. */
const DEADLINE_MS = 10_000;

const POLL_MS = 10;

/**
 * Asks until the answer is not undefined.
 *
 * @throws If it still is after ten seconds, naming what was waited for.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadlineMs = Date.now() + DEADLINE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadlineMs) throw new Error(`Not within ${DEADLINE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
