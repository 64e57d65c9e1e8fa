import { urlOf } from "./listener.ts";

/** How long the program on a taken port may take to answer what it is. */
const ANSWER_MS = 1_000;

/** What listens on a port: every service of this program says its name at `GET /`. */
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
