/**
 * Every status that a document has for an operation is given by the live service, and each of these
 * answers fits its schema: the documents promise nothing that never comes.
 */
import assert from "node:assert/strict";
import { StoreConnectionLostError, StoreError } from "../../lib/intents/intent.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { startService } from "../../lib/http/service.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { exampleEstimate, exampleQuote } from "../../services/solver/operations.ts";
import { signedRequest, startTestBridge, user, withBridge } from "../bridge/support.ts";
import { withNode } from "../node/support/running_node.ts";
import { actors } from "../node/support/actors.ts";
import {
  execution,
  market,
  quoteRequest,
  signQuote,
  startTestSolver,
  withSolver,
} from "../solver/support.ts";
import { eventually } from "../support/eventually.ts";
import { ConnectionLost } from "../support/fake_node.ts";
import { bridgeApp } from "./support/apps.ts";
import { type CheckedAnswer, DocumentedService } from "./support/documented_service.ts";
import { withOracle } from "./support/oracle.ts";

/** Posts JSON and asserts the status. */
async function posted(
  service: DocumentedService,
  id: string,
  body: unknown,
  status: number,
): Promise<CheckedAnswer> {
  const answer = await service.call(id, { body: JSON.stringify(body) });
  assert.equal(answer.status, status, `${id}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** Sends a body as a page of an origin that is not allowed, and as text. */
async function assertRefusesPages(service: DocumentedService, id: string): Promise<void> {
  for (const [name, value, status] of [["origin", "null", 403], ["content-type", "a", 415]]) {
    const headers = { [String(name)]: String(value) };
    assert.equal((await service.call(id, { body: "{}", headers })).status, status, id);
  }
}

/** Calls a limited operation until it is refused. */
async function untilLimited(service: DocumentedService, id: string): Promise<void> {
  const path = { user: user.address, nonce: "1" };
  const body = service.operation(id).method === "POST" ? "{" : undefined;
  // With a rate of 1 a second, three pass in a window.
  for (let n = 0; n < 3; n++) await service.call(id, { path, body });
  assert.equal((await service.call(id, { path, body })).status, 429);
}

/** Asserts that the answers of several services of one kind are all that their document has. */
function assertAllSeen(services: readonly DocumentedService[]): void {
  const documented = services[0]?.operations.flatMap(({ id, object }) =>
    Object.keys(object.responses).map((status) => `${id} ${status}`)
  );
  const seen = new Set(services.flatMap((service) => [...service.seen]));
  assert.deepEqual([...seen].toSorted(), documented?.toSorted());
}

const oversized = { ...quoteRequest(), padding: "x".repeat(70_000) };

Deno.test("Solver: the examples of its document are answered, on any day until they end", () =>
  withSolver(async ({ url }) => {
    const service = await DocumentedService.at(url);
    for (
      const [id, example] of Object.entries({ estimate: exampleEstimate, quote: exampleQuote })
    ) {
      await posted(service, id, example, 200);
    }
  }));

Deno.test("Solver: each documented status comes, and its answer is as documented", async (t) => {
  const services: DocumentedService[] = [];
  const at = async (url: string) => {
    const service = await DocumentedService.at(url);
    services.push(service);
    return service;
  };

  await t.step(
    "what goes well, what is wrong with a request",
    () =>
      withSolver(async ({ url }, node) => {
        const service = await at(url);
        for (
          const id of [
            "about",
            "document",
            "health",
            "metrics",
            "info",
            "pairs",
            "typedData",
            "theses",
          ]
        ) {
          assert.equal((await service.call(id)).status, 200);
        }
        await eventually(
          "the solver follows the node",
          async () => (await service.call("ready")).status === 200 || undefined,
        );
        assert.equal((await service.call("theses", { query: { limit: "0" } })).status, 400);
        for (const id of ["quote", "estimate"]) {
          await posted(service, id, quoteRequest(), 200);
          await posted(service, id, quoteRequest({ betAmount: "0" }), 400);
        }
        for (const id of ["quote", "estimate", "execute"]) {
          await posted(service, id, oversized, 413);
          await assertRefusesPages(service, id);
        }
        await posted(service, "execute", await execution(url), 200);
        await posted(service, "execute", await execution(url, { deadline: 1 }), 400);
        const { quote } = await execution(url);
        await posted(service, "execute", { quote, userSignature: quote.signature }, 401);
        node.behaviour = () => {
          throw new ConnectionLost("Node died");
        };
        await posted(service, "execute", await execution(url), 504);
      }, { corsOrigins: [] }),
  );

  await t.step("a node with another chain", () =>
    withSolver(async ({ url }, node) => {
      const service = await at(url);
      assert.equal((await service.call("health")).status, 200);
      node.genesis = `0x${"77".repeat(32)}`;
      await eventually("the health says so", async () =>
        (await service.call("health")).status === 503 || undefined);
    }));

  await t.step("a node that has paused", () =>
    withSolver(async ({ url }, node) => {
      node.paused = true;
      assert.equal((await (await at(url)).call("ready")).status, 503);
    }));

  await t.step("execution in dry-run mode", () =>
    withSolver(async ({ url }) => {
      await posted(await at(url), "execute", await execution(url), 503);
    }, { dryRun: true }));

  await t.step(
    "a price that is not there, with --pricing barrier",
    () =>
      withSolver(async ({ url }) => {
        const service = await at(url);
        for (const id of ["quote", "estimate"]) await posted(service, id, quoteRequest(), 503);
      }, { pricing: "barrier" }),
  );

  await t.step("too many requests", async () => {
    for (const id of ["theses", "quote", "estimate", "execute"]) {
      await withSolver(async ({ url }) => await untilLimited(await at(url), id), { rateLimit: 1 });
    }
  });

  assertAllSeen(services);
});

Deno.test("Bridge: each documented status comes, and its answer is as documented", async (t) => {
  const services: DocumentedService[] = [];
  const at = async (url: string) => {
    const service = await DocumentedService.at(url);
    services.push(service);
    return service;
  };
  const path = { user: user.address, nonce: "1" };

  await t.step(
    "what goes well, what is wrong with a request",
    () =>
      withBridge(async ({ url }, node) => {
        const service = await at(url);
        for (const id of ["about", "document", "health", "metrics", "info", "typedData", "ready"]) {
          assert.equal((await service.call(id)).status, 200);
        }
        assert.equal((await service.call("depositByNonce", { path })).status, 404);
        await posted(service, "deposit", signedRequest(), 200);
        await posted(service, "deposit", signedRequest(), 409);
        await posted(service, "deposit", { ...signedRequest({ nonce: 2n }), amount: "1" }, 401);
        await posted(service, "deposit", signedRequest({ nonce: 2n, deadline: 1 }), 400);
        await posted(service, "deposit", oversized, 413);
        await assertRefusesPages(service, "deposit");
        node.refusal = "PERMISSION_DENIED";
        await posted(service, "deposit", signedRequest({ nonce: 3n }), 503);
        for (const id of ["deposits", "depositByNonce"]) {
          assert.equal((await service.call(id, { path })).status, 200);
          const wrong = { ...path, user: "0x1" };
          assert.equal((await service.call(id, { path: wrong })).status, 400);
        }
        node.behaviour = () => {
          throw new ConnectionLost("Node died");
        };
        await posted(service, "deposit", signedRequest({ nonce: 4n }), 504);
      }, { corsOrigins: [] }),
  );

  await t.step("a node with another chain", () =>
    withBridge(async ({ url }, node) => {
      const service = await at(url);
      assert.equal((await service.call("health")).status, 200);
      node.genesis = `0x${"77".repeat(32)}`;
      await eventually("the health says so", async () =>
        (await service.call("health")).status === 503 || undefined);
    }));

  await t.step("a node that has paused", () =>
    withBridge(async ({ url }, node) => {
      node.paused = true;
      assert.equal((await (await at(url)).call("ready")).status, 503);
    }));

  await t.step("too many requests", async () => {
    for (const id of ["deposit", "deposits", "depositByNonce"]) {
      await withBridge(async ({ url }) => await untilLimited(await at(url), id), { rateLimit: 1 });
    }
  });

  const failures: [Error, number][] = [
    [new StoreError("Disk is full"), 503],
    [new StoreConnectionLostError("reset"), 504],
  ];
  for (const [error, status] of failures) {
    await t.step(`a store that throws ${error.constructor.name}`, async () => {
      const service = startService({
        name: "bridge",
        host: "127.0.0.1",
        port: 0,
        app: bridgeApp(() => Promise.reject(error)),
        health: () => new Response(),
        registry: createRegistry(),
      });
      try {
        const documented = await at(service.url);
        for (const id of ["deposits", "depositByNonce"]) {
          assert.equal((await documented.call(id, { path })).status, status);
        }
      } finally {
        await service.stop();
      }
    });
  }

  assertAllSeen(services);
});

Deno.test("Oracle: each documented status comes, and its answer is as documented", async () => {
  const services: DocumentedService[] = [];
  await withOracle(async ({ url }) => {
    const service = await DocumentedService.at(url);
    services.push(service);
    for (const { id } of service.operations) assert.equal((await service.call(id)).status, 200);
  });
  // Nothing listens on port 1.
  const providerUrls = { provider_a: "ws://127.0.0.1:1/" };
  const options = withDefaults(oracleOptions, { port: 0, providers: ["provider_a"], providerUrls });
  const oracle = await startOracle(options);
  try {
    const service = await DocumentedService.at(oracle.url);
    services.push(service);
    assert.equal((await service.call("health")).status, 503);
    for (const id of ["prices", "providers"]) {
      assert.equal((await service.call(id)).status, 200);
    }
  } finally {
    await oracle.stop();
  }
  assertAllSeen(services);
});

Deno.test("Solver and bridge on a core node: a deposit, a quote, an execution and what they leave are as documented", () =>
  withNode(async ({ node, client }) => {
    const bridge = await startTestBridge(node.url, { privateKey: actors.relayer });
    const solver = await startTestSolver({ url: node.url, wsUrl: node.wsUrl }, {
      privateKey: actors.solver,
    });
    try {
      const bridgeAt = await DocumentedService.at(bridge.url);
      const solverAt = await DocumentedService.at(solver.url);
      await posted(bridgeAt, "deposit", signedRequest({ amount: 50_000_000n }), 200);
      const path = { user: user.address, nonce: "1" };
      assert.equal(
        Object((await bridgeAt.call("depositByNonce", { path })).body).deposit.state,
        "committed",
      );
      const price = (await client.getPrices())[market.symbol]!.price;
      const request = quoteRequest({
        lowerPrice: (price / 2n).toString(),
        upperPrice: (price * 2n).toString(),
      });
      const { quote } = Object((await posted(solverAt, "quote", request, 200)).body);
      const executed = await posted(
        solverAt,
        "execute",
        { quote, userSignature: signQuote(quote) },
        200,
      );
      assert.equal(Object(executed.body).result.status, "committed");
      await eventually("the thesis", async () => {
        const { body } = await solverAt.call("theses");
        return Object(body).theses.length === 1 || undefined;
      });
    } finally {
      await solver.stop();
      await bridge.stop();
    }
  }));
