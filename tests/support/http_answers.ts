import assert from "node:assert/strict";
import { z } from "zod";
import { isRangemakerError } from "../../lib/client/errors.ts";
import { listen } from "../../lib/http/listener.ts";
import { eventually } from "./eventually.ts";

/** The answer of every HTTP API to a refused request. */
export const failureSchema = z.strictObject({
  success: z.literal(false),
  error: z.string().min(1),
  code: z.string().regex(/^[A-Z_]+$/),
  retry: z.enum(["same", "later", "new_quote", "never"]),
  details: z.record(z.string(), z.unknown()).optional(),
});

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

export async function post(url: string, body: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    body: z.record(z.string(), z.unknown()).parse(await response.json()),
  };
}

export async function resultOf(url: string, method: string, params: unknown[] = []) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const { result, error } = await (await fetch(url, { method: "POST", body })).json();
  assert.equal(error, undefined, error?.message);
  return result;
}

/** Asserts the failure envelope. @returns Its error. */
export async function assertFailure(
  answer: Promise<{ status: number; body: unknown }>,
  status: number,
  error: RegExp | string,
): Promise<string> {
  const { status: actual, body } = await answer;
  const failure = failureSchema.parse(body);
  assert.equal(actual, status, failure.error);
  if (typeof error === "string") {
    assert.ok(failure.error.includes(error), `${failure.error} does not contain ${error}`);
  } else {
    assert.match(failure.error, error);
  }
  return failure.error;
}

/** A copy of a JSON value with one field replaced, or removed if `value` is undefined. */
export function withField(source: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(source);
  const keys = path.split(".");
  const last = keys.pop();
  // The paths were made from this very body.
  let target = copy as Record<string, unknown>;
  for (const key of keys) target = target[key] as Record<string, unknown>;
  target[String(last)] = value;
  return copy;
}

/** Runs a test against a service that answers every request in one way. */
export async function withAnswer(
  answer: (request: Request) => Response | Promise<Response>,
  test: (url: string) => Promise<void>,
): Promise<void> {
  await using service = listen("127.0.0.1", 0, answer);
  await test(service.url);
}

/** The value of a series, by its name and labels, on a page of metrics; NaN without one. */
export function seriesIn(text: string, series: string): number {
  return Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ").at(-1));
}

export async function readSeries(url: string, series: string): Promise<number> {
  return seriesIn(await (await fetch(`${url}/metrics`)).text(), series);
}

/** Sends one HTTP request as it is written, over a connection of its own. @returns The answer. */
export async function sendRaw(url: string, lines: readonly string[], body = "") {
  const { hostname, port } = new URL(url);
  using caller = await Deno.connect({ hostname, port: Number(port) });
  // The runtime refuses handshakes with a length.
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  const head = [...lines, ...length, "", body].join("\r\n");
  await caller.write(new TextEncoder().encode(head));
  const text = await new Response(caller.readable).text();
  return { status: Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1]), text };
}

/** Repeats a call that is refused since a busy node answered too late: then nothing was recorded. */
export function recorded<T extends object | string>(call: () => Promise<T>): Promise<T> {
  return eventually("the node answers in time", async () => {
    try {
      return await call();
    } catch (thrown) {
      if (!isRangemakerError(thrown, "NODE_TIMEOUT")) throw thrown;
    }
  });
}
