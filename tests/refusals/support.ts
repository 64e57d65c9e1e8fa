import assert from "node:assert/strict";
import { z } from "zod";
import { DocumentedService } from "../openapi/support/documented_service.ts";
import { eventually } from "../support/eventually.ts";
import { failureSchema, sendRaw, withField } from "../support/http_answers.ts";
import { BODIES, type BodyRules, wrongBodies } from "./request_rules.ts";

export interface Expected {
  /** Its status and code; of a JSON-RPC error also its number: `200 -32602 UNKNOWN_THESIS`. */
  answer: string;
  /** Parts of its message: the error, the received value, and advice. */
  words: readonly string[];
}

/** Makes an {@link Expected}: each message has at least the error and advice. */
export function says(answer: string, ...words: [string, string, ...string[]]): Expected {
  return { answer, words };
}

/** A request over HTTP: text and streams are sent as they are, anything else as JSON. */
interface Sent {
  method?: string;
  path: string;
  body?: unknown;
  headers?: HeadersInit;
}

export type Refused = Sent & Expected;

const page = (name: string) =>
  Deno.readTextFileSync(new URL(`../../docs/${name}.md`, import.meta.url));

/** The codes of `docs/reference.md`, "Error codes", each with its row from `retry` on. */
export const DOCUMENTED_CODES: ReadonlyMap<string, string> = new Map(
  [...page("reference").matchAll(/^\| (`[A-Z_`, ]+`) +\| \d{3} +\| (.*)/gm)]
    .flatMap(([, codes = "", row = ""]) =>
      (codes.match(/[A-Z_]+/g) ?? []).map((code) => [code, row] as const)
    ),
);

const rpcSchema = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.null()]),
  error: z.strictObject({
    code: z.number().int(),
    message: z.string(),
    data: z.looseObject({ code: z.string() }).optional(),
  }),
});

/** Codes whose refusals need no details for programs. */
const WITHOUT_FACTS: ReadonlySet<string> = new Set([
  "INVALID_REQUEST", // of a body that is no JSON
  "HOST_NOT_ALLOWED",
  "METHOD_NOT_ALLOWED",
  "UPGRADE_REQUIRED",
  "DRY_RUN",
  "EXPOSURE_UNKNOWN",
  "NODE_UNREACHABLE",
  "STORE_DAMAGED",
  "STORE_UNAVAILABLE",
  "STORE_CONNECTION_LOST",
  "INTERNAL_ERROR",
]);

/** A valid transaction that the chain's rules refuse. */
const receiptSchema = z.object({
  result: z.object({
    status: z.literal("failed"),
    error: z.object({
      code: z.string(),
      message: z.string(),
      details: z.record(z.string(), z.unknown()),
    }),
  }),
});

/** Keys and signatures, however they are written. */
const SECRET = /[0-9a-fA-F]{128,}/g;

/** Words of a library that reach no user. */
const FOREIGN_WORDS = /Invalid (input|option|string|key)|must match|undefined|NaN|\[object/;

/** Texts that are no body: no JSON, or JSON of something else. */
const GARBAGE = ["", "{", "null", "[]", '"text"', "1e400", '{"user":1e400}', "\0", "\ufeff{}"];

export class Refusals {
  /** Every code that was answered, and by which request first. */
  readonly seen = new Map<string, string>();
  /** The services that were asked, by URL: undefined for one without an OpenAPI document. */
  readonly #documented = new Map<string, DocumentedService | undefined>();

  /** Sends a request over HTTP. @returns The message of its answer. */
  async ask(url: string, { method, path, body, headers, ...expected }: Refused): Promise<string> {
    const response = await this.#send(url, { method, path, body, headers });
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/, path);
    const sent = typeof body === "string" ? body : JSON.stringify(body) ?? path;
    return this.check(await response.json(), expected, sent, response.status);
  }

  /** Asks for every broken field of a route's bodies; its document refuses the same bodies. */
  async askFields(url: string, path: keyof typeof BODIES, good: object): Promise<void> {
    const rules: BodyRules = BODIES[path];
    const service = await this.#serviceAt(url) ?? assert.fail("It has a document");
    const operation = service.operationAt("POST", path) ?? assert.fail(path);
    const schema = ["requestBody", "content", "application/json", "schema"];
    assert(service.fits(operation, schema, JSON.parse(JSON.stringify(good))), path);
    for (const body of GARBAGE) {
      await this.ask(url, { path, body, answer: "400 INVALID_REQUEST", words: [] });
    }
    for (const { body, words } of wrongBodies(rules, good)) {
      await this.ask(url, { path, body, ...says("400 INVALID_REQUEST", ...words) });
      assert(!service.fits(operation, schema, JSON.parse(JSON.stringify(body))), words.join());
    }
    for (const field of rules.optional) {
      const body = withField(good, field, undefined);
      await this.expect(url, 200, path, body);
    }
  }

  /** Sends a request that is answered with a status; for answers that are no refusals. */
  async expect(url: string, status: number, path: string, body?: unknown): Promise<void> {
    const response = await this.#send(url, { path, body });
    assert.equal(response.status, status, `${path}: ${await response.text()}`);
  }

  /** As {@link expect}, as soon as the status comes. */
  async expectSoon(url: string, status: number, path: string): Promise<void> {
    await eventually(`${path} ${status}`, async () => {
      const response = await fetch(url + path);
      await response.body?.cancel();
      return response.status === status;
    });
    await this.expect(url, status, path);
  }

  /** Asks for every route of a document under a foreign name, and without a name. */
  async askUnderWrongNames(url: string): Promise<void> {
    const service = await this.#serviceAt(url) ?? assert.fail("It has a document");
    for (const operation of service.operations) {
      const line = `${operation.method} ${operation.path.replaceAll(/[{}]/g, "")} HTTP/1.1`;
      for (const host of [["Host: evil.example"], []]) {
        const { status, text } = await sendRaw(url, [line, ...host, "Connection: close"]);
        const [, body = ""] = text.split("\r\n\r\n");
        const headers = { "content-type": "application/json" };
        await service.check(operation, new Response(body, { status, headers }));
        const expected = host.length === 0
          ? says("400 INVALID_REQUEST", "Host header", "send one")
          : says("403 HOST_NOT_ALLOWED", "evil.example", "add the name to --allowed-hosts");
        this.check(JSON.parse(body), expected, line, status);
      }
    }
  }

  async #serviceAt(url: string): Promise<DocumentedService | undefined> {
    if (!this.#documented.has(url)) {
      const { ok, body } = await fetch(`${url}/openapi.json`);
      await body?.cancel();
      this.#documented.set(url, ok ? await DocumentedService.at(url) : undefined);
    }
    return this.#documented.get(url);
  }

  /** Sends a request, and checks the answer against the document of its service. */
  async #send(url: string, { method, path, body, headers }: Sent): Promise<Response> {
    const isSentAsItIs = body === undefined || typeof body === "string" ||
      body instanceof ReadableStream;
    const text = isSentAsItIs ? body : JSON.stringify(body);
    const request = new Request(url + path, {
      method: method ?? (text === undefined ? "GET" : "POST"),
      body: text,
      headers: { "content-type": "application/json", ...headers },
    });
    const response = await fetch(request);
    const service = await this.#serviceAt(url);
    const operation = service?.operationAt(request.method, new URL(request.url).pathname);
    // A bug of the service is in no document.
    if (operation !== undefined && response.status !== 500) {
      await service?.check(operation, response.clone());
    }
    return response;
  }

  /** Fails unless every status that a document has for an operation came, over all its services. */
  assertAllDocumentedCame(): void {
    const services = [...this.#documented.values()].filter((service) => service !== undefined);
    const byTitle = Map.groupBy(services, ({ document }) => document.info.title);
    assert(byTitle.size >= 3, [...byTitle.keys()].join());
    for (const [title, [first, ...others]] of byTitle) {
      const documented = first?.operations.flatMap(({ id, object }) =>
        Object.keys(object.responses).map((status) => `${id} ${status}`)
      );
      const came = new Set([first, ...others].flatMap((service) => [...service?.seen ?? []]));
      assert.deepEqual([...came].toSorted(), documented?.toSorted(), title);
    }
  }

  /** Sends each route the begin of a body, and nothing more for five seconds. */
  async askSlowly(url: string, paths: readonly string[]): Promise<void> {
    const tooSlow = says("408 BODY_TOO_SLOW", "within 5000 ms", "send it at once");
    await Promise.all(paths.map(async (path) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      writer.write(new TextEncoder().encode("{")).catch(() => {});
      await this.ask(url, { path, body: readable, ...tooSlow });
      await writer.abort().catch(() => {});
    }));
  }

  /** Sends a request until a limit of 1 a second refuses it. */
  async askTooOften(url: string, request: Sent): Promise<void> {
    await eventually("the limit", async () => {
      const response = await this.#send(url, request);
      await response.body?.cancel();
      return response.status === 429;
    });
    await this.ask(url, {
      ...request,
      ...says("429 RATE_LIMITED", "Too many requests", "retry after"),
    });
  }

  /** Checks an answer, however it came. */
  check(answer: unknown, expected: Expected, sent: string, status = 200): string {
    const { code, message } = failureOf(answer);
    const shown = `${sent.slice(0, 200)}: ${status} ${JSON.stringify(answer)}`;
    this.seen.set(code, this.seen.get(code) ?? shown);
    assert.equal(`${status} ${code}`, expected.answer, shown);
    for (const word of expected.words) assert(message.includes(word), `${shown}: no ${word}`);
    assert.doesNotMatch(message, FOREIGN_WORDS, shown);
    for (const secret of sent.match(SECRET) ?? []) {
      assert(!JSON.stringify(answer).includes(secret.slice(0, 64)), `${shown} shows ${secret}`);
    }
    return message;
  }
}

function failureOf(answer: unknown): { code: string; message: string } {
  const envelope = failureSchema.safeParse(answer);
  if (envelope.success) {
    const { code, error: message, details, retry } = envelope.data;
    assert(DOCUMENTED_CODES.get(code)?.includes(`\`${retry}\``), `retry of ${code}: ${retry}`);
    assert(details !== undefined || WITHOUT_FACTS.has(code), `${code} has no details: ${message}`);
    return { code, message };
  }
  const receipt = receiptSchema.safeParse(answer);
  if (receipt.success) return receipt.data.result.error;
  const rpc = rpcSchema.safeParse(answer);
  if (!rpc.success) assert.fail(`${JSON.stringify(answer)} is no failure`);
  const { code, message, data } = rpc.data.error;
  return { code: data === undefined ? `${code}` : `${code} ${data.code}`, message };
}

/** The codes that the data of JSON-RPC errors have, as the documents name them. */
export function documentedRpcCodes(): string[] {
  const [, more = ""] = /`data\.code` is more specific:([^]*?)\n\n/.exec(page("protocol")) ?? [];
  const [, numbered = ""] = /JSON-RPC errors have numbers:([^]*?)\n\n/.exec(page("reference")) ??
    [];
  return [...new Set((more + numbered).match(/(?<=`)[A-Z][A-Za-z_]+(?=`)/g))];
}

/** Whether the documents name the number of a JSON-RPC error. */
export function isRpcNumberDocumented(number: string): boolean {
  return new RegExp(`${number}(?!\\d)`).test(page("protocol"));
}

/** A page that may call nothing. */
const FOREIGN = { origin: "https://other.example" };

export const callOf = (method: string, params: unknown[]) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});

export function invalid(...words: [names: string, received: string, advice: string]): Expected {
  return says("200 -32602", ...words);
}

/** Messages that are no calls, wherever they are sent. */
export function wrongMessages(batchMax: number): Refused[] {
  const call = callOf("eth_chainId", []);
  const malformed = (body: unknown, received: string, advice: string): Refused => ({
    path: "",
    body,
    ...says("400 -32600", "Invalid request", received, advice),
  });
  const handshake = { upgrade: "websocket", connection: "Upgrade" };
  return [
    { path: "", body: "{oops", ...says("400 -32700", "Parse error", '"{oops"', "send a JSON-RPC") },
    malformed(5, "5", "Expected an object"),
    malformed({ ...call, jsonrpc: "1.0" }, '"1.0"', 'Expected "2.0"'),
    malformed({ ...call, method: 7 }, "7", "Expected a method name"),
    malformed({ ...call, params: 3 }, "3", "an array or an object"),
    malformed([], "empty", "send one call or more"),
    {
      path: "",
      body: call,
      headers: FOREIGN,
      ...says("403 -32600", FOREIGN.origin, batchMax === 100 ? "use the proxy" : "--cors"),
    },
    { path: "/nothing", ...says("404 NOT_FOUND", "GET /nothing", "GET /") },
    {
      path: "",
      headers: handshake,
      ...says("400 -32600", "sec-websocket-key", "connect with a WebSocket client"),
    },
  ];
}
