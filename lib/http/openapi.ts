/**
 * The OpenAPI document of a service, made from what its routes are made of: the zod schema that parses
 * a request and the one that types an answer are those that the document shows.
 */
import type { Context, Handler, Hono } from "hono";
import { type DescribeRouteOptions, generateSpecs, resolver, uniqueSymbol } from "hono-openapi";
import { z } from "zod";
import config from "../../deno.json" with { type: "json" };

/** Where every service serves its document. */
export const DOCUMENT_PATH = "/openapi.json";

/** Where a document has the schemas that have a name. */
const COMPONENTS = "#/components/schemas/";

/** One answer of an operation. What goes over the wire is the input of `body`. */
export interface Answer {
  /** When it is given. */
  description: string;
  body: z.ZodType;
  /** `application/json` unless another is named. */
  mediaType?: string;
  /** Headers that a caller should look at. */
  headers?: Record<string, { description: string; schema: { type: "integer"; minimum: number } }>;
}

/** One route as the document shows it. */
export interface Operation {
  /** Unique within the service: what generated clients name their method. */
  id: string;
  /** One of the tags of {@link ServiceDescription}. */
  tag: string;
  summary: string;
  description?: string;
  /** Parses the parameters of the path. */
  path?: z.ZodObject;
  /** Parses the query. */
  query?: z.ZodObject;
  /** Parses the body. */
  body?: z.ZodType;
  /** A body that fits. */
  example?: Record<string, unknown>;
  /** By HTTP status: every one that the route gives. */
  answers: Record<number, Answer>;
}

/** An operation whose answer with 200 is the JSON type `T`. */
type AnsweringOperation<T> = Operation & { answers: { 200: { body: z.ZodType<unknown, T> } } };

/** The JSON that an operation answers with 200. */
export type AnswerOf<O> = O extends AnsweringOperation<infer T> ? T : never;

/** What a document says of its service as a whole. */
export interface ServiceDescription {
  title: string;
  description: string;
  /** What each tag stands for, by its name. */
  tags: Record<string, string>;
}

/** `GET /metrics` of every service. */
export const metricsOperation = {
  id: "metrics",
  tag: "service",
  summary: "Figures for Prometheus",
  answers: {
    200: {
      description: "Every metric, in the Prometheus text format",
      body: z.string(),
      mediaType: "text/plain",
    },
  },
} satisfies Operation;

/** `GET /` of every service. */
export const aboutOperation = {
  id: "about",
  tag: "service",
  summary: "What this service is",
  answers: {
    200: {
      description: "One line with its name, and where its documents are",
      body: z.string(),
      mediaType: "text/plain",
    },
  },
} satisfies Operation;

const documentOperation = {
  id: "document",
  tag: "service",
  summary: "This document",
  answers: {
    200: {
      description: "The OpenAPI document of the service",
      body: z.looseObject({ openapi: z.string() }),
    },
  },
} satisfies Operation;

/** The handler of a route that answers with JSON and 200; where it fails, it throws. */
export function answering<T extends object>(
  operation: AnsweringOperation<T>,
  answer: (c: Context) => NoInfer<T> | Promise<NoInfer<T>>,
): Handler {
  return documented(operation, async (c) => c.json<T>(await answer(c)));
}

/**
 * Tells {@link serveDocument} what the route of a handler is. The handler itself stays what it was,
 * so a request costs no more.
 */
export function documented<H extends Handler>(operation: Operation, handler: H): H {
  return Object.assign(handler, { [uniqueSymbol]: { spec: specOf(operation) } });
}

/**
 * Serves the document of all routes at {@link DOCUMENT_PATH}: of those too that are added later, for
 * it is written when it is first asked for.
 */
export function serveDocument(app: Hono, service: ServiceDescription): void {
  let text: Promise<string> | undefined;
  app.get(
    DOCUMENT_PATH,
    documented(documentOperation, async (c) => {
      text ??= writeDocument(app, service);
      return c.body(await text, 200, { "content-type": "application/json" });
    }),
  );
}

async function writeDocument(app: Hono, service: ServiceDescription): Promise<string> {
  const { title, description } = service;
  const specs = await generateSpecs(app, {
    documentation: {
      info: {
        title,
        description,
        version: config.version,
        license: { name: config.license, identifier: config.license },
      },
      // Wherever the document was had from: the service cannot know its name from outside.
      servers: [{ url: "/" }],
      // Callers prove who they are by what they sign, not to the service as such.
      security: [],
      tags: Object.entries(service.tags).map(([name, description]) => ({ name, description })),
    },
    // Or else the document would be taken for a file, and left out.
    excludeStaticFile: false,
  });
  return JSON.stringify(specs);
}

function specOf(operation: Operation): DescribeRouteOptions {
  const { id, tag, summary, description, path, query, body, example, answers } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    parameters: [...parametersOf("path", path), ...parametersOf("query", query)],
    requestBody: body && {
      required: true,
      content: { "application/json": { schema: wireSchema(body), example } },
    },
    responses: Object.fromEntries(
      Object.entries(answers).map((
        [status, { description, body, mediaType, headers }],
      ) => [status, {
        description,
        headers,
        content: { [mediaType ?? "application/json"]: { schema: wireSchema(body) } },
      }]),
    ),
  };
}

/** The parts of a JSON Schema that are looked at here. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
}

/** One parameter for each field; scalars that other schemas refer to by name are written out here. */
function parametersOf(place: "path" | "query", schema: z.ZodObject | undefined) {
  if (schema === undefined) return [];
  const { properties = {}, required = [], $defs = {} } = toJsonSchema(schema);
  return Object.entries(properties).map(([name, property]) => {
    const { $ref = "", ...own } = property;
    const { description, ...rest } = { ...$defs[$ref.replace(COMPONENTS, "")], ...own };
    return { in: place, name, description, required: required.includes(name), schema: rest };
  });
}

/**
 * A schema for the library, in zod's own JSON Schema: the library's conversion drops what stands
 * beside a reference, such as what a field is for.
 */
function wireSchema(schema: z.ZodType) {
  return {
    ...resolver(schema),
    toOpenAPISchema() {
      const { $defs, ...own } = toJsonSchema(schema);
      return Promise.resolve({ schema: own, components: { schemas: $defs } });
    },
  };
}

/** What goes over the wire, with references to where a document has its schemas. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...own } = z.toJSONSchema(schema, { io: "input" });
  return JSON.parse(JSON.stringify(own).replaceAll('"#/$defs/', `"${COMPONENTS}`));
}
