/** The node's OpenRPC document: valid, complete, and true of what the node answers. */
import assert from "node:assert/strict";
import metaSchema from "@open-rpc/meta-schema";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { nodeMethods } from "../../../lib/protocol/methods/all.ts";
import { createOpenRpcDocument } from "../../../services/node/rpc/open_rpc.ts";
import { actors } from "../support/actors.ts";
import { resultOf } from "../../support/http_answers.ts";
import { withNode } from "../support/running_node.ts";

/** The document of a node without development methods. */
function nodeDocument() {
  return createOpenRpcDocument(new Map(Object.entries(nodeMethods)));
}

/** One for all results: each would compile the standard's own schemas anew. */
const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** Compiles the result schema of a method, with the document's named schemas. */
function resultCheck(name: string, { methods, components } = nodeDocument()) {
  const method = methods.find((method) => method.name === name) ?? assert.fail(name);
  return ajv.compile({ ...method.result.schema, components });
}

function requireStandard(document: unknown): void {
  const { openrpcDocument } = z.object({ openrpcDocument: z.looseObject({}) }).parse(metaSchema);
  const { $schema: _, ...schema } = openrpcDocument;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  // Schemas of parameters and results are compiled below, by the draft that zod writes.
  const schemaObject = { properties: { $ref: { type: "string" } } };
  for (const uri of ["https://meta.json-schema.tools", "https://meta.json-schema.tools/"]) {
    ajv.addSchema({ definitions: { JSONSchemaObject: schemaObject } }, uri);
  }
  const check = ajv.compile(schema);
  assert(check(document), JSON.stringify(check.errors));
}

Deno.test("createOpenRpcDocument: the document fits the standard's own schema", () => {
  requireStandard(JSON.parse(JSON.stringify(nodeDocument())));
});

Deno.test("createOpenRpcDocument: the document has every method of the node, each parameter with its name", () => {
  const { methods } = nodeDocument();
  assert.deepEqual(methods.map(({ name }) => name), Object.keys(nodeMethods));
  for (const { name, params } of methods) {
    for (const param of params) assert.match(param.name ?? "", /^[a-zA-Z]+$/, name);
    resultCheck(name);
  }
});

Deno.test("createOpenRpcDocument: a node answers each read as described, including rpc.discover", () =>
  withNode(async ({ node }) => {
    const { base, quote } = MARKETS[0]!; // there are three
    const now = Date.now();
    const calls: Record<string, unknown[]> = {
      core_getAccount: [actors.solver.address],
      core_getTransaction: [`0x${"00".repeat(32)}`],
      core_getThesis: [1],
      core_getTheses: [],
      core_getPrices: [],
      core_getPriceHistory: [{ base, quote, from: now - 1_000, to: now }],
      core_getLimits: [],
      core_getOracleStatus: [],
      eth_chainId: [],
      net_version: [],
      web3_clientVersion: [],
      eth_blockNumber: [],
      eth_getBlockByNumber: ["latest", false],
      "rpc.discover": [],
    };
    for (const url of [node.url, node.readUrl]) {
      for (const [method, params] of Object.entries(calls)) {
        const result = await resultOf(url, method, params);
        const check = resultCheck(method);
        assert(result !== undefined && check(result), `${method}: ${JSON.stringify(check.errors)}`);
        if (method === "rpc.discover") {
          assert.deepEqual(result, JSON.parse(JSON.stringify(nodeDocument())));
        }
      }
    }
  }));

const DEV_CALLS: [method: string, params: unknown[], names: string[]][] = [
  ["core_faucet", [actors.user.address, "1"], ["address", "amount"]],
  ["core_snapshot", [], []],
  ["core_revert", [1], ["id"]],
  ["core_advance", [{ ms: 1_000 }], ["jump"]],
];

Deno.test("createOpenRpcDocument: a development node's document has the development methods, on both ports", () =>
  withNode(async ({ node }) => {
    const documents = [node.url, node.readUrl].map((url) => resultOf(url, "rpc.discover"));
    const [document, onReadPort] = await Promise.all(documents);
    assert.deepEqual(onReadPort, document);
    requireStandard(document);
    const { methods }: ReturnType<typeof createOpenRpcDocument> = document;
    assert.equal(methods.length, nodeDocument().methods.length + DEV_CALLS.length);
    for (const [method, params, names] of DEV_CALLS) {
      const described = methods.find(({ name }) => name === method) ?? assert.fail(method);
      assert.deepEqual(described.params.map(({ name }) => name), names);
      const check = resultCheck(method, document);
      const result = await resultOf(node.url, method, params);
      assert(result !== undefined && check(result), `${method}: ${JSON.stringify(check.errors)}`);
    }
  }, { dev: true, relayers: [DEV_ACCOUNTS.relayer.address] }));
