/**
 * Answers of live services fit their documents: the documents' own examples, and what real services
 * answer on a real node. `tests/refusals` holds every other answer to them.
 */
import assert from "node:assert/strict";
import { exampleEstimate, exampleQuote } from "../../services/solver/operations.ts";
import { signedRequest, startTestBridge, user } from "../bridge/support.ts";
import { actors } from "../node/support/actors.ts";
import { withNode } from "../node/support/running_node.ts";
import { market, quoteRequest, signQuote, startTestSolver, withSolver } from "../solver/support.ts";
import { eventually } from "../support/eventually.ts";
import { type CheckedAnswer, DocumentedService } from "./support/documented_service.ts";

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

Deno.test("Solver: the examples of its document are answered, on any day until they end", () =>
  withSolver(async ({ url }) => {
    const service = await DocumentedService.at(url);
    for (
      const [id, example] of Object.entries({ estimate: exampleEstimate, quote: exampleQuote })
    ) {
      await posted(service, id, example, 200);
    }
  }));

Deno.test("Solver and bridge on a core node: a deposit, a quote, an execution and what they leave are as documented", () =>
  withNode(async ({ node, client }) => {
    await using bridge = await startTestBridge(node.url, { privateKey: actors.relayer });
    await using solver = await startTestSolver({ url: node.url, wsUrl: node.wsUrl }, {
      privateKey: actors.solver,
    });
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
  }));
