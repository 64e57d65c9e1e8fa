/** What of an OpenAPI 3.1 document these tests look at. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, JsonSchema> };
}

/** One operation. */
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

/** One parameter of a path or a query. */
export interface ParameterObject {
  in: "path" | "query";
  name: string;
  description?: string;
  required: boolean;
  schema: JsonSchema;
}

/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** The keywords of JSON Schema that the documents use for requests. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  const?: unknown;
  pattern?: string;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}
