/** The OpenAPI document of a service, made from the zod schemas of its requests and answers. */
import type { Context, Handler, Hono } from "hono";
import { type DescribeRouteOptions, generateSpecs, resolver, uniqueSymbol } from "hono-openapi";
import { z } from "zod";
import {
  COMMON_ERRORS,
  failureAnswersOf,
  HOST_CODES,
  type OperationAnswer,
} from "./error_answers.ts";
import config from "../../deno.json" with { type: "json" };

/** Path of the document, the same in every service. */
const DOCUMENT_PATH = "/openapi.json";

/** Place of the named schemas in a document. */
const COMPONENTS = "#/components/schemas/";

/** One route as the document shows it. */
export interface Operation {
  /** Unique within the service: generated clients name their method after it. */
  id: string;
  /** One of the tags of {@link ServiceDescription}. */
  tag: string;
  summary: string;
  description?: string;
  path?: z.core.$ZodObject;
  query?: z.core.$ZodObject;
  body?: z.core.$ZodType;
  example?: Record<string, unknown>;
  /** Answers of the route, by HTTP status; {@link HOST_CODES} are added. */
  answers: Record<number, OperationAnswer>;
}

/** An operation whose answer with 200 is the JSON type `T`. */
type AnsweringOperation<T> = Operation & {
  answers: { 200: { body: z.core.$ZodType<unknown, T> } };
};

/** The JSON that an operation answers with 200. */
export type AnswerOf<O> = O extends AnsweringOperation<infer T> ? T : never;

/** The part of a document about its service as a whole. */
export interface ServiceDescription {
  title: string;
  description: string;
  tags: Record<string, string>;
}

/** What the listener answers before any route. */
const HOST_ANSWERS = failureAnswersOf(COMMON_ERRORS)(...HOST_CODES);

/** A route that every service has. */
function serviceOperation(id: string, summary: string, answer: OperationAnswer): Operation {
  return { id, tag: "service", summary, answers: { 200: answer } };
}

const plainText = { body: z.string(), mediaType: "text/plain" };

/** `GET /metrics` of every service. */
export const metricsOperation = serviceOperation("metrics", "Figures for Prometheus", {
  ...plainText,
  description: "Every metric, in the Prometheus text format",
});

/** `GET /` of every service. */
export const aboutOperation = serviceOperation("about", "What this service is", {
  ...plainText,
  description: "One line with its name, and where its documents are",
});

const documentOperation = serviceOperation("document", "This document", {
  description: "The OpenAPI document of the service",
  body: z.looseObject({ openapi: z.string() }),
});

/** The handler of a route that answers with JSON and 200, and throws if it fails. */
export function jsonHandler<T extends object>(
  operation: AnsweringOperation<T>,
  answer: (c: Context) => NoInfer<T> | Promise<NoInfer<T>>,
): Handler {
  return documentedHandler(operation, async (c) => c.json<T>(await answer(c)));
}

/**
 * Declares the route of a handler for {@link serveDocument}. The handler itself is unchanged, so
 * requests are as fast as without it.
 */
export function documentedHandler<H extends Handler>(operation: Operation, handler: H): H {
  const described = {
    // Made when the document is: schemas take a quarter of the time of a service's start.
    get spec() {
      return specOf(operation);
    },
  };
  return Object.assign(handler, { [uniqueSymbol]: described });
}

/**
 * Serves the document of all routes at {@link DOCUMENT_PATH}, including routes that are added
 * later: it is built on the first request.
 */
export function serveDocument(app: Hono, service: ServiceDescription): void {
  let text: Promise<string> | undefined;
  app.get(
    DOCUMENT_PATH,
    documentedHandler(documentOperation, async (c) => {
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
      // Relative to the document's own URL: the service does not know its public name.
      servers: [{ url: "/" }],
      // No security scheme: callers are identified by the messages that they sign.
      security: [],
      tags: Object.entries(service.tags).map(([name, description]) => ({ name, description })),
    },
    // Otherwise the library would treat the document as a file and leave it out.
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
      Object.entries({ ...HOST_ANSWERS, ...answers }).map((
        [status, { description, body, mediaType, headers }],
      ) => [status, {
        description,
        headers,
        content: { [mediaType ?? "application/json"]: { schema: wireSchema(body) } },
      }]),
    ),
  };
}

/** The parts of a JSON Schema that are used here. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
}

/** One parameter for each field; scalars that others refer to by name are written out here. */
function parametersOf(location: "path" | "query", schema: z.core.$ZodObject | undefined) {
  if (schema === undefined) return [];
  const { properties = {}, required = [], $defs = {} } = toJsonSchema(schema);
  return Object.entries(properties).map(([name, property]) => {
    const { $ref = "", ...inline } = property;
    const { description, ...rest } = { ...$defs[$ref.replace(COMPONENTS, "")], ...inline };
    return { in: location, name, description, required: required.includes(name), schema: rest };
  });
}

/**
 * A schema for the library, in zod's own JSON Schema: the library's conversion drops
 * everything next to a reference, such as a field's description.
 */
function wireSchema(schema: z.core.$ZodType) {
  return {
    ...resolver(schema),
    toOpenAPISchema() {
      const { $defs, ...document } = toJsonSchema(schema);
      return Promise.resolve({ schema: document, components: { schemas: $defs } });
    },
  };
}

/** The JSON Schema of the wire format, with references to a document's named schemas. */
export function toJsonSchema(schema: z.core.$ZodType): JsonSchema {
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, { io: "input" });
  const text = JSON.stringify(
    document,
    (key, value) => key === "$ref" ? String(value).replace("#/$defs/", COMPONENTS) : value,
  );
  return JSON.parse(text);
}
