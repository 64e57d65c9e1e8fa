/** The OpenRPC document of the node, from the definitions of its methods. */
import { z } from "zod";
import { type JsonSchema, toJsonSchema } from "../../../lib/http/openapi.ts";
import type { MethodDefinition } from "../../../lib/protocol/methods/definition.ts";
import config from "../../../deno.json" with { type: "json" };

/** The schemas of a document that have a name. */
type Components = Record<string, JsonSchema>;

/** Added to the summary of methods that are not plain reads. */
const ACCESS_NOTES = {
  write: "; a write: refused on a read port",
  subscription: "; over WebSocket only",
};

/** Moves the named schemas of a schema to the document's. */
function hoistDefinitions(schema: z.core.$ZodType, components: Components): JsonSchema {
  const { $defs, ...described } = toJsonSchema(schema);
  Object.assign(components, $defs);
  return described;
}

function methodEntryOf(name: string, definition: MethodDefinition, components: Components) {
  const { summary, access, params, result } = definition;
  return {
    name,
    summary: access === undefined ? summary : summary + ACCESS_NOTES[access],
    paramStructure: "by-position",
    params: Object.entries<z.core.$ZodType>(params?._zod.def.shape ?? {}).map(([name, schema]) => ({
      name,
      required: !z.safeParse(schema, undefined).success,
      schema: hoistDefinitions(schema, components),
    })),
    result: { name: "result", schema: hoistDefinitions(result, components) },
  };
}

/** The document that `rpc.discover` answers with. */
export function createOpenRpcDocument(methods: ReadonlyMap<string, MethodDefinition>) {
  const schemas: Components = {};
  return {
    openrpc: "1.3.2",
    info: {
      title: "rangemaker core node",
      version: config.version,
      description:
        "Amounts and prices are decimal text with 6 decimals, times Unix milliseconds. " +
        "Errors, limits and what is signed: docs/protocol.md",
      license: { name: config.license },
    },
    methods: Array.from(methods, ([name, definition]) => methodEntryOf(name, definition, schemas)),
    components: { schemas },
  };
}
