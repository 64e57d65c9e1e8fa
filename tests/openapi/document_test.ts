/** The documents themselves: valid, complete, and of the routes that there are. */
import assert from "node:assert/strict";
import { validate } from "@readme/openapi-parser";
import type { Handler, Hono } from "hono";
import { jsonHandler } from "../../lib/http/openapi.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { startService } from "../../lib/http/service.ts";
import config from "../../deno.json" with { type: "json" };
import { operations as bridgeOperations } from "../../services/bridge/operations.ts";
import { operations as solverOperations } from "../../services/solver/operations.ts";
import { relayer } from "../bridge/support.ts";
import { solver } from "../solver/support.ts";
import { bridgeApp, oracleApp, solverApp } from "./support/apps.ts";
import { DocumentedService } from "./support/documented_service.ts";

const solverHealth = jsonHandler(solverOperations.health, () => ({
  status: "ok" as const,
  solver: solver.address,
  dryRun: false,
}));

const bridgeHealth = jsonHandler(bridgeOperations.health, () => ({
  status: "healthy" as const,
  rpc: false,
  bridge: relayer.address,
  timestamp: 0,
}));

const reference = Deno.readTextFileSync(new URL("../../docs/reference.md", import.meta.url));

/** Described once for all services. */
const IN_EVERY_SERVICE = ["GET /", "GET /openapi.json", "GET /metrics"];

const services: Record<string, { app: Hono; health: Handler }> = {
  solver: { app: solverApp(), health: solverHealth },
  bridge: { app: bridgeApp(), health: bridgeHealth },
  oracle: oracleApp(),
};

for (const [name, { app, health }] of Object.entries(services)) {
  const registry = createRegistry();
  const service = startService({ name, host: "127.0.0.1", port: 0, app, health, registry });
  const documented = await DocumentedService.at(service.url);
  const { document } = documented;
  await service.stop();

  Deno.test(`OpenAPI of the ${name}: a validator accepts it`, async () => {
    // A copy, since the validator changes its input.
    const result = await validate(JSON.parse(JSON.stringify(document)));
    assert.deepEqual(result, { valid: true, warnings: [], specification: "OpenAPI" });
    assert.equal(document.openapi, "3.1.0");
    assert.equal(document.info.title, `rangemaker ${name}`);
    assert.equal(document.info.version, config.version);
  });

  Deno.test(`OpenAPI of the ${name}: has every route, and no other`, () => {
    const routes = app.routes.filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    const inDocument = documented.operations.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(inDocument.toSorted(), [...new Set(routes)].toSorted());
    assert(inDocument.includes("GET /openapi.json"));
  });

  Deno.test(`OpenAPI of the ${name}: docs/reference.md has each of its operations, and no other`, () => {
    const heading = `### ${name.charAt(0).toUpperCase()}${name.slice(1)} endpoints`;
    const chapter = reference.split(/^(?=##)/m).find((text) => text.startsWith(heading)) ?? "";
    const rows = chapter.matchAll(/^(?:\| |\*\*`)(GET|POST)[ |`]+(\/[^?`]*)/gm);
    const listed = Array.from(rows, ([, method, path]) => `${method} ${path}`);
    const inDocument = documented.operations
      .map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`)
      .filter((operation) => !IN_EVERY_SERVICE.includes(operation));
    assert.deepEqual(listed.toSorted(), inDocument.toSorted());
  });

  Deno.test(`OpenAPI of the ${name}: each operation has a summary, and a tag that is described`, () => {
    const tags = new Set(document.tags.map((tag) => tag.name));
    for (const { id, object } of documented.operations) {
      assert(object.summary, id);
      assert.equal(object.tags.length, 1, id);
      assert(tags.has(object.tags[0] ?? ""), id);
      for (const parameter of object.parameters) assert(parameter.description, parameter.name);
      for (const [status, { description }] of Object.entries(object.responses)) {
        assert(description, `${id} ${status}`);
      }
    }
  });

  Deno.test(`OpenAPI of the ${name}: example bodies match their schemas exactly`, () => {
    for (const operation of documented.operations) {
      const media = operation.object.requestBody?.content["application/json"];
      if (media === undefined) continue;
      const place = ["requestBody", "content", "application/json", "schema"];
      assert(documented.fits(operation, place, media.example), operation.id);
    }
  });

  Deno.test(`OpenAPI of the ${name}: every schema of a request or answer has a type`, () => {
    for (const { id, object } of documented.operations) {
      for (const { schema } of object.parameters) assert(schema.type, id);
      const media = [object.requestBody, ...Object.values(object.responses)]
        .flatMap((part) => Object.values(part?.content ?? {}));
      for (const { schema } of media) assert(documented.resolve(schema).type, id);
    }
  });
}
