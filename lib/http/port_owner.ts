import { urlOf } from "./listener.ts";

/** Timeout of the question to the program that uses a port. */
const ANSWER_MS = 1_000;

/** Name of the program on a port; services of this program send their name at `GET /`. */
export async function ownerOf(host: string, port: number): Promise<string> {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  try {
    const answer = await fetch(urlOf(name, port), { signal: AbortSignal.timeout(ANSWER_MS) });
    const [, service] = /\brangemaker ([\w-]+) \d/.exec(await answer.text()) ?? [];
    if (service !== undefined) return `a running rangemaker ${service}`;
  } catch {
    // It speaks no HTTP, is too slow, or this process may not call it.
  }
  return "another program";
}
