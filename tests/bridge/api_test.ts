import assert from "node:assert/strict";
import { assertFailure, post } from "../support/http_answers.ts";
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
    await assertFailure(post(`${url}/deposit`, used), 409, "is used");
    await assertFailure(post(`${url}/deposit`, unsigned), 401, "0 bytes");
    await assertFailure(post(`${url}/deposit`, late), 400, "expired");
    await assertFailure(post(`${url}/deposit`, noAmount), 400, "amount: Expected an amount");
    await assertFailure(post(`${url}/deposit`, { ...noAmount, user: "0x" }), 400, "user: ");
  }));
