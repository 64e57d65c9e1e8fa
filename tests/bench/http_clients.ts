/// <reference lib="deno.worker" />
/** The callers of `driver.ts`: bare HTTP/1.1 on kept connections, in a worker. */

export interface Job {
  url: string;
  bodies: string[];
  concurrency: number;
  /** What every answer has to contain, besides its status 200. */
  expected?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Reads one answer, which is short and comes with its length. */
async function readAnswer(connection: Deno.Conn, buffer: Uint8Array): Promise<string> {
  let text = "";
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) throw new Error("Connection ended early");
    text += decoder.decode(buffer.subarray(0, count));
    const headEnd = text.indexOf("\r\n\r\n");
    const length = /content-length: (\d+)/i.exec(text)?.[1];
    if (headEnd >= 0 && text.length >= headEnd + 4 + Number(length)) return text;
  }
}

async function sendAll({ url, bodies, concurrency, expected = "" }: Job) {
  const { hostname, port, pathname: path } = new URL(url);
  const requests = bodies.map((body) =>
    encoder.encode(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    )
  );
  const latenciesMs: number[] = [];
  let next = 0;
  const send = async () => {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    const buffer = new Uint8Array(4096);
    while (next < requests.length) {
      const request = requests[next++];
      if (request === undefined) break;
      const sentAtMs = performance.now();
      await connection.write(request);
      const answer = await readAnswer(connection, buffer);
      const isRight = answer.startsWith("HTTP/1.1 200") && answer.includes(expected);
      if (!isRight) throw new Error(answer);
      latenciesMs.push(performance.now() - sentAtMs);
    }
    connection.close();
  };
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, send));
  const seconds = (performance.now() - startedAtMs) / 1000;
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)];
  return { perSecond: bodies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

self.onmessage = async ({ data }: MessageEvent<Job>) => self.postMessage(await sendAll(data));
