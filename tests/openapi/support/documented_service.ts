import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

export interface DocumentedOperation {
  id: string;
  method: string;
  path: string;
  object: OperationObject;
}

/** One for all documents: each would compile the standard's own schemas anew. */
const ajv = new Ajv2020({ strict: true });
// A document is no schema itself, yet its schemas refer to each other through it.
ajv.addVocabulary(["openapi", "info", "servers", "security", "tags", "paths", "components"]);

let documents = 0;

/** A live service that is checked against its own document only. */
export class DocumentedService {
  readonly document: OpenApiDocument;
  readonly operations: readonly DocumentedOperation[];
  /** Every answer so far, as `operation status`. */
  readonly seen = new Set<string>();
  /** The document's name among those of {@link ajv}. */
  readonly #name = `document${documents++}`;
  readonly #compiled = new Map<string, ValidateFunction>();

  private constructor(document: OpenApiDocument) {
    this.document = document;
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, object]) => ({
        id: object.operationId,
        method: method.toUpperCase(),
        path,
        object,
      }))
    );
    ajv.addSchema(closed(document), this.#name);
  }

  static async at(url: string): Promise<DocumentedService> {
    const response = await fetch(`${url}/openapi.json`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    return new DocumentedService(await response.json());
  }

  /**
   * Whether a value matches a schema of an operation, given by its place in the document, and has no
   * field that the document does not name.
   */
  fits(operation: DocumentedOperation, place: readonly string[], value: unknown): boolean {
    return this.#validator(operation, place)(value);
  }

  /** The schema that a `$ref` of the document leads to, or the schema itself. */
  resolve(schema: JsonSchema): JsonSchema {
    if (schema.$ref === undefined) return schema;
    const name = schema.$ref.replace("#/components/schemas/", "");
    return this.document.components.schemas[name] ?? assert.fail(`No schema ${name}`);
  }

  /** The operation that answers a request, or undefined if the document has none. */
  operationAt(method: string, path: string): DocumentedOperation | undefined {
    return this.operations.find((operation) =>
      operation.method === method &&
      new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path)
    );
  }

  /** Fails unless the document has this answer for its status, without additional fields. */
  async check(operation: DocumentedOperation, response: Response): Promise<void> {
    const text = await response.text();
    const { status, headers } = response;
    const shown = `${operation.method} ${operation.path} answered ${status}: ${text.slice(0, 500)}`;
    const documented = operation.object.responses[status] ?? assert.fail(`Undocumented: ${shown}`);
    for (const name of Object.keys(documented.headers ?? {})) assert(headers.has(name), shown);
    const mediaType = headers.get("content-type")?.split(";")[0] ?? "";
    assert(documented.content[mediaType], `Media type ${mediaType}: ${shown}`);
    const body: unknown = mediaType === "application/json" ? JSON.parse(text) : text;
    const place = ["responses", String(status), "content", mediaType, "schema"];
    const validate = this.#validator(operation, place);
    assert(validate(body), `${shown}\n${JSON.stringify(validate.errors)}`);
    this.seen.add(`${operation.id} ${status}`);
  }

  #validator({ path, method }: DocumentedOperation, place: readonly string[]): ValidateFunction {
    const pointer = ["paths", path, method.toLowerCase(), ...place]
      .map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")));
    const $ref = `${this.#name}#/${pointer.join("/")}`;
    const known = this.#compiled.get($ref) ?? ajv.compile({ $ref });
    this.#compiled.set($ref, known);
    return known;
  }
}

/** A document whose objects allow only the listed fields, unless it says otherwise. */
function closed(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(
    JSON.stringify(document),
    (_key, value) =>
      value?.type === "object" && "properties" in value && !("additionalProperties" in value)
        ? { ...value, additionalProperties: false }
        : value,
  );
}

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, JsonSchema> };
}

export interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  parameters: ParameterObject[];
  requestBody?: { content: Record<string, { schema: JsonSchema; example?: JsonObject }> };
  responses: Record<string, {
    description: string;
    headers?: Record<string, unknown>;
    content: Record<string, { schema: JsonSchema }>;
  }>;
}

export interface ParameterObject {
  in: "path" | "query";
  name: string;
  description?: string;
  required: boolean;
  schema: JsonSchema;
}

export type JsonObject = Record<string, unknown>;

/** The keywords of JSON Schema that the documents use for requests. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
}
