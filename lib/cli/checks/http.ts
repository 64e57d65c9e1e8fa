import type { z } from "zod";
import { describeIssue } from "../../protocol/scalars.ts";
import { reasonOf } from "../../errors.ts";

/** What came of asking: the value, or why there is none. */
export type JsonAnswer<T> = { value: T; tookMs: number } | { problem: string };

/** `GET`s JSON that fits a schema, or says in a few words why there is none. */
export async function getJson<S extends z.ZodType>(
  url: string,
  schema: S,
  timeoutMs: number,
): Promise<JsonAnswer<z.output<S>>> {
  const startedMs = performance.now();
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const text = await response.text();
    const tookMs = performance.now() - startedMs;
    if (!response.ok) return { problem: `answers with status ${response.status}` };
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return { value: parsed.data, tookMs };
    return { problem: `answers something else: ${describeIssue(parsed.error)}` };
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotCapable) throw thrown;
    return { problem: reasonOf(thrown) };
  }
}
