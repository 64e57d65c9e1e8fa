import assert from "node:assert/strict";
import { Hono } from "hono";
import { z } from "zod";
import { jsonHandler, type Operation, serveDocument } from "../../../lib/http/openapi.ts";

const amountSchema = z.string().regex(/^\d+$/).transform(BigInt)
  .meta({ id: "Amount", description: "An amount" });

const operation = {
  id: "pay",
  tag: "money",
  summary: "Pays",
  path: z.object({ amount: amountSchema.describe("How much") }),
  body: z.object({ tip: amountSchema.describe("On top") }),
  example: { tip: "1" },
  answers: { 200: { description: "Paid", body: z.object({ paid: amountSchema }) } },
} satisfies Operation;

const service = { title: "Till", description: "Takes money", tags: { money: "All of it" } };

async function documentOf(app: Hono) {
  const response = await app.request("/openapi.json");
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("serveDocument: shows the wire format of requests and answers, with descriptions of their fields", async () => {
  const app = new Hono();
  serveDocument(app, service);
  app.post("/pay/:amount", jsonHandler(operation, () => ({ paid: "1" })));
  const { paths, components } = await documentOf(app);
  const { parameters, requestBody, operationId } = paths["/pay/{amount}"].post;
  assert.equal(operationId, "pay");
  assert.deepEqual(parameters, [{
    in: "path",
    name: "amount",
    description: "How much",
    required: true,
    schema: { type: "string", pattern: "^\\d+$" },
  }]);
  const { schema, example } = requestBody.content["application/json"];
  assert.deepEqual(schema.properties.tip, {
    $ref: "#/components/schemas/Amount",
    description: "On top",
  });
  assert.deepEqual(example, operation.example);
  assert.deepEqual(components.schemas.Amount, {
    type: "string",
    pattern: "^\\d+$",
    description: "An amount",
  });
});
