import assert from "node:assert/strict";
import { post } from "../support/http_answers.ts";
import { signedRequest, withBridge } from "./support.ts";

Deno.test("Bridge: without a node /health is healthy with rpc false", () =>
  withBridge(async ({ url }) => {
    const health = await (await fetch(`${url}/health`)).json();
    assert.equal(health.rpc, false);
    assert.equal(health.status, "healthy");
  }, { rpcUrl: "http://127.0.0.1:9" }));

Deno.test("Bridge: checks come in the order shape, amount, deadline, signature, nonce", () =>
  withBridge(async ({ url }) => {
    await post(`${url}/deposit`, signedRequest());
    const used = signedRequest();
    const unsigned = { ...used, signature: "0x" };
    const late = { ...unsigned, deadline: 1 };
    const noAmount = { ...late, amount: "0" };
    const refusals = [
      [used, 409, "NONCE_USED"],
      [unsigned, 401, "INVALID_SIGNATURE"],
      [late, 400, "DEADLINE_PASSED"],
      [noAmount, 400, "INVALID_REQUEST", "amount"],
      [{ ...noAmount, user: "0x" }, 400, "INVALID_REQUEST", "user"],
    ] as const;
    for (const [request, status, code, field] of refusals) {
      const answer = await post(`${url}/deposit`, request);
      assert.deepEqual([answer.status, answer.body.code], [status, code]);
      if (field !== undefined) assert.deepEqual(answer.body.details, { field });
    }
  }));
