import assert from "node:assert/strict";
import { UINT256_MAX, UINT64_MAX } from "../../lib/protocol/scalars.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { signedRequest, user, withBridge } from "./support.ts";

Deno.test("Bridge: health says that the node is away", () =>
  withBridge(async ({ url }) => {
    const health = await (await fetch(`${url}/health`)).json();
    assert.equal(health.rpc, false);
    assert.equal(health.status, "healthy");
  }, { rpcUrl: "http://127.0.0.1:9" }));

Deno.test("Bridge: extreme amounts and nonces are admitted", () =>
  withBridge(async ({ url }, node) => {
    for (const [amount, nonce] of [[1n, 0n], [UINT64_MAX, UINT256_MAX]] as const) {
      const { body } = await post(`${url}/deposit`, signedRequest({ amount, nonce }));
      assert.equal(body.success, true);
    }
    assert.equal(node.credited.get(user.address), UINT64_MAX + 1n);
  }));

Deno.test("Bridge: a used nonce is refused, naming the transaction it became", () =>
  withBridge(async ({ url }, node) => {
    const request = signedRequest();
    const { body } = await post(`${url}/deposit`, request);
    const error = await assertFailure(post(`${url}/deposit`, request), 409, String(body.txHash));
    assert.match(error, /Nonce 1 of .* is used by transaction .*: deposit is committed/);
    const other = signedRequest({ amount: 1n });
    await assertFailure(post(`${url}/deposit`, other), 409, String(body.txHash));
    assert.equal(node.committed.length, 1);
  }));

Deno.test("Bridge: two equal requests at once are one deposit and one refusal", () =>
  withBridge(async ({ url }, node) => {
    const request = signedRequest();
    const answers = await Promise.all([1, 2].map(() => post(`${url}/deposit`, request)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    assert.equal(node.credited.get(user.address), 25_000_000n);
  }));

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

Deno.test("Bridge: a refusal by the node's rules has its code", () =>
  withBridge(async ({ url }, node) => {
    node.refusal = "PERMISSION_DENIED";
    await assertFailure(post(`${url}/deposit`, signedRequest()), 503, "PERMISSION_DENIED");
    await assertFailure(post(`${url}/deposit`, signedRequest()), 409, "deposit is failed");
  }));
